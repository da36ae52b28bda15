//===- MergeToVector.cpp - Lower the merge of partial results -------------===//

#include "Patterns.h"
#include "QuantizeRow.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include <limits>

using namespace mlir;
using namespace kvq;
using namespace kvq::detail;

namespace {

struct MergeStatesToVector : public ToVectorPattern<MergeStatesOp> {
  using ToVectorPattern::ToVectorPattern;

  void emit(MergeStatesOp op, VectorBuilder &b) const override {
    Value output = op.getOutput(), partialLse = op.getPartialLse();
    auto type = cast<MemRefType>(output.getType());
    Value parts = b.size(partialLse, 0);
    Value size = b.size(output, type.getRank() - 1);
    Value zero = b.index(0);
    Value none = b.f32(-std::numeric_limits<double>::infinity());
    auto isNone = [&](Value lse) {
      return b.isEqualF(lse, -std::numeric_limits<double>::infinity());
    };
    b.parallel(b.sizes(output, /*drop=*/1), [&](ValueRange row) {
      auto indicesOf = [&](Value part) {
        SmallVector<Value> indices{part};
        llvm::append_range(indices, row);
        return indices;
      };
      auto reduce = [&](Value init,
                        function_ref<Value(Value part, Value sum)> body) {
        return b
            .carry(zero, parts, 1, init,
                   [&](Value part, ValueRange carried) {
                     return SmallVector<Value>{body(part, carried[0])};
                   })
            .front();
      };
      Value largest = reduce(none, [&](Value part, Value largest) {
        return b.maxF(b.load(partialLse, indicesOf(part)), largest);
      });
      Value isEmpty = isNone(largest);
      Value shift = b.select(isEmpty, b.f32(0), largest);
      auto emitWeight = [&](Value part) {
        Value lse = b.load(partialLse, indicesOf(part));
        return b.expOfNegative(b.subF(lse, shift));
      };
      Value denominator = reduce(b.f32(0), [&](Value part, Value sum) {
        return b.addF(sum, emitWeight(part));
      });
      emitRuns(b, size, 16, [&](Value d, int64_t lanes) {
        Type vector = lanes > 1 ? Type(b.f32x(lanes)) : b.getF32Type();
        Value zeros = b.constantLike(vector, 0.0);
        Value sum = reduce(zeros, [&](Value part, Value sum) {
          Value values = b.toF32(loadRun(b, op.getPartialOutput(),
                                         withIndex(indicesOf(part), d), lanes));
          // The output of a part without keys counts nothing, whatever it is.
          Value weight = emitWeight(part);
          values = b.select(b.isEqualF(weight, 0.0), zeros, values);
          return b.fma(values, weight, sum);
        });
        Value result = b.select(isEmpty, zeros, b.divF(sum, denominator));
        storeRun(b, b.fromF32(result, type.getElementType()), output,
                 withIndex(row, d));
      });
      if (!op.getLse())
        return;
      Value lse = b.addF(largest, math::LogOp::create(b, denominator));
      b.store(b.select(isEmpty, none, lse), op.getLse(), row);
    });
  }
};

} // namespace

void kvq::detail::populateMergePatterns(RewritePatternSet &patterns) {
  patterns.add<MergeStatesToVector>(patterns.getContext());
}
