//===- TensorProduct.cpp - One tcgen05.mma under way ----------------------===//

#include "kvq/Emulator/Machine/TensorProduct.h"
#include "kvq/Emulator/TensorCore/Multiply.h"
#include "kvq/Emulator/TensorCore/OperandLayout.h"
#include "llvm/Support/FormatVariadic.h"

using namespace kvq::emu;
using tc::MatrixDescriptor;
using tc::MmaType;

bool TensorProduct::readShared(const MatrixDescriptor &matrix, bool mnMajor,
                               tc::MmaType type, unsigned rows,
                               unsigned ctaIndex, double *out,
                               unsigned rowStride, unsigned kStride) const {
  Cta &from = cta(ctaIndex);
  auto read = [&](uint32_t address) -> const uint8_t * {
    Location location;
    uint64_t full = inRank(address, from.rank);
    if (!locate(*warp, *op, lane, Space::SharedCluster, full, tc::chunkBytes,
                tc::chunkBytes, location))
      return nullptr;
    tc::ElementPacking packing = tc::sharedPacking(instruction.kind, type);
    // Padded chunks hold data in their first bytes only.
    unsigned used = packing.dense || packing.perChunk() != 16        ? 16
                    : type == MmaType::E2M1                          ? 8
                    : type == MmaType::E2M3 || type == MmaType::E3M2 ? 12
                                                                     : 16;
    noteWritten(*warp, *op, lane, location, used, AccessKind::Read);
    return location.host;
  };
  return tc::readOperand(matrix, mnMajor,
                         tc::sharedPacking(instruction.kind, type), rows,
                         instruction.k, read, out, rowStride, kStride);
}

bool TensorProduct::readTensor(Cta &from, unsigned row, unsigned column,
                               uint32_t &word) const {
  if (row >= tc::tmemLanes || !from.tensor.isAllocated(column))
    return fail(FindingKind::TensorMemory, column,
                llvm::formatv("lane {0}, column {1} of tensor memory is not "
                              "allocated",
                              row, column));
  if (warp->launch.checkWritten && !from.tensor.isWritten(row, column))
    warp->report(FindingKind::Uninitialized, *op, lane, column,
                 llvm::formatv("reads lane {0}, column {1} of tensor memory, "
                               "which nothing has written",
                               row, column)
                     .str(),
                 false);
  word = from.tensor.read(row, column);
  return true;
}

static double decodeElement(MmaType type, uint32_t bits, unsigned width) {
  switch (type) {
  case MmaType::S8:
    return int8_t(bits);
  case MmaType::U8:
    return uint8_t(bits);
  case MmaType::F16:
    return num::toDouble(num::Format::F16, bits & 0xffff);
  case MmaType::BF16:
    return num::toDouble(num::Format::BF16, bits & 0xffff);
  case MmaType::TF32:
    return num::toDouble(num::Format::TF32, bits);
  case MmaType::E4M3:
    return num::toDouble(num::Format::E4M3, bits & 0xff);
  case MmaType::E5M2:
    return num::toDouble(num::Format::E5M2, bits & 0xff);
  case MmaType::E2M3:
    return num::toDouble(num::Format::E2M3, bits & 0x3f);
  case MmaType::E3M2:
    return num::toDouble(num::Format::E3M2, bits & 0x3f);
  default:
    // E2M1 sits in the middle of a byte, or is packed two to a byte.
    return num::toDouble(num::Format::E2M1,
                         width == 8 ? bits >> 2 & 0xf : bits & 0xf);
  }
}

bool TensorProduct::readA(double *out) const {
  unsigned m = instruction.m, k = instruction.k, groups = extra->ctaGroup;
  if (!extra->aInTensor) {
    unsigned rows = m / groups;
    for (unsigned index = 0; index < groups; ++index)
      if (!readShared(aMatrix, instruction.transposeA, instruction.a, rows,
                      index, out + size_t(index) * rows * k, k, 1))
        return false;
    return true;
  }
  tc::DataPath path = tc::dataPathOf(instruction, groups, extra->ws);
  unsigned width = tc::tmemElementBits(instruction.kind, instruction.a);
  tc::TmemCell base = tc::cellAt(a);
  for (unsigned row = 0; row < m; ++row)
    for (unsigned col = 0; col < k; ++col) {
      unsigned source = extra->shiftA && row ? row - 1 : row;
      tc::OperandCell at = tc::operandCell(path, source, col, width);
      uint32_t word;
      if (!readTensor(cta(at.cta), base.lane + at.cell.lane,
                      base.column + at.cell.column, word))
        return false;
      out[row * k + col] = decodeElement(instruction.a, word >> at.bit, width);
    }
  return true;
}

bool TensorProduct::readScales(bool isA, std::vector<double> &scales) const {
  unsigned lines = isA ? instruction.m : instruction.n;
  unsigned vec = extra->scaleVec, groups = extra->ctaGroup;
  unsigned id = isA ? instruction.sfaId : instruction.sfbId;
  tc::TmemCell base = tc::cellAt(isA ? sfa : sfb);
  scales.resize(size_t(lines) * vec);
  bool isSplit = !isA && groups == 2 && instruction.m == 128;
  // A lane whose copy is not the same, or -1.
  int differs = warp->launch.checkProtocol ? -1 : 0;
  for (unsigned line = 0; line < lines; ++line)
    for (unsigned j = 0; j < vec; ++j) {
      unsigned index = 0, row = line;
      if (isA && groups == 2) {
        index = line / (lines / 2);
        row = line % (lines / 2);
      }
      tc::ScaleCell at = isSplit ? tc::splitScaleCell(line, lines, j, vec, id)
                                 : tc::scaleCell(row, j, vec, id);
      uint32_t word;
      if (!readTensor(cta(index), base.lane + at.cell.lane,
                      base.column + at.cell.column, word))
        return false;
      uint32_t bits = word >> 8 * at.byte & 0xff;
      scales[size_t(line) * vec + j] =
          num::toDouble(instruction.scaleFormat, bits);
      // Each quarter of the lanes, or each of a half, must hold a copy.
      for (unsigned step = 32; differs < 0 && step < (isSplit ? 64 : 128);
           step += 32) {
        unsigned copy = base.lane + at.cell.lane + step;
        unsigned column = base.column + at.cell.column;
        if (copy < tc::tmemLanes &&
            (cta(index).tensor.read(copy, column) >> 8 * at.byte & 0xff) !=
                bits)
          differs = static_cast<int>(copy);
      }
    }
  if (differs > 0)
    warp->report(FindingKind::TensorMemory, *op, lane, isA ? sfa : sfb,
                 llvm::formatv("the scales of {0} in lane {1} are not those of "
                               "32 lanes before: all quarters must be equal",
                               isA ? "A" : "B", differs)
                     .str(),
                 false);
  return true;
}

void TensorProduct::perform() const {
  if (warp->launch.stopped())
    return;
  unsigned m = instruction.m, n = instruction.n, k = instruction.k;
  unsigned groups = extra->ctaGroup;
  std::vector<double> aValues(size_t(m) * k), bValues(size_t(k) * n),
      acc(size_t(m) * n);
  if (!readA(aValues.data()))
    return;
  for (unsigned index = 0; index < groups; ++index)
    if (!readShared(bMatrix, instruction.transposeB, instruction.b, n / groups,
                    index, bValues.data() + index * (n / groups), 1, n))
      return;
  if (!zero.zero.empty())
    for (unsigned row = 0; row < k; ++row) {
      double *values = bValues.data() + size_t(row) * n;
      // Columns shifted in from beyond N are not there.
      for (unsigned col = 0; col < n; ++col)
        values[col] = zero.zero[col] || col + zero.shift >= n
                          ? 0
                          : values[col + zero.shift];
    }
  if (extra->scaleVec) {
    std::vector<double> scales;
    if (!readScales(true, scales))
      return;
    tc::applyScales(aValues.data(), m, k, k, 1, scales.data(), extra->scaleVec);
    if (!readScales(false, scales))
      return;
    tc::applyScales(bValues.data(), n, k, 1, n, scales.data(), extra->scaleVec);
  }
  tc::DataPath path = tc::dataPathOf(instruction, groups, extra->ws);
  tc::TmemCell base = tc::cellAt(d);
  auto place = [&](unsigned row, unsigned col) {
    tc::AccumulatorCell at = tc::accumulatorCell(path, row, col, n);
    at.cell.lane = static_cast<uint16_t>(at.cell.lane + base.lane);
    at.cell.column = static_cast<uint16_t>(at.cell.column + base.column);
    return at;
  };
  // The cells of a row lie side by side in runs.
  unsigned run = tc::accumulatorRun(path, n);
  auto forRuns = [&](auto &&body) {
    for (unsigned row = 0; row < m; ++row)
      for (unsigned col = 0; col < n; col += run)
        if (!body(place(row, col), &acc[size_t(row) * n + col]))
          return false;
    return true;
  };
  auto read = [&](const tc::AccumulatorCell &at, double *values) {
    Cta &owner = cta(at.cta);
    unsigned lane = at.cell.lane, column = at.cell.column;
    bool isThere = owner.tensor.areAllocated(lane, column, run);
    if (!accumulate) {
      if (!isThere)
        fail(FindingKind::TensorMemory, d,
             llvm::formatv("lane {0}, columns {1} to {2} of the accumulator "
                           "are not all allocated",
                           lane, column, column + run - 1));
      return isThere;
    }
    // One by one where there is something to tell.
    if (!isThere || (warp->launch.checkWritten &&
                     !owner.tensor.areWritten(lane, column, run)))
      for (unsigned i = 0; i < run; ++i) {
        uint32_t word;
        if (!readTensor(owner, lane, column + i, word))
          return false;
      }
    tc::decodeAccumulators(instruction.d, owner.tensor.cellsAt(lane, column),
                           run, values);
    return true;
  };
  if (!forRuns(read))
    return;
  tc::multiply(instruction, m, n, aValues.data(), bValues.data(), acc.data(),
               accumulate, extra->inputShift);
  forRuns([&](const tc::AccumulatorCell &at, const double *values) {
    unsigned maskBit = at.cell.lane + 128u * at.cta;
    if (!(mask[maskBit / 32] >> maskBit % 32 & 1))
      tc::encodeAccumulators(
          instruction.d, values, run, instruction.saturate,
          cta(at.cta).tensor.overwrite(at.cell.lane, at.cell.column, run));
    return true;
  });
  TensorCounts operands;
  // Every kind takes 32 bytes of K per row.
  (extra->aInTensor ? operands.tensorMemoryBytes : operands.sharedBytes) +=
      32 * m;
  operands.sharedBytes += 32 * n;
  operands.tensorMemoryBytes += extra->scaleVec * (m + n);
  llvm::StringRef kind = tc::kindName(instruction.kind);
  warp->launch.counters.addTensor(
      {"tcgen05", kind.drop_front(strlen("kind::")), m, n, k}, operands);
  warp->launch.progress();
}
