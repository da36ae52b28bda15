//===- FloatOps.cpp - Floating-point arithmetic ---------------------------===//

#include "kvq/Emulator/Machine/Decoder.h"
#include "kvq/Emulator/Machine/Lanes.h"
#include "kvq/Emulator/Machine/Launch.h"
#include "kvq/Emulator/Machine/TypeMaps.h"
#include "kvq/Emulator/Numerics/Arith.h"
#include "llvm/ADT/bit.h"

using namespace kvq::emu;
using num::FOp;
using num::FpMode;
using num::FType;
using ptx::Mod;
using ptx::Opcode;
using ptx::Type;

namespace {
struct FloatExtra : OpExtra {
  FpMode mode;
  num::Format narrow = num::Format::F16;
  uint64_t (*mixed2)(num::Format, uint64_t, uint64_t, const FpMode &) = nullptr;
  uint64_t (*mixed3)(num::Format, uint64_t, uint64_t, uint64_t,
                     const FpMode &) = nullptr;
};
} // namespace

static const FloatExtra &extraOf(const Op &op) {
  return *static_cast<const FloatExtra *>(op.extra);
}

template <typename Fn>
static Fn functionOf(const Op &op) {
  return reinterpret_cast<Fn>(op.function);
}

static void unaryFloat(Warp &warp, const Op &op, LaneMask lanes) {
  auto fn = functionOf<num::UnaryFn>(op);
  const FpMode &mode = extraOf(op).mode;
  uint64_t *d = warp.destination(op.dst());
  const uint64_t *a = warp.values(op.src(0));
  forLanes(lanes, [&](unsigned i) { d[i] = fn(a[i], mode); });
}

static void binaryFloat(Warp &warp, const Op &op, LaneMask lanes) {
  auto fn = functionOf<num::BinaryFn>(op);
  const FpMode &mode = extraOf(op).mode;
  uint64_t *d = warp.destination(op.dst());
  const uint64_t *a = warp.values(op.src(0)), *b = warp.values(op.src(1));
  forLanes(lanes, [&](unsigned i) { d[i] = fn(a[i], b[i], mode); });
}

/// The mode of an approximate function: with the launch's errors.
static FpMode approximateMode(const Warp &warp, const Op &op) {
  FpMode mode = extraOf(op).mode;
  if (warp.launch.perturbation)
    mode.perturb = &*warp.launch.perturbation;
  return mode;
}

static void unaryApproximate(Warp &warp, const Op &op, LaneMask lanes) {
  auto fn = functionOf<num::UnaryFn>(op);
  FpMode mode = approximateMode(warp, op);
  uint64_t *d = warp.destination(op.dst());
  const uint64_t *a = warp.values(op.src(0));
  forLanes(lanes, [&](unsigned i) { d[i] = fn(a[i], mode); });
}

static void binaryApproximate(Warp &warp, const Op &op, LaneMask lanes) {
  auto fn = functionOf<num::BinaryFn>(op);
  FpMode mode = approximateMode(warp, op);
  uint64_t *d = warp.destination(op.dst());
  const uint64_t *a = warp.values(op.src(0)), *b = warp.values(op.src(1));
  forLanes(lanes, [&](unsigned i) { d[i] = fn(a[i], b[i], mode); });
}

static void ternaryFloat(Warp &warp, const Op &op, LaneMask lanes) {
  auto fn = functionOf<num::TernaryFn>(op);
  const FpMode &mode = extraOf(op).mode;
  uint64_t *d = warp.destination(op.dst());
  const uint64_t *a = warp.values(op.src(0)), *b = warp.values(op.src(1)),
                 *c = warp.values(op.src(2));
  forLanes(lanes, [&](unsigned i) { d[i] = fn(a[i], b[i], c[i], mode); });
}

static void mixed2(Warp &warp, const Op &op, LaneMask lanes) {
  const FloatExtra &extra = extraOf(op);
  uint64_t *d = warp.destination(op.dst());
  const uint64_t *a = warp.values(op.src(0)), *b = warp.values(op.src(1));
  forLanes(lanes, [&](unsigned i) {
    d[i] = extra.mixed2(extra.narrow, a[i], b[i], extra.mode);
  });
}

static void mixed3(Warp &warp, const Op &op, LaneMask lanes) {
  const FloatExtra &extra = extraOf(op);
  uint64_t *d = warp.destination(op.dst());
  const uint64_t *a = warp.values(op.src(0)), *b = warp.values(op.src(1)),
                 *c = warp.values(op.src(2));
  forLanes(lanes, [&](unsigned i) {
    d[i] = extra.mixed3(extra.narrow, a[i], b[i], c[i], extra.mode);
  });
}

// The plain f32 forms run on the host's unit, which the launch has put into
// round-to-nearest; only NaNs differ.
static float toFloat(uint64_t bits) {
  return llvm::bit_cast<float>(static_cast<uint32_t>(bits));
}
static uint64_t fromFloat(float value) {
  uint32_t bits = llvm::bit_cast<uint32_t>(value);
  return value != value ? 0x7fffffffu : bits;
}
static uint64_t addF32(uint64_t a, uint64_t b) {
  return fromFloat(toFloat(a) + toFloat(b));
}
static uint64_t subF32(uint64_t a, uint64_t b) {
  return fromFloat(toFloat(a) - toFloat(b));
}
static uint64_t mulF32(uint64_t a, uint64_t b) {
  return fromFloat(toFloat(a) * toFloat(b));
}
static uint64_t fmaF32(uint64_t a, uint64_t b, uint64_t c) {
  return num::fmaF32(static_cast<uint32_t>(a), static_cast<uint32_t>(b),
                     static_cast<uint32_t>(c));
}

static bool isPlain(const FpMode &mode) {
  return mode.round == num::Round::RN && !mode.ftz && !mode.sat && !mode.relu &&
         !mode.oob && !mode.perturb;
}

static Handler findFastPath(FOp op, FType type, const FpMode &mode) {
  if (type != FType::F32 || !isPlain(mode))
    return nullptr;
  switch (op) {
  case FOp::Add:
    return binaryLanes<addF32>;
  case FOp::Sub:
    return binaryLanes<subF32>;
  case FOp::Mul:
    return binaryLanes<mulF32>;
  case FOp::Fma:
    return ternaryLanes<fmaF32>;
  default:
    return nullptr;
  }
}

/// The operation of an instruction, or nothing.
static std::optional<FOp> findOperation(const ptx::Instruction &inst) {
  const ptx::Modifiers &mods = inst.mods;
  bool f64 = mods.type() == Type::F64;
  bool three = inst.operands.size() == 4;
  switch (inst.opcode) {
  case Opcode::Neg:
    return FOp::Neg;
  case Opcode::Abs:
    return FOp::Abs;
  case Opcode::Rcp:
    return !mods.approx ? FOp::Rcp : f64 ? FOp::RcpApproxFtz : FOp::RcpApprox;
  case Opcode::Sqrt:
    return mods.approx ? FOp::SqrtApprox : FOp::Sqrt;
  case Opcode::Rsqrt:
    return f64 && mods.ftz ? FOp::RsqrtApproxFtz : FOp::RsqrtApprox;
  case Opcode::Sin:
    return FOp::Sin;
  case Opcode::Cos:
    return FOp::Cos;
  case Opcode::Lg2:
    return FOp::Lg2;
  case Opcode::Ex2:
    return FOp::Ex2;
  case Opcode::Tanh:
    return FOp::Tanh;
  case Opcode::Add:
    return FOp::Add;
  case Opcode::Sub:
    return FOp::Sub;
  case Opcode::Mul:
    return FOp::Mul;
  case Opcode::Div:
    return mods.approx           ? FOp::DivApprox
           : mods.has(Mod::Full) ? FOp::DivFull
                                 : FOp::Div;
  case Opcode::Min:
    return three ? FOp::Min3 : FOp::Min;
  case Opcode::Max:
    return three ? FOp::Max3 : FOp::Max;
  case Opcode::Copysign:
    return FOp::CopySign;
  case Opcode::Fma:
  case Opcode::Mad:
    return FOp::Fma;
  default:
    return std::nullopt;
  }
}

static llvm::Error decodeMixed(Decoder &decoder, const ptx::Instruction &inst,
                               const FpMode &mode) {
  const ptx::Modifiers &mods = inst.mods;
  bool fma = inst.opcode == Opcode::Fma;
  Type narrow = mods.type(1);
  if (mods.type() != Type::F32 || (narrow != Type::F16 && narrow != Type::BF16))
    return decoder.unsupported(inst);
  if (inst.operands.size() != (fma ? 4u : 3u))
    return decoder.unsupported(inst);
  auto *extra = decoder.newExtra<FloatExtra>();
  extra->mode = mode;
  extra->narrow = narrow == Type::F16 ? num::Format::F16 : num::Format::BF16;
  if (fma)
    extra->mixed3 = num::fmaMixed;
  else if (inst.opcode == Opcode::Add)
    extra->mixed2 = num::addMixed;
  else if (inst.opcode == Opcode::Sub)
    extra->mixed2 = num::subMixed;
  else
    return decoder.unsupported(inst);
  llvm::SmallVector<Operand, 3> src;
  for (size_t i = 1; i < inst.operands.size(); ++i)
    src.push_back(decoder.source(inst.operands[i],
                                 i + 1 == inst.operands.size() ? 32 : 16));
  Op &op = decoder.emit(inst, fma ? mixed3 : mixed2, InstructionClass::Float,
                        decoder.destination(inst.operands[0], 32), src);
  op.extra = extra;
  return llvm::Error::success();
}

llvm::Error kvq::emu::decodeFloat(Decoder &decoder,
                                  const ptx::Instruction &inst) {
  const ptx::Modifiers &mods = inst.mods;
  std::optional<FType> type = toFType(mods.type());
  std::optional<FOp> operation = findOperation(inst);
  if (!type || !operation || inst.operands.size() < 2)
    return decoder.unsupported(inst);
  FpMode mode;
  mode.round = toRound(mods.rounding);
  mode.ftz = mods.ftz;
  mode.sat = mods.sat;
  mode.relu = mods.relu;
  mode.nan = mods.has(Mod::NaN);
  mode.abs = mods.has(Mod::Abs);
  mode.xorsign = mods.has(Mod::Xorsign);
  mode.oob = inst.text.contains(".oob");
  if (mods.types.size() > 1)
    return decodeMixed(decoder, inst, mode);

  auto *extra = decoder.newExtra<FloatExtra>();
  extra->mode = mode;
  size_t sources = inst.operands.size() - 1;
  void (*function)() = nullptr;
  Handler handler = nullptr;
  if (sources == 1) {
    function = reinterpret_cast<void (*)()>(
        num::findUnary(*operation, *type, extra->mode));
    handler = unaryFloat;
  } else if (sources == 2) {
    function = reinterpret_cast<void (*)()>(
        num::findBinary(*operation, *type, extra->mode));
    handler = binaryFloat;
  } else if (sources == 3) {
    function = reinterpret_cast<void (*)()>(
        num::findTernary(*operation, *type, extra->mode));
    handler = ternaryFloat;
  }
  if (!function)
    return decoder.unsupported(inst);
  if (Handler fast = findFastPath(*operation, *type, mode))
    handler = fast;

  unsigned bits = ptx::getBits(mods.type());
  llvm::SmallVector<Operand, 3> src;
  for (size_t i = 1; i < inst.operands.size(); ++i)
    src.push_back(decoder.source(inst.operands[i], bits));
  InstructionClass category =
      *type == FType::F64 ? InstructionClass::Double : InstructionClass::Float;
  switch (*operation) {
  case FOp::RcpApprox:
  case FOp::RcpApproxFtz:
  case FOp::SqrtApprox:
  case FOp::RsqrtApprox:
  case FOp::RsqrtApproxFtz:
  case FOp::Sin:
  case FOp::Cos:
  case FOp::Lg2:
  case FOp::Ex2:
  case FOp::Tanh:
  case FOp::DivApprox:
  case FOp::DivFull:
    category = InstructionClass::SpecialFunction;
    handler = sources == 1 ? unaryApproximate : binaryApproximate;
    break;
  default:
    break;
  }
  Op &op = decoder.emit(inst, handler, category,
                        decoder.destination(inst.operands[0], bits), src);
  op.function = function;
  op.extra = extra;
  return llvm::Error::success();
}
