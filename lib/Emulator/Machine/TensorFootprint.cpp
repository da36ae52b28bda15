//===- TensorFootprint.cpp - What tcgen05.mma and cp touch ----------------===//

#include "kvq/Emulator/Machine/TensorProduct.h"
#include "kvq/Emulator/TensorCore/OperandLayout.h"

using namespace kvq::emu;
using tc::MatrixDescriptor;

void TensorProduct::report(TensorFootprint &footprint, bool write,
                           TensorRole role) const {
  // Products of one kind and shape into one accumulator keep their order.
  uint32_t shape = d ^ instruction.m << 9 ^ instruction.n << 20 ^
                   static_cast<uint32_t>(extra->kind) << 28 ^
                   uint32_t(extra->ws) << 31;
  for (unsigned index = 0; index < extra->ctaGroup; ++index)
    for (unsigned half = 0; half < 8; ++half) {
      auto &columns = footprint.cells[index][half];
      for (unsigned c = 0; c < tc::tmemColumns; ++c) {
        if (!columns[c])
          continue;
        unsigned end = c;
        while (end < tc::tmemColumns && columns[end])
          ++end;
        warp->launch.races.accessTensor(*warp, *op, lane, cta(index), half, c,
                                        end - c, write, role, shape, stamp);
        c = end;
      }
      columns.reset();
    }
}

void TensorProduct::noteAccesses() const {
  unsigned groups = extra->ctaGroup;
  auto shared = [&](const MatrixDescriptor &matrix, bool mnMajor,
                    tc::MmaType type, unsigned rows, unsigned index) {
    unsigned per = tc::sharedPacking(instruction.kind, type).perChunk();
    unsigned lines = mnMajor ? instruction.k : rows;
    unsigned length = mnMajor ? rows : instruction.k;
    Cta &from = cta(index);
    for (unsigned line = 0; line < lines; ++line)
      for (unsigned first = 0; first < length; first += per) {
        Location location;
        uint64_t address = inRank(
            tc::chunkAddress(matrix, mnMajor, line, first / per), from.rank);
        if (warp->launch.stopped() ||
            !locate(*warp, *op, lane, Space::SharedCluster, address,
                    tc::chunkBytes, tc::chunkBytes, location))
          return;
        noteAsync(*warp, *op, lane, location, tc::chunkBytes, AccessKind::Read,
                  stamp);
      }
  };
  /// Cells of tensor memory: runs of columns in 16 lanes.
  TensorFootprint cells;
  for (unsigned index = 0; index < groups; ++index) {
    if (!extra->aInTensor)
      shared(aMatrix, instruction.transposeA, instruction.a,
             instruction.m / groups, index);
    shared(bMatrix, instruction.transposeB, instruction.b,
           instruction.n / groups, index);
  }
  tc::DataPath path = tc::dataPathOf(instruction, groups, extra->ws);
  if (extra->aInTensor) {
    unsigned width = tc::tmemElementBits(instruction.kind, instruction.a);
    tc::TmemCell base = tc::cellAt(a);
    for (unsigned row = 0; row < instruction.m; row += 16)
      for (unsigned col = 0; col < instruction.k; ++col) {
        tc::OperandCell at = tc::operandCell(path, row, col, width);
        cells.add(at.cta, base.lane + at.cell.lane,
                  base.column + at.cell.column);
      }
    report(cells, /*write=*/false, TensorRole::Operand);
  }
  if (extra->scaleVec)
    for (bool isA : {true, false}) {
      tc::TmemCell base = tc::cellAt(isA ? sfa : sfb);
      unsigned lines = isA ? instruction.m : instruction.n;
      for (unsigned index = 0; index < groups; ++index)
        for (unsigned line = 0; line < lines; line += 16)
          // The bytes are replicated in each quarter of the lanes.
          for (unsigned quarter = 0; quarter < 4; ++quarter) {
            unsigned row = isA ? line % (lines / groups) : line;
            tc::ScaleCell at =
                tc::scaleCell(row, 0, extra->scaleVec,
                              isA ? instruction.sfaId : instruction.sfbId);
            cells.add(index, 32 * quarter + (base.lane + at.cell.lane) % 32,
                      base.column + at.cell.column);
          }
      report(cells, /*write=*/false, TensorRole::Operand);
    }
  tc::TmemCell base = tc::cellAt(d);
  for (unsigned row = 0; row < instruction.m; row += 16)
    for (unsigned col = 0; col < instruction.n; ++col) {
      tc::AccumulatorCell at =
          tc::accumulatorCell(path, row, col, instruction.n);
      cells.add(at.cta, base.lane + at.cell.lane, base.column + at.cell.column);
    }
  report(cells, /*write=*/true, TensorRole::Accumulator);
}

void kvq::emu::noteTensorCopy(Warp &warp, const Op &op, unsigned lane, Cta &cta,
                              tc::TmemCell base, tc::CopyShape shape,
                              Stamp stamp) {
  std::array<bool, 8> halves{};
  for (unsigned row = 0; row < tc::copyRows(shape); ++row)
    for (uint16_t target : tc::copyLanes(shape, row))
      if (unsigned to = base.lane + target; to < tc::tmemLanes)
        halves[to / 16] = true;
  for (unsigned half = 0; half < halves.size(); ++half)
    if (halves[half])
      warp.launch.races.accessTensor(warp, op, lane, cta, half, base.column,
                                     tc::copyColumns(shape), /*write=*/true,
                                     TensorRole::Copy, 0, stamp);
}
