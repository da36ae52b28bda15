//===- Epilogue.cpp - The output of a block -------------------------------===//
//
// The warps of the softmax add up their sums and the parts of the output, which
// the groups of tokens have apart, in shared memory, and store the rows.
//
//===----------------------------------------------------------------------===//

#include "DecodeKernel.h"
#include "kvq/Dialect/TCGen05/IR/TCGen05Ops.h"
#include <limits>

using namespace mlir;
using namespace kvq;
using namespace kvq::kernel;

/// The barrier of these warps.
static constexpr int64_t kBarrier = 1;

void DecodeKernel::storeRows(
    QueryRows rows, function_ref<RowSums(I32 row)> loadSums,
    function_ref<SmallVector<F32>(I32 row, I32 pair)> load) {
  int64_t pairs = plan.v.headDim / 2;
  I32 pair = b.thread() % pairs;
  b.loop(
      b.thread() / pairs, b.i32(plan.rows), kSoftmaxThreads / pairs,
      [&](I32 row) {
        b.when(isRow(rows, row), [&] {
          RowSums sums = loadSums(row);
          RowEnd end =
              endRow(sums.shift * kLn2, sums.weights, queryHeadOf(rows, row));
          F32 factor = end.factor;
          if (plan.valueFactor() != 1.0)
            factor = factor * (1.0 / plan.valueFactor());
          SmallVector<F32> values = load(row, pair);
          for (F32 &value : values)
            value = value * factor;
          SmallVector<I32> at = outputIndexOf(rows, row);
          Row to = output.row(at);
          storeElements(b, encodeElements(b, to.element, values), to, pair * 2);
          if (lse)
            b.when(pair == 0, [&] { b.store(end.lse, lse->element(at)); });
        });
      });
}

void DecodeKernel::storeEmpty(QueryRows rows) {
  F32 none = b.f32(-std::numeric_limits<double>::infinity());
  b.when(b.thread() < kSoftmaxThreads, [&] {
    storeRows(
        rows, [&](I32) { return RowSums{none, b.f32(0.0)}; },
        [&](I32, I32) { return SmallVector<F32>(2, b.f32(0.0)); });
  });
}

void DecodeKernel::finish(Work work, const RowState &state) {
  finished.wait(b.i32(0));
  tcgen05::FenceOp::create(b, tcgen05::FenceKind::After);

  // The last product had the weights of all threads, none of which needs the
  // memory of the maxima, of the weights and of the factors any more.
  Ptr sums = shared(plan.shared.maxima), parts = shared(plan.shared.weights),
      shifts = shared(plan.shared.rowFactors);
  for (int64_t row = 0; row < plan.rows; ++row) {
    F32 sum = b.groupSum(state.sums[row], 32);
    b.when(b.lane() == 0, [&] {
      b.store(sum, sums + (b.warp() * (plan.rows * 4) + 4 * row));
    });
    b.when(b.thread() == 0,
           [&] { b.store(state.negatedShifts[row] * -1.0, shifts + 4 * row); });
  }
  // part[row / 8][channel of the lane][row % 8][lane of tensor memory]
  int64_t channels = plan.channelsOfLane(), rows = rowsOfOutputLoad();
  for (int64_t row = 0; row < plan.rows; row += rows) {
    SmallVector<F32> values = loadOutput(row);
    tcgen05::WaitOp::create(b, tcgen05::WaitKind::Load);
    for (int64_t channel = 0; channel < channels; ++channel)
      for (int64_t i = 0; i < rows; ++i) {
        int64_t first = channel * plan.weightTerms * rows + i;
        F32 sum = values[first];
        for (int64_t term = 1; term < plan.weightTerms; ++term)
          sum = sum + values[first + term * rows];
        int64_t part = (row / 8 * channels + channel) * 8 + row % 8 + i;
        b.store(sum, parts + b.thread() * 4 + part * 4 * kTileTokens);
      }
  }
  syncThreads(b, kBarrier, kSoftmaxThreads);

  auto loadSums = [&](I32 row) {
    F32 total = b.f32(0.0);
    for (int64_t warp = 0; warp < 4; ++warp)
      total = total + b.loadF32(sums + (row * 4 + warp * plan.rows * 4));
    return RowSums{b.loadF32(shifts + row * 4), total};
  };
  auto load = [&](I32 row, I32 pair) {
    SmallVector<F32> values;
    for (int64_t parity = 0; parity < 2; ++parity) {
      auto [place, number] = placeOf(pair * 2 + parity);
      I32 part = (row / 8) * (8 * channels) + row % 8 + number * 8;
      Ptr from = parts + (part * kTileTokens + place) * 4;
      F32 sum = b.loadF32(from);
      for (int64_t group = 1; group < plan.groups(); ++group)
        sum = sum + b.loadF32(from + 4 * group * plan.groupTokens());
      values.push_back(sum);
    }
    return values;
  };
  storeRows(work.rows, loadSums, load);
}
