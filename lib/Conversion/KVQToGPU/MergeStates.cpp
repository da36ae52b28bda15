//===- MergeStates.cpp - The kernel of kvq.merge_states -------------------===//
//
// A thread combines 8 elements of a row. The parts are added in their order.
//
//===----------------------------------------------------------------------===//

#include "Arrays.h"
#include "Kernels.h"
#include <limits>

using namespace mlir;
using namespace kvq;
using namespace kvq::kernel;

void kvq::kernel::emitKernel(MergeStatesOp op, OpBuilder &host,
                             KernelTarget target) {
  KernelLaunch kernel(host, target.module, target.chip, op, "merge_states");
  KernelBuilder &b = kernel.body();
  constexpr int64_t chunk = 8;
  Array partialOutput(kernel, "partial_output", op.getPartialOutput(),
                      Access::Read, chunk);
  Array partialLse(kernel, "partial_lse", op.getPartialLse(), Access::Read);
  Array output(kernel, "output", op.getOutput(), Access::Write, chunk);
  std::optional<Array> lse;
  if (op.getLse())
    lse.emplace(kernel, "lse", op.getLse(), Access::Write);

  SmallVector<Size> sizes;
  for (int64_t dimension = 0; dimension + 1 < output.getRank(); ++dimension)
    sizes.push_back(output.size(dimension));
  sizes.push_back(getChunks(kernel, output.size(output.getRank() - 1), chunk));
  I32 parts = partialLse.size(0).value;
  Items items(kernel, sizes);
  items.forEach([&](ArrayRef<I32> at) {
    ArrayRef<I32> row = at.drop_back();
    I32 first = at.back() * chunk;
    auto ofPart = [&](I32 part) {
      SmallVector<I32> indices{part};
      llvm::append_range(indices, row);
      return indices;
    };
    auto loadLse = [&](I32 part) {
      return b.loadF32(partialLse.element(ofPart(part)));
    };
    F32 none = b.f32(-std::numeric_limits<double>::infinity());
    F32 largest =
        b.reduce<F32>(b.i32(0), parts, 1, none, [&](I32 part, F32 sofar) {
          return sofar.max(loadLse(part));
        });
    Pred isEmpty = largest == none;
    F32 shift = isEmpty.select(b.f32(0.0), largest);

    // The sums of the elements, and behind them that of the weights.
    constexpr double log2e = 1.4426950408889634, ln2 = 0.6931471805599453;
    SmallVector<Value> zeros(chunk + 1, b.f32(0.0));
    SmallVector<Value> sums =
        b.carry(b.i32(0), parts, 1, zeros, [&](I32 part, ValueRange carried) {
          F32 weight = ((loadLse(part) - shift) * log2e).exp2();
          Row from = partialOutput.row(ofPart(part));
          SmallVector<F32> values = decodeElements(
              b, from.element, loadElements(b, from, first, chunk));
          SmallVector<Value> next;
          for (auto [value, sum] : llvm::zip(values, carried)) {
            // The output of a part without keys counts nothing, whatever it
            // is.
            F32 term = (weight == 0.0).select(b.f32(0.0), value);
            next.push_back(term.fma(weight, {b, sum}));
          }
          next.push_back(F32(b, carried.back()) + weight);
          return next;
        });
    F32 denominator(b, sums.pop_back_val());
    SmallVector<F32> results;
    for (Value sum : sums)
      results.push_back(isEmpty.select(b.f32(0.0), F32(b, sum) / denominator));
    Row to = output.row(row);
    storeElements(b, encodeElements(b, to.element, results), to, first);
    if (!lse)
      return;
    b.when(at.back() == 0, [&] {
      F32 sum = shift + denominator.log2() * ln2;
      b.store(isEmpty.select(none, sum), lse->element(row));
    });
  });
  items.launch();
}
