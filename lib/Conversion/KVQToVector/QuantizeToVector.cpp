//===- QuantizeToVector.cpp - Lower operations on plain arrays ------------===//

#include "Patterns.h"
#include "QuantizeRow.h"
#include "kvq/Dialect/KVQ/IR/KVQScaleLayouts.h"

using namespace mlir;
using namespace kvq;
using namespace kvq::detail;

namespace {

struct QuantizeToVector : public ToVectorPattern<QuantizeOp> {
  using ToVectorPattern::ToVectorPattern;

  void emit(QuantizeOp op, VectorBuilder &b) const override {
    int64_t rank = cast<MemRefType>(op.getInput().getType()).getRank();
    Value size = b.size(op.getInput(), rank - 1);
    b.parallel(b.sizes(op.getInput(), /*drop=*/1), [&](ValueRange row) {
      auto storeScale = [&](Value s, Value scale) {
        b.store(scale, op.getScales(), withIndex(row, s));
      };
      auto load = [&](Value d, int64_t lanes) {
        return b.toF32(loadRun(b, op.getInput(), withIndex(row, d), lanes));
      };
      emitQuantizeRow(b, op.getFormat(), op.getFourOverSix(),
                      op.getGlobalScale(), size,
                      {load, op.getData(), llvm::to_vector(row), storeScale});
    });
  }
};

struct DequantizeToVector : public ToVectorPattern<DequantizeOp> {
  using ToVectorPattern::ToVectorPattern;

  void emit(DequantizeOp op, VectorBuilder &b) const override {
    KVFormatInterface format = op.getFormat();
    auto type = cast<MemRefType>(op.getOutput().getType());
    Value size = b.size(op.getOutput(), type.getRank() - 1);
    b.parallel(b.sizes(op.getOutput(), /*drop=*/1), [&](ValueRange row) {
      auto decode = [&](Value d, int64_t lanes, Value scale) {
        Value elements = loadRun(b, op.getData(), withIndex(row, d), lanes);
        Value values = format.emitDecode(b, b.getLoc(), elements, scale,
                                         op.getGlobalScale());
        storeRun(b, b.fromF32(values, type.getElementType()), op.getOutput(),
                 withIndex(row, d));
      };
      if (!format.hasBlockScale()) {
        emitRuns(b, size, 16, [&](Value d, int64_t lanes) {
          decode(d, lanes, /*scale=*/{});
        });
        return;
      }
      int64_t block = format.getBlockSize();
      b.loop(b.index(0), size, block, [&](Value d) {
        Value s = b.div(d, block);
        decode(d, block, b.load(op.getScales(), withIndex(row, s)));
      });
    });
  }
};

struct ConvertScaleLayoutToVector
    : public ToVectorPattern<ConvertScaleLayoutOp> {
  using ToVectorPattern::ToVectorPattern;

  void emit(ConvertScaleLayoutOp op, VectorBuilder &b) const override {
    bool isNHD = op.getKvLayout() == KVLayout::NHD;
    Value pages = b.size(op.getInput(), 0);
    Value rows = b.size(op.getInput(), isNHD ? 1 : 2);
    Value heads = b.size(op.getInput(), isNHD ? 2 : 1);
    Value columns = b.size(op.getInput(), 3);
    b.parallel({pages, heads}, [&](ValueRange at) {
      auto indices = [&](std::pair<Value, Value> position) {
        if (isNHD)
          return SmallVector<Value>{at[0], position.first, at[1],
                                    position.second};
        return SmallVector<Value>{at[0], at[1], position.first,
                                  position.second};
      };
      b.loop(b.index(0), rows, 1, [&](Value row) {
        b.loop(b.index(0), columns, 1, [&](Value column) {
          auto position = [&](ScaleLayout layout) {
            return indices(
                emitScalePosition(b, b.getLoc(), layout, row, column, columns));
          };
          b.store(b.load(op.getInput(), position(op.getFrom())), op.getOutput(),
                  position(op.getTo()));
        });
      });
    });
  }
};

} // namespace

void kvq::detail::populateQuantizePatterns(RewritePatternSet &patterns) {
  patterns
      .add<QuantizeToVector, DequantizeToVector, ConvertScaleLayoutToVector>(
          patterns.getContext());
}
