//===- TensorMemory.cpp - Data paths of tensor memory ---------------------===//

#include "kvq/Emulator/TensorCore/TensorMemory.h"
#include <cstring>

using namespace kvq::emu::tc;

static TmemCell cell(unsigned lane, unsigned column) {
  return {static_cast<uint16_t>(lane), static_cast<uint16_t>(column)};
}

//===----------------------------------------------------------------------===//
// tcgen05.ld and tcgen05.st
//===----------------------------------------------------------------------===//

unsigned kvq::emu::tc::tmemRegisters(TmemShape shape, unsigned num) {
  switch (shape) {
  case TmemShape::S16x128b:
    return 2 * num;
  case TmemShape::S16x256b:
    return 4 * num;
  default:
    return num;
  }
}

llvm::Error kvq::emu::tc::checkTmemAccess(TmemShape shape, unsigned num) {
  bool isPower = num >= 1 && num <= 128 && (num & (num - 1)) == 0;
  if (isPower && tmemRegisters(shape, num) <= 128)
    return llvm::Error::success();
  return llvm::createStringError(
      llvm::inconvertibleErrorCode(),
      llvm::Twine("no .x") + llvm::Twine(num) +
          ": needs a power of two with at most 128 registers");
}

unsigned kvq::emu::tc::tmemLanesOf(TmemShape shape) {
  return shape == TmemShape::S32x32b ? 32 : 16;
}

TmemCell kvq::emu::tc::tmemCell(TmemShape shape, unsigned t, unsigned r,
                                unsigned split) {
  switch (shape) {
  case TmemShape::S32x32b:
    return cell(t, r);
  case TmemShape::S16x64b:
    return cell((t >> 2) + 8 * (t & 1), 2 * r + ((t >> 1) & 1));
  case TmemShape::S16x128b:
    return cell((t >> 2) + 8 * (r & 1), 4 * (r >> 1) + (t & 3));
  case TmemShape::S16x256b:
    return cell((t >> 2) + 8 * ((r >> 1) & 1),
                8 * (r >> 2) + 2 * (t & 3) + (r & 1));
  case TmemShape::S16x32bx2:
    return cell(t & 15, r + (t >= 16 ? split : 0));
  }
  return cell(0, 0);
}

//===----------------------------------------------------------------------===//
// Accumulators and A operands
//===----------------------------------------------------------------------===//

DataPath kvq::emu::tc::dataPathOf(const InstructionDescriptor &i,
                                  unsigned ctaGroup, bool ws) {
  if (ctaGroup == 2)
    return i.m == 256 ? DataPath::A : DataPath::B;
  if (i.m == 128)
    return DataPath::D;
  if (i.m == 64)
    return ws ? DataPath::E : DataPath::F;
  return DataPath::G;
}

AccumulatorCell kvq::emu::tc::accumulatorCell(DataPath path, unsigned m,
                                              unsigned n, unsigned N) {
  switch (path) {
  case DataPath::A:
    return {static_cast<uint8_t>(m / 128), cell(m % 128, n)};
  case DataPath::B:
    return {static_cast<uint8_t>(m / 64),
            cell(m % 64 + 64 * (n / (N / 2)), n % (N / 2))};
  case DataPath::D:
    return {0, cell(m, n)};
  case DataPath::E:
    return {0, cell(m + 64 * (n / (N / 2)), n % (N / 2))};
  case DataPath::F:
    return {0, cell(m % 16 + 32 * (m / 16), n)};
  case DataPath::G:
    return {0, cell(m + 32 * (n / (N / 4)), n % (N / 4))};
  }
  return {0, cell(0, 0)};
}

unsigned kvq::emu::tc::accumulatorRun(DataPath path, unsigned N) {
  switch (path) {
  case DataPath::B:
  case DataPath::E:
    return N / 2;
  case DataPath::G:
    return N / 4;
  default:
    return N;
  }
}

OperandCell kvq::emu::tc::operandCell(DataPath path, unsigned m, unsigned k,
                                      unsigned bits) {
  // The lane of D[m][0]: layouts B, E and G repeat A in the lanes of the other
  // parts of N.
  AccumulatorCell at = accumulatorCell(path, m, 0, 256);
  at.cell.column = static_cast<uint16_t>(k * bits / 32);
  return {at.cta, at.cell, static_cast<uint8_t>(k * bits % 32)};
}

unsigned kvq::emu::tc::tmemElementBits(MmaKind kind, MmaType type) {
  switch (type) {
  case MmaType::TF32:
    return 32;
  case MmaType::F16:
  case MmaType::BF16:
    return 16;
  case MmaType::E2M1:
    return kind == MmaKind::MXF4 || kind == MmaKind::MXF4NVF4 ? 4 : 8;
  default:
    return 8;
  }
}

//===----------------------------------------------------------------------===//
// tcgen05.cp
//===----------------------------------------------------------------------===//

unsigned kvq::emu::tc::copyRows(CopyShape shape) {
  switch (shape) {
  case CopyShape::S128x256b:
  case CopyShape::S128x128b:
    return 128;
  case CopyShape::S4x256b:
    return 4;
  case CopyShape::S64x128bWarpx2_02_13:
  case CopyShape::S64x128bWarpx2_01_23:
    return 64;
  case CopyShape::S32x128bWarpx4:
    return 32;
  }
  return 0;
}

unsigned kvq::emu::tc::copyColumns(CopyShape shape) {
  return shape == CopyShape::S128x256b || shape == CopyShape::S4x256b ? 8 : 4;
}

llvm::SmallVector<uint16_t, 4> kvq::emu::tc::copyLanes(CopyShape shape,
                                                       unsigned row) {
  auto lanes = [](std::initializer_list<unsigned> list) {
    llvm::SmallVector<uint16_t, 4> out;
    for (unsigned lane : list)
      out.push_back(static_cast<uint16_t>(lane));
    return out;
  };
  switch (shape) {
  case CopyShape::S128x256b:
  case CopyShape::S128x128b:
    return lanes({row});
  case CopyShape::S4x256b:
    return lanes({32 * row});
  case CopyShape::S64x128bWarpx2_02_13:
    return lanes({row, row + 64});
  case CopyShape::S64x128bWarpx2_01_23: {
    unsigned base = (row / 32) * 64 + row % 32;
    return lanes({base, base + 32});
  }
  case CopyShape::S32x128bWarpx4:
    return lanes({row, row + 32, row + 64, row + 96});
  }
  return {};
}

void kvq::emu::tc::unpackChunk(CopyUnpack unpack, const uint8_t *chunk,
                               uint32_t *columns) {
  if (unpack == CopyUnpack::None) {
    for (unsigned w = 0; w != 4; ++w)
      columns[w] = chunk[4 * w] | chunk[4 * w + 1] << 8 |
                   chunk[4 * w + 2] << 16 |
                   static_cast<uint32_t>(chunk[4 * w + 3]) << 24;
    return;
  }
  for (unsigned w = 0; w != 4; ++w) {
    columns[w] = 0;
    for (unsigned j = 0; j != 4; ++j) {
      unsigned i = 4 * w + j;
      uint32_t byte;
      if (unpack == CopyUnpack::B4x16P64) {
        byte = ((chunk[i / 2] >> (4 * (i % 2))) & 0xf) << 2;
      } else {
        unsigned bit = 6 * i;
        byte = ((chunk[bit / 8] | chunk[bit / 8 + 1] << 8) >> (bit % 8)) & 0x3f;
      }
      columns[w] |= byte << (8 * j);
    }
  }
}

//===----------------------------------------------------------------------===//
// Scale factors
//===----------------------------------------------------------------------===//

static uint8_t scaleByte(unsigned j, unsigned scaleVec, unsigned dataId) {
  return static_cast<uint8_t>(scaleVec == 4 ? j : dataId + j);
}

ScaleCell kvq::emu::tc::scaleCell(unsigned row, unsigned j, unsigned scaleVec,
                                  unsigned dataId) {
  return {cell(row % 32, row / 32), scaleByte(j, scaleVec, dataId)};
}

ScaleCell kvq::emu::tc::splitScaleCell(unsigned n, unsigned N, unsigned j,
                                       unsigned scaleVec, unsigned dataId) {
  unsigned half = N / 2, local = n % half;
  return {cell(local % 32 + 64 * (n / half), local / 32),
          scaleByte(j, scaleVec, dataId)};
}
