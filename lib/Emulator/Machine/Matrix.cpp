//===- Matrix.cpp - ldmatrix, stmatrix, movmatrix and mma.sync ------------===//

#include "kvq/Emulator/Machine/Decoder.h"
#include "kvq/Emulator/Machine/Lanes.h"
#include "kvq/Emulator/Machine/Memory.h"
#include "kvq/Emulator/Numerics/MatrixMove.h"
#include "kvq/Emulator/Numerics/MatrixMultiply.h"

using namespace kvq::emu;
using num::MmaType;
using ptx::Mod;
using ptx::Opcode;
using ptx::Type;

namespace {
struct MoveExtra : OpExtra {
  num::MatrixMoveSpec spec;
};
struct MmaExtra : OpExtra {
  num::MmaSpec spec;
  llvm::StringRef kind;
  /// PTX registers per operand: A, B, C, D.
  unsigned counts[4] = {};
  /// Words per PTX register: 2 for f64.
  unsigned words = 1;
};
} // namespace

/// These instructions need the whole warp.
static bool wholeWarp(Warp &warp, const Op &op, LaneMask lanes) {
  return warp.convergeAligned(op, lanes);
}

/// Op: a 1 stores.
static void moveMatrix(Warp &warp, const Op &op, LaneMask lanes) {
  if (!wholeWarp(warp, op, lanes))
    return;
  const num::MatrixMoveSpec &spec =
      static_cast<const MoveExtra *>(op.extra)->spec;
  unsigned rows = num::matrixRows(spec), regs = num::matrixRegisters(spec);
  const Operand &operand = op.src(op.numSrc - 1u);
  const uint64_t *base = operand.isNone() ? nullptr : warp.values(operand);
  uint64_t bias = addressBias(warp, op);
  uint8_t data[32 * num::matrixRowBytes] = {};
  uint32_t words[warpSize * 4] = {};
  bool store = op.a;
  if (store) {
    for (unsigned r = 0; r < regs; ++r) {
      const uint64_t *src = warp.values(op.src(r));
      for (unsigned lane = 0; lane < warpSize; ++lane)
        words[lane * regs + r] = static_cast<uint32_t>(src[lane]);
    }
    num::storeMatrix(spec, words, data);
  }
  AccessCounter counter(warp, store);
  for (unsigned row = 0; row < rows; ++row) {
    if (!(lanes >> row & 1))
      continue;
    Location location;
    if (!locate(warp, op, row, op.space, (base ? base[row] : 0) + bias,
                num::matrixRowBytes, num::matrixRowBytes, location))
      return;
    // Of a padded row only the packed elements are looked at.
    unsigned used = spec.source == num::MatrixSource::B4x16P64   ? 8
                    : spec.source == num::MatrixSource::B6x16P32 ? 12
                                                                 : 16;
    counter.add(location, num::matrixRowBytes);
    noteAccess(warp, op, row, location, used,
               store ? kindOfStore(location, data + row * num::matrixRowBytes,
                                   num::matrixRowBytes)
                     : AccessKind::Read);
    if (store)
      memcpy(location.host, data + row * num::matrixRowBytes,
             num::matrixRowBytes);
    else
      memcpy(data + row * num::matrixRowBytes, location.host,
             num::matrixRowBytes);
  }
  if (store) {
    warp.launch.progress();
    return;
  }
  num::loadMatrix(spec, data, words);
  for (unsigned r = 0; r < regs; ++r) {
    uint64_t *dst = warp.destination(op.dst(r));
    forLanes(lanes, [&](unsigned lane) { dst[lane] = words[lane * regs + r]; });
  }
}

static void transpose(Warp &warp, const Op &op, LaneMask lanes) {
  if (!wholeWarp(warp, op, lanes))
    return;
  uint32_t words[warpSize];
  const uint64_t *a = warp.values(op.src(0));
  for (unsigned lane = 0; lane < warpSize; ++lane)
    words[lane] = static_cast<uint32_t>(a[lane]);
  num::transposeMatrix(words, words);
  uint64_t *d = warp.destination(op.dst());
  forLanes(lanes, [&](unsigned lane) { d[lane] = words[lane]; });
}

/// Sources: A, B, C, then with scales: A's, byte, thread, B's, byte, thread.
static void multiply(Warp &warp, const Op &op, LaneMask lanes) {
  if (!wholeWarp(warp, op, lanes))
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

static std::optional<MmaType> toMmaType(Type type) {
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
static llvm::SmallVector<ptx::Operand, 8> listOf(Decoder &decoder,
                                                 const ptx::Operand &operand) {
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

static llvm::Error decodeMma(Decoder &decoder, const ptx::Instruction &inst) {
  const ptx::Modifiers &mods = inst.mods;
  const auto &operands = inst.operands;
  auto *extra = decoder.newExtra<MmaExtra>();
  num::MmaSpec &spec = extra->spec;
  std::optional<MmaType> types[4];
  for (unsigned i = 0; i < 4; ++i)
    types[i] = toMmaType(mods.type(i));
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
    if (word != Mod::Row && word != Mod::Col)
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

llvm::Error kvq::emu::decodeMatrix(Decoder &decoder,
                                   const ptx::Instruction &inst) {
  const ptx::Modifiers &mods = inst.mods;
  const auto &operands = inst.operands;
  if (inst.opcode == Opcode::Mma)
    return decodeMma(decoder, inst);
  if (operands.size() != 2)
    return decoder.unsupported(inst);
  if (inst.opcode == Opcode::Movmatrix) {
    Operand a = decoder.source(operands[1], 32);
    decoder.emit(inst, transpose, InstructionClass::Shared,
                 decoder.destination(operands[0], 32), a);
    return llvm::Error::success();
  }
  bool store = inst.opcode == Opcode::Stmatrix;
  auto *extra = decoder.newExtra<MoveExtra>();
  num::MatrixMoveSpec &spec = extra->spec;
  if (mods.m == 8 && mods.n == 8)
    spec.shape = num::MatrixShape::M8N8;
  else if (mods.m == 16 && mods.n == 16)
    spec.shape = num::MatrixShape::M16N16;
  else if (mods.m == 8 && mods.n == 16)
    spec.shape = num::MatrixShape::M8N16;
  else if (mods.m == 16 && mods.n == 8)
    spec.shape = num::MatrixShape::M16N8;
  else
    return decoder.unsupported(inst);
  spec.num = mods.count ? mods.count : 1;
  spec.trans = mods.has(Mod::Trans);
  for (Type type : mods.types)
    spec.source = type == Type::B4x16P64   ? num::MatrixSource::B4x16P64
                  : type == Type::B6x16P32 ? num::MatrixSource::B6x16P32
                                           : spec.source;
  if (llvm::Error error =
          store ? num::checkStMatrix(spec) : num::checkLdMatrix(spec))
    return decoder.error(inst, llvm::toString(std::move(error)));
  Space space = toSpace(mods.space());
  llvm::Expected<AddressOperand> address =
      decodeAddress(decoder, inst, operands[store ? 0 : 1], space);
  if (!address)
    return address.takeError();
  llvm::SmallVector<Operand, 8> dst, src;
  for (const ptx::Operand &element : listOf(decoder, operands[store ? 1 : 0])) {
    if (store)
      src.push_back(decoder.source(element, 32));
    else
      dst.push_back(decoder.destination(element, 32));
  }
  if ((store ? src : dst).size() != num::matrixRegisters(spec))
    return decoder.error(inst, "the instruction moves " +
                                   llvm::Twine(num::matrixRegisters(spec)) +
                                   " registers per thread");
  src.push_back(address->base);
  Op &op = decoder.emit(inst, moveMatrix, InstructionClass::Shared, dst, src);
  op.extra = extra;
  op.a = store;
  op.imm = address->imm;
  op.space = address->space;
  op.c = address->flags;
  return llvm::Error::success();
}
