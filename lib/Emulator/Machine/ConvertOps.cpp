//===- ConvertOps.cpp - cvt and cvt.pack ----------------------------------===//

#include "kvq/Emulator/Machine/Decoder.h"
#include "kvq/Emulator/Machine/Lanes.h"
#include "kvq/Emulator/Numerics/Convert.h"
#include <algorithm>
#include <limits>

using namespace kvq::emu;
using num::CvtRound;
using num::CvtSpec;
using num::CvtType;
using ptx::Mod;
using ptx::Type;

namespace {
struct CvtExtra : OpExtra {
  CvtSpec spec;
};
} // namespace

static std::optional<CvtType> toCvtType(Type type) {
  switch (type) {
#define SAME(name)                                                             \
  case Type::name:                                                             \
    return CvtType::name;
    SAME(U8)
    SAME(S8)
    SAME(U16)
    SAME(S16)
    SAME(U32)
    SAME(S32)
    SAME(U64)
    SAME(S64)
    SAME(F16)
    SAME(BF16)
    SAME(F32)
    SAME(F64)
    SAME(TF32)
    SAME(F16x2)
    SAME(BF16x2)
    SAME(E4M3x2)
    SAME(E5M2x2)
    SAME(E2M1x2)
    SAME(E2M3x2)
    SAME(E3M2x2)
    SAME(UE8M0x2)
    SAME(S2F6x2)
    SAME(E4M3x4)
    SAME(E5M2x4)
    SAME(E2M1x4)
    SAME(E2M3x4)
    SAME(E3M2x4)
#undef SAME
  default:
    return std::nullopt;
  }
}

static CvtRound toCvtRound(ptx::Rounding rounding) {
  switch (rounding) {
  case ptx::Rounding::None:
    return CvtRound::None;
  case ptx::Rounding::RN:
    return CvtRound::RN;
  case ptx::Rounding::RZ:
    return CvtRound::RZ;
  case ptx::Rounding::RM:
    return CvtRound::RM;
  case ptx::Rounding::RP:
    return CvtRound::RP;
  case ptx::Rounding::RNA:
    return CvtRound::RNA;
  case ptx::Rounding::RNI:
    return CvtRound::RNI;
  case ptx::Rounding::RZI:
    return CvtRound::RZI;
  case ptx::Rounding::RMI:
    return CvtRound::RMI;
  case ptx::Rounding::RPI:
    return CvtRound::RPI;
  case ptx::Rounding::RS:
    return CvtRound::RS;
  }
  return CvtRound::None;
}

/// Conversions between integers. Op: bits of the source, a bits of the result,
/// count bits of the register.
template <bool fromSigned>
static uint64_t convertInteger(const Op &op, uint64_t a) {
  uint64_t value = fromSigned ? signExtend(a, op.bits) : lowBits(a, op.bits);
  if (op.a < op.count) {
    value = op.isSigned ? signExtend(value, op.a) : lowBits(value, op.a);
  }
  return lowBits(value, op.count);
}

static void convert(Warp &warp, const Op &op, LaneMask lanes) {
  auto fn = reinterpret_cast<num::CvtFn>(op.function);
  const CvtSpec &spec = static_cast<const CvtExtra *>(op.extra)->spec;
  uint64_t *d = warp.destination(op.dst());
  if (op.numSrc == 1) {
    const uint64_t *a = warp.values(op.src(0));
    forLanes(lanes, [&](unsigned i) { d[i] = lowBits(fn(spec, &a[i]), op.a); });
    return;
  }
  const uint64_t *sources[6] = {};
  for (unsigned s = 0; s < op.numSrc; ++s)
    sources[s] = warp.values(op.src(s));
  forLanes(lanes, [&](unsigned i) {
    uint64_t operands[6];
    for (unsigned s = 0; s < op.numSrc; ++s)
      operands[s] = sources[s][i];
    d[i] = lowBits(fn(spec, operands), op.a);
  });
}

/// cvt.pack.sat: two integers, saturated, above the upper part of c.
/// Op: a bits of a field, isSigned of the field, b whether the source is
/// signed.
static void convertPack(Warp &warp, const Op &op, LaneMask lanes) {
  uint64_t *d = warp.destination(op.dst());
  const uint64_t *a = warp.values(op.src(0)), *b = warp.values(op.src(1));
  const uint64_t *c = op.numSrc > 2 ? warp.values(op.src(2)) : nullptr;
  int64_t low = op.isSigned ? -(int64_t(1) << (op.a - 1)) : 0;
  int64_t high = (int64_t(1) << (op.isSigned ? op.a - 1 : op.a)) - 1;
  auto clamp = [&](uint64_t value) {
    int64_t x = op.b ? int64_t(int32_t(value)) : int64_t(uint32_t(value));
    return lowBits(static_cast<uint64_t>(std::clamp(x, low, high)), op.a);
  };
  forLanes(lanes, [&](unsigned i) {
    uint64_t packed = clamp(a[i]) << op.a | clamp(b[i]);
    if (c)
      packed |= c[i] << 2 * op.a;
    d[i] = packed & 0xffffffffu;
  });
}

static llvm::Error decodePack(Decoder &decoder, const ptx::Instruction &inst) {
  const ptx::Modifiers &mods = inst.mods;
  unsigned bits = ptx::getBits(mods.type());
  bool third = inst.operands.size() == 4;
  if ((bits != 16 && bits != 8 && bits != 4) || mods.types.size() < 2 ||
      ptx::getBits(mods.type(1)) != 32 ||
      inst.operands.size() != (third ? 4u : 3u) || (bits < 16) != third)
    return decoder.unsupported(inst);
  llvm::SmallVector<Operand, 3> src;
  for (size_t i = 1; i < inst.operands.size(); ++i)
    src.push_back(decoder.source(inst.operands[i], 32));
  Op &op = decoder.emit(inst, convertPack, InstructionClass::Conversion,
                        decoder.destination(inst.operands[0], 32), src);
  op.a = static_cast<uint8_t>(bits);
  op.isSigned = ptx::isSignedInteger(mods.type());
  op.b = ptx::isSignedInteger(mods.type(1));
  return llvm::Error::success();
}

static bool isInteger(Type type) {
  return ptx::isSignedInteger(type) || ptx::isUnsignedInteger(type);
}

llvm::Error kvq::emu::decodeConvert(Decoder &decoder,
                                    const ptx::Instruction &inst) {
  const ptx::Modifiers &mods = inst.mods;
  if (inst.opcode == ptx::Opcode::CvtPack)
    return decodePack(decoder, inst);
  std::optional<CvtType> to = toCvtType(mods.type(0));
  std::optional<CvtType> from = toCvtType(mods.type(1));
  if (!to || !from || inst.operands.size() < 2)
    return decoder.unsupported(inst);
  Operand dst =
      decoder.destination(inst.operands[0], ptx::getBits(mods.type(0)));
  unsigned dstBits = ptx::getBits(mods.type(0));
  unsigned srcBits = ptx::getBits(mods.type(1));
  if (isInteger(mods.type(0)) && isInteger(mods.type(1)) && !mods.sat) {
    bool fromSigned = ptx::isSignedInteger(mods.type(1));
    Operand src = decoder.source(inst.operands[1], srcBits);
    Op &op = decoder.emit(inst,
                          fromSigned ? unaryLanesOp<convertInteger<true>>
                                     : unaryLanesOp<convertInteger<false>>,
                          InstructionClass::Conversion, dst, src);
    op.bits = static_cast<uint8_t>(srcBits);
    op.a = static_cast<uint8_t>(dstBits);
    op.count = std::max<uint8_t>(dst.bits, static_cast<uint8_t>(dstBits));
    op.isSigned = ptx::isSignedInteger(mods.type(0));
    return llvm::Error::success();
  }
  auto *extra = decoder.newExtra<CvtExtra>();
  extra->spec.dst = *to;
  extra->spec.src = *from;
  extra->spec.round = toCvtRound(mods.rounding);
  extra->spec.ftz = mods.ftz;
  extra->spec.sat = mods.sat;
  extra->spec.satfinite = mods.satfinite;
  extra->spec.relu = mods.relu;
  extra->spec.scaled = mods.has(Mod::ScaledN2UE8M0);
  llvm::Expected<num::CvtFn> fn = num::findCvt(extra->spec);
  if (!fn)
    return decoder.error(inst, llvm::toString(fn.takeError()));
  llvm::SmallVector<Operand, 6> src;
  for (size_t i = 1; i < inst.operands.size(); ++i) {
    const ptx::Operand &operand = inst.operands[i];
    if (operand.kind == ptx::OperandKind::Vector) {
      for (const ptx::Operand &element : decoder.elements(operand))
        src.push_back(decoder.source(element, srcBits));
      continue;
    }
    src.push_back(decoder.source(operand, i == 1 ? srcBits : 32));
  }
  if (src.size() != num::cvtOperands(extra->spec))
    return decoder.error(inst, "this cvt takes " +
                                   llvm::Twine(num::cvtOperands(extra->spec)) +
                                   " source registers");
  Op &op = decoder.emit(inst, convert, InstructionClass::Conversion, dst, src);
  op.function = reinterpret_cast<void (*)()>(*fn);
  op.extra = extra;
  // A signed integer result fills a wider register with its sign.
  op.a = dst.bits;
  return llvm::Error::success();
}
