//===- Matrix.cpp - ldmatrix, stmatrix, movmatrix -------------------------===//

#include "MatrixOperands.h"
#include "kvq/Emulator/Machine/Lanes.h"
#include "kvq/Emulator/Machine/Memory.h"
#include "kvq/Emulator/Numerics/MatrixMove.h"

using namespace kvq::emu;
using ptx::Mod;
using ptx::Opcode;
using ptx::Type;

namespace {
struct MoveExtra : OpExtra {
  num::MatrixMoveSpec spec;
};
} // namespace

/// Op: a 1 stores.
static void moveMatrix(Warp &warp, const Op &op, LaneMask lanes) {
  if (!warp.convergeAligned(op, lanes))
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
  if (!warp.convergeAligned(op, lanes))
    return;
  uint32_t words[warpSize];
  const uint64_t *a = warp.values(op.src(0));
  for (unsigned lane = 0; lane < warpSize; ++lane)
    words[lane] = static_cast<uint32_t>(a[lane]);
  num::transposeMatrix(words, words);
  uint64_t *d = warp.destination(op.dst());
  forLanes(lanes, [&](unsigned lane) { d[lane] = words[lane]; });
}

//===----------------------------------------------------------------------===//
// Decoding
//===----------------------------------------------------------------------===//

llvm::Error kvq::emu::decodeMatrix(Decoder &decoder,
                                   const ptx::Instruction &inst) {
  const ptx::Modifiers &mods = inst.mods;
  const auto &operands = inst.operands;
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
