//===- DecomposeMergeStates.cpp - Decompose the merge of partial results --===//

#include "DecomposePatterns.h"
#include "kvq/Dialect/KVQ/Transforms/LoopBuilder.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace kvq;
using namespace kvq::decompose;

namespace {

struct DecomposeMergeStates : public DecomposePattern<MergeStatesOp> {
  using DecomposePattern::DecomposePattern;

  void decompose(MergeStatesOp op, OpBuilder &builder) const override {
    LoopBuilder b(op.getLoc(), builder);
    Value output = op.getOutput();
    auto outputType = cast<MemRefType>(output.getType());
    Value parts = b.size(op.getPartialLse(), 0);
    Value headDim = b.size(output, outputType.getRank() - 1);
    Value zero = b.index(0);
    Value none = b.f64(-std::numeric_limits<double>::infinity());

    b.nest(b.sizes(output, /*drop=*/1), [&](ValueRange row) {
      auto indicesOf = [&](Value part) {
        SmallVector<Value> indices{part};
        llvm::append_range(indices, row);
        return indices;
      };
      auto loadLse = [&](Value part) {
        return b.toF64(b.load(op.getPartialLse(), indicesOf(part)));
      };
      Value largest = b.reduce(zero, parts, none, [&](Value part, Value max) {
        Value lse = loadLse(part);
        return b.select(b.isGreater(lse, max), lse, max);
      });
      // Parts without keys count nothing, and their outputs are not read.
      auto sum = [&](function_ref<Value(Value part, Value weight)> getTerm) {
        return b.reduce(zero, parts, b.f64(0), [&](Value part, Value sum) {
          Value lse = loadLse(part);
          return b.choose(
              b.isNotEqual(lse, none), b.getF64Type(),
              [&] {
                Value weight = math::ExpOp::create(
                    b, arith::SubFOp::create(b, lse, largest));
                Value term = getTerm(part, weight);
                return arith::AddFOp::create(b, sum, term).getResult();
              },
              [&] { return sum; });
        });
      };
      Value denominator = sum([](Value, Value weight) { return weight; });
      Value hasKeys = b.isNotEqual(largest, none);
      b.loop(zero, headDim, [&](Value d) {
        Value numerator = sum([&](Value part, Value weight) -> Value {
          Value o = b.toF64(
              b.load(op.getPartialOutput(), withIndex(indicesOf(part), d)));
          return arith::MulFOp::create(b, weight, o);
        });
        Value quotient = arith::DivFOp::create(b, numerator, denominator);
        Value value = b.select(hasKeys, quotient, b.f64(0));
        b.store(b.fromF64(value, outputType.getElementType()), output,
                withIndex(row, d));
      });
      if (!op.getLse())
        return;
      Value log = math::LogOp::create(b, denominator);
      Value sumOfLogs = arith::AddFOp::create(b, largest, log);
      Value lse = b.select(hasKeys, sumOfLogs, none);
      b.store(b.fromF64(lse, b.getF32Type()), op.getLse(), row);
    });
  }
};

} // namespace

void kvq::decompose::populateMergeStatesPatterns(RewritePatternSet &patterns) {
  patterns.add<DecomposeMergeStates>(patterns.getContext());
}
