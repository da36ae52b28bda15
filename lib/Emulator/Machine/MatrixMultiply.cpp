//===- MatrixMultiply.cpp - mma.sync and wmma.mma -------------------------===//

#include "MatrixOperands.h"
#include "kvq/Emulator/Machine/Lanes.h"
#include "kvq/Emulator/Machine/Launch.h"
#include "llvm/Support/FormatVariadic.h"

using namespace kvq::emu;
using num::MmaType;
using ptx::Mod;
using ptx::Type;

namespace {
struct MmaExtra : OpExtra {
  num::MmaSpec spec;
  llvm::StringRef kind;
  /// PTX registers per operand: A, B, C, D.
  unsigned counts[4] = {};
  /// Words per PTX register: 2 for f64.
  unsigned words = 1;
};
} // namespace

/// The bytes and threads that scales come from, which are values of registers.
static bool checkScales(Warp &warp, const Op &op, unsigned scaleVec,
                        const num::MmaScales &scales) {
  auto isByte = [&](unsigned byte) {
    return byte <= 4 && byte % scaleVec == 0 && byte + scaleVec <= 4;
  };
  if (isByte(scales.aByte) && isByte(scales.bByte) && scales.aThread < 2 &&
      scales.bThread < 4)
    return true;
  warp.report(FindingKind::IllegalOperand, op, 0, 0,
              llvm::formatv("scales of A at byte {0} of thread {1}, of B at "
                            "byte {2} of thread {3}: bytes must be multiples "
                            "of {4} below 4, A has threads 0 and 1, B 0 to 3",
                            scales.aByte, scales.aThread, scales.bByte,
                            scales.bThread, scaleVec)
                  .str(),
              true);
  return false;
}

/// Sources: A, B, C, then with scales: A's, byte, thread, B's, byte, thread.
static void multiply(Warp &warp, const Op &op, LaneMask lanes) {
  if (!warp.convergeAligned(op, lanes))
    return;
  const auto &extra = *static_cast<const MmaExtra *>(op.extra);
  uint32_t a[warpSize * 8], b[warpSize * 8], c[warpSize * 16], d[warpSize * 16];
  unsigned words = extra.words;
  unsigned next = 0;
  auto gather = [&](uint32_t *to, unsigned count) {
    unsigned stride = count * words;
    for (unsigned r = 0; r < count; ++r) {
      const uint64_t *src = warp.values(op.src(next++));
      for (unsigned lane = 0; lane < warpSize; ++lane) {
        to[lane * stride + r * words] = static_cast<uint32_t>(src[lane]);
        if (words == 2)
          to[lane * stride + r * words + 1] =
              static_cast<uint32_t>(src[lane] >> 32);
      }
    }
  };
  gather(a, extra.counts[0]);
  gather(b, extra.counts[1]);
  gather(c, extra.counts[2]);
  const num::MmaSpec &spec = extra.spec;
  if (spec.scaleVec) {
    uint32_t aScale[warpSize], bScale[warpSize];
    num::MmaScales scales;
    scales.aData = aScale;
    scales.bData = bScale;
    for (unsigned lane = 0; lane < warpSize; ++lane) {
      aScale[lane] = static_cast<uint32_t>(warp.values(op.src(next))[lane]);
      bScale[lane] = static_cast<uint32_t>(warp.values(op.src(next + 3))[lane]);
    }
    scales.aByte = static_cast<uint8_t>(warp.values(op.src(next + 1))[0]);
    scales.aThread = static_cast<uint8_t>(warp.values(op.src(next + 2))[0]);
    scales.bByte = static_cast<uint8_t>(warp.values(op.src(next + 4))[0]);
    scales.bThread = static_cast<uint8_t>(warp.values(op.src(next + 5))[0]);
    if (!checkScales(warp, op, spec.scaleVec, scales))
      return;
    num::executeMma(spec, a, b, c, d, &scales);
  } else {
    num::executeMma(spec, a, b, c, d);
  }
  unsigned stride = extra.counts[3] * words;
  for (unsigned r = 0; r < extra.counts[3]; ++r) {
    uint64_t *dst = warp.destination(op.dst(r));
    forLanes(lanes, [&](unsigned lane) {
      uint64_t value = d[lane * stride + r * words];
      if (words == 2)
        value |= uint64_t(d[lane * stride + r * words + 1]) << 32;
      dst[lane] = value;
    });
  }
  TensorCounts operands;
  operands.registerBytes =
      4 * warpSize * words * (extra.counts[0] + extra.counts[1]);
  warp.launch.counters.addTensor(
      {"mma.sync", extra.kind, spec.m, spec.n, spec.k}, operands);
}

//===----------------------------------------------------------------------===//
// Decoding
//===----------------------------------------------------------------------===//

std::optional<MmaType> kvq::emu::toMmaType(Type type) {
  switch (type) {
#define SAME(name)                                                             \
  case Type::name:                                                             \
    return MmaType::name;
    SAME(F64)
    SAME(F32)
    SAME(TF32)
    SAME(F16)
    SAME(BF16)
    SAME(E4M3)
    SAME(E5M2)
    SAME(E2M3)
    SAME(E3M2)
    SAME(E2M1)
    SAME(S32)
    SAME(S8)
    SAME(U8)
    SAME(S4)
    SAME(U4)
    SAME(B1)
#undef SAME
  default:
    return std::nullopt;
  }
}

/// The elements of a vector operand, or the operand itself.
llvm::SmallVector<ptx::Operand, 8>
kvq::emu::listOf(Decoder &decoder, const ptx::Operand &operand) {
  if (operand.kind == ptx::OperandKind::Vector) {
    auto elements = decoder.elements(operand);
    return {elements.begin(), elements.end()};
  }
  return {operand};
}

/// The kind that counters show, as tcgen05 names it where it can.
static llvm::StringRef kindOf(const num::MmaSpec &spec,
                              const ptx::Modifiers &mods) {
  switch (spec.a) {
  case MmaType::F64:
    return "f64";
  case MmaType::TF32:
    return "tf32";
  case MmaType::F16:
  case MmaType::BF16:
    return "f16";
  case MmaType::S8:
  case MmaType::U8:
    return "i8";
  case MmaType::S4:
  case MmaType::U4:
    return "i4";
  case MmaType::B1:
    return "b1";
  default:
    return mods.has(Mod::KindMxf4nvf4)   ? "mxf4nvf4"
           : mods.has(Mod::KindMxf4)     ? "mxf4"
           : mods.has(Mod::KindMxf8f6f4) ? "mxf8f6f4"
                                         : "f8f6f4";
  }
}

llvm::Error kvq::emu::decodeMma(Decoder &decoder,
                                const ptx::Instruction &inst) {
  const ptx::Modifiers &mods = inst.mods;
  const auto &operands = inst.operands;
  auto *extra = decoder.newExtra<MmaExtra>();
  num::MmaSpec &spec = extra->spec;
  spec.wmma = inst.opcode == ptx::Opcode::WmmaMma;
  // D, A, B, C. Without A and B, which wmma leaves out, they are f16.
  bool isShort = spec.wmma && mods.types.size() == 2;
  std::optional<MmaType> types[4];
  for (unsigned i = 0; i < 4; ++i)
    types[i] = !isShort           ? toMmaType(mods.type(i))
               : i == 1 || i == 2 ? MmaType::F16
                                  : toMmaType(mods.type(i / 3));
  if (!types[0] || !types[1] || !types[2] || !types[3])
    return decoder.unsupported(inst);
  spec.m = mods.m;
  spec.n = mods.n;
  spec.k = mods.k;
  spec.d = *types[0];
  spec.a = *types[1];
  spec.b = *types[2];
  spec.c = *types[3];
  // The two layout words, of A and of B, in text order.
  unsigned layouts = 0;
  for (Mod word : mods.list) {
    if (spec.wmma || (word != Mod::Row && word != Mod::Col))
      continue;
    (layouts == 0 ? spec.aCol : spec.bRow) =
        layouts == 0 ? word == Mod::Col : word == Mod::Row;
    ++layouts;
  }
  spec.satfinite = mods.satfinite;
  spec.bitAnd = mods.has(Mod::And);
  switch (mods.rounding) {
  case ptx::Rounding::RZ:
    spec.round = num::Round::RZ;
    break;
  case ptx::Rounding::RM:
    spec.round = num::Round::RM;
    break;
  case ptx::Rounding::RP:
    spec.round = num::Round::RP;
    break;
  default:
    break;
  }
  spec.byteContainers =
      mods.has(Mod::KindF8f6f4) || mods.has(Mod::KindMxf8f6f4);
  bool scaled = mods.has(Mod::BlockScale);
  if (scaled) {
    spec.scaleVec = mods.has(Mod::ScaleVec4X)     ? 4
                    : mods.has(Mod::ScaleVec2X)   ? 2
                    : mods.has(Mod::ScaleVec1X)   ? 1
                    : mods.has(Mod::KindMxf4)     ? 2
                    : mods.has(Mod::KindMxf4nvf4) ? 4
                                                  : 1;
    spec.scaleFormat =
        mods.type(4) == Type::UE4M3 ? num::Format::UE4M3 : num::Format::UE8M0;
  }
  if (llvm::Error error = num::checkMma(spec))
    return decoder.error(inst, llvm::toString(std::move(error)));
  if (operands.size() < (scaled ? 8u : 4u))
    return decoder.unsupported(inst);
  extra->kind = kindOf(spec, mods);
  extra->words = spec.a == MmaType::F64 ? 2 : 1;
  static const num::MmaOperand kinds[4] = {
      num::MmaOperand::A, num::MmaOperand::B, num::MmaOperand::C,
      num::MmaOperand::D};
  llvm::SmallVector<Operand, 24> src;
  llvm::SmallVector<Operand, 8> dst;
  for (unsigned i = 0; i < 4; ++i) {
    const ptx::Operand &operand = operands[i == 3 ? 0 : i + 1];
    auto list = listOf(decoder, operand);
    unsigned count = num::mmaRegisters(spec, kinds[i]) / extra->words;
    if (list.size() != count)
      return decoder.error(inst, "operand " + llvm::Twine(i == 3 ? 0 : i + 1) +
                                     " has " + llvm::Twine(list.size()) +
                                     " registers and needs " +
                                     llvm::Twine(count));
    extra->counts[i] = count;
    for (const ptx::Operand &element : list) {
      if (i == 3)
        dst.push_back(decoder.destination(element, 32 * extra->words));
      else
        src.push_back(decoder.source(element, 32 * extra->words));
    }
  }
  if (scaled)
    for (size_t i = 4; i < 8; ++i)
      for (const ptx::Operand &element : listOf(decoder, operands[i]))
        src.push_back(decoder.source(element, 32));
  if (scaled &&
      src.size() != extra->counts[0] + extra->counts[1] + extra->counts[2] + 6)
    return decoder.unsupported(inst);
  decoder.emit(inst, multiply, InstructionClass::Tensor, dst, src).extra =
      extra;
  return llvm::Error::success();
}
