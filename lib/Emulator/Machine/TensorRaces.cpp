//===- TensorRaces.cpp - Conflicting accesses to tensor memory ------------===//
//
// Every tcgen05 access to tensor memory is asynchronous. The PTX ISA orders
// two of them where one was waited for (tcgen05.wait, or a commit and its
// mbarrier) before the other was issued, and for some pairs of instructions by
// one thread (9.7.16.6.2).
//
//===----------------------------------------------------------------------===//

#include "kvq/Emulator/Machine/Launch.h"
#include "kvq/Emulator/Machine/RaceDetector.h"
#include "llvm/Support/FormatVariadic.h"

using namespace kvq::emu;

void RaceDetector::requireTensorFences() { wantTensorFences = true; }
void RaceDetector::requireTensorPairs() { wantTensorPairs = true; }

void RaceDetector::forgetTensor(const Cta &cta) { tensors.erase(&cta); }

/// Whether two instructions of one thread, or of two that tcgen05.fence orders,
/// take effect in order: those that the ISA pairs, or, unless only they count,
/// also others that the pipe that they share keeps in order. Libraries rely on
/// it where they reload scale factors, or make a score over weights, that an
/// earlier product reads.
static bool arePipelined(TensorRole earlier, uint32_t earlierShape,
                         TensorRole later, uint32_t laterShape,
                         bool onlyPairs) {
  bool isProduct =
      later == TensorRole::Accumulator || later == TensorRole::Operand;
  bool isOther =
      !onlyPairs && (later == TensorRole::Copy || later == TensorRole::Shift);
  switch (earlier) {
  case TensorRole::Copy:
  case TensorRole::Shift:
    return isProduct || isOther;
  case TensorRole::Accumulator:
    return later == TensorRole::Shift ||
           (later == TensorRole::Accumulator && earlierShape == laterShape);
  case TensorRole::Operand:
    return later == TensorRole::Shift || (isProduct && !onlyPairs) || isOther;
  default:
    return false;
  }
}

bool RaceDetector::checkTensor(Warp &warp, const Op &op, unsigned lane,
                               const TensorAccess &self,
                               const TensorAccess &earlier, uint64_t shown,
                               const char *what) {
  if (!earlier.stamp.clock)
    return false;
  if (earlier.stamp.kind() == AgentKind::TensorCore &&
      self.stamp.kind() == AgentKind::TensorCore) {
    bool sameWarp = earlier.stamp.row() == self.stamp.row();
    if (earlier.stamp.agent == self.stamp.agent &&
        earlier.stamp.clock == self.stamp.clock)
      return false;
    if (arePipelined(earlier.role, earlier.shape, self.role, self.shape,
                     wantTensorPairs) &&
        (sameWarp ||
         isKnown(warp, lane, earlier.stamp, Visibility::IssuedAfter)))
      return false;
  }
  const char *why = nullptr;
  // ::after_thread_sync holds back asynchronous instructions; dealloc is none.
  Visibility fenced = self.role == TensorRole::Release
                          ? Visibility::TensorBefore
                          : Visibility::TensorAfter;
  if (!isKnown(warp, lane, earlier.stamp, Visibility::Base) &&
      !isKnown(warp, lane, earlier.stamp, fenced)) {
    why = earlier.stamp.warp() == warp.globalIndex &&
                  earlier.role == TensorRole::Load
              ? "no tcgen05.wait::ld lies between the two"
          : earlier.stamp.warp() == warp.globalIndex &&
                  earlier.role == TensorRole::Store
              ? "no tcgen05.wait::st lies between the two"
              : "nothing orders the two";
  } else if (wantTensorFences && earlier.stamp.warp() != warp.globalIndex &&
             !isKnown(warp, lane, earlier.stamp, fenced)) {
    why = isKnown(warp, lane, earlier.stamp, Visibility::TensorBefore)
              ? "a tcgen05.fence::after_thread_sync is missing between the two"
              : "a tcgen05.fence::before_thread_sync or ::after_thread_sync is "
                "missing between the two";
  }
  if (!why)
    return false;
  conflict(warp, op, lane, shown, FindingKind::Race, what, earlier.stamp,
           earlier.pc, why);
  return true;
}

void RaceDetector::accessTensor(Warp &warp, const Op &op, unsigned lane,
                                Cta &cta, unsigned half, unsigned column,
                                unsigned columns, bool write, TensorRole role,
                                uint32_t shape, Stamp stamp) {
  TensorCells &cells = tensors[&cta];
  if (cells.empty())
    cells.resize(size_t(halves) * columnCount);
  TensorAccess self;
  self.stamp = stamp;
  self.pc = static_cast<uint32_t>(&op - warp.program.ops.data());
  self.role = role;
  self.shape = shape;
  bool reported = false;
  for (unsigned c = column; c < std::min(column + columns, columnCount); ++c) {
    TensorCell &cell = cells[half * columnCount + c];
    uint64_t shown = uint64_t(half) << 20 | c;
    if (!reported)
      reported = checkTensor(
          warp, op, lane, self, cell.write, shown,
          write ? "this write to tensor memory conflicts with the write"
                : "this read of tensor memory conflicts with the write");
    if (!write) {
      if (cell.reads[0].stamp.clock &&
          cell.reads[0].stamp.row() != stamp.row() &&
          !isKnown(warp, lane, cell.reads[0].stamp, Visibility::Base))
        cell.reads[1] = cell.reads[0];
      cell.reads[0] = self;
      continue;
    }
    for (TensorAccess &read : cell.reads) {
      if (!reported)
        reported =
            checkTensor(warp, op, lane, self, read, shown,
                        "this write to tensor memory conflicts with the read");
      read.stamp.clock = 0;
    }
    cell.write = self;
  }
}

void RaceDetector::releaseTensor(Warp &warp, const Op &op, unsigned lane,
                                 Cta &cta, unsigned column, unsigned columns) {
  auto it = tensors.find(&cta);
  if (it == tensors.end())
    return;
  TensorAccess self;
  self.stamp = threadStamp(warp, lane);
  self.role = TensorRole::Release;
  bool reported = false;
  for (unsigned half = 0; half < halves; ++half)
    for (unsigned c = column; c < column + columns; ++c) {
      TensorCell &cell = it->second[half * columnCount + c];
      uint64_t shown = uint64_t(half) << 20 | c;
      if (!reported)
        reported =
            checkTensor(warp, op, lane, self, cell.write, shown,
                        "freeing tensor memory conflicts with the write");
      for (const TensorAccess &read : cell.reads)
        if (!reported)
          reported =
              checkTensor(warp, op, lane, self, read, shown,
                          "freeing tensor memory conflicts with the read");
      cell = TensorCell();
    }
}
