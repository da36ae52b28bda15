//===- DecomposeQuantize.cpp - Decompose operations on plain arrays -------===//

#include "DecomposePatterns.h"
#include "EmitBlock.h"
#include "kvq/Dialect/KVQ/IR/KVQScaleLayouts.h"
#include "kvq/Dialect/KVQ/IR/KVQStrictFloat.h"
#include "kvq/Dialect/KVQ/Transforms/LoopBuilder.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace kvq;
using namespace kvq::decompose;

/// Emits the largest magnitude among the values `begin` to `end` - 1 of a row,
/// NaN ignored. Bits of magnitudes order as the magnitudes do, whatever a
/// processor does with subnormals.
static Value emitLargestMagnitude(LoopBuilder &b, Value begin, Value end,
                                  function_ref<Value(Value)> load) {
  Type i32 = b.getI32Type();
  auto constant = [&](int32_t bits) {
    return arith::ConstantOp::create(b, b.getI32IntegerAttr(bits)).getResult();
  };
  Value zero = constant(0), magnitude = constant(0x7fffffff),
        infinity = constant(0x7f800000);
  Value bits = b.reduce(begin, end, zero, [&](Value d, Value largest) {
    Value x = arith::BitcastOp::create(b, i32, load(d));
    x = arith::AndIOp::create(b, x, magnitude);
    Value isNaN =
        arith::CmpIOp::create(b, arith::CmpIPredicate::ugt, x, infinity);
    x = arith::SelectOp::create(b, isNaN, zero, x);
    return arith::MaxUIOp::create(b, largest, x).getResult();
  });
  return arith::BitcastOp::create(b, b.getF32Type(), bits);
}

/// Emits the sum, in the order of the elements, of the squared errors of
/// values `begin` to `end` - 1 under `scale`: an f64 that holds an f32.
static Value emitSquaredError(LoopBuilder &b, KVFormatInterface format,
                              Value globalScale, Value scale, Value begin,
                              Value end, function_ref<Value(Value)> load) {
  Location loc = b.getLoc();
  return b.reduce(begin, end, b.f64(0), [&](Value d, Value sum) {
    Value x = load(d);
    Value element = format.emitEncode(b, loc, x, scale, globalScale);
    Value decoded = format.emitDecode(b, loc, element, scale, globalScale);
    Value error = emitStrictRound(
        b, loc,
        arith::SubFOp::create(b, emitStrictWiden(b, loc, x),
                              emitStrictWiden(b, loc, decoded)));
    Value square =
        emitStrictRound(b, loc, arith::MulFOp::create(b, error, error));
    return emitStrictRound(b, loc, arith::AddFOp::create(b, sum, square));
  });
}

Value kvq::decompose::emitScaleOfBlock(LoopBuilder &b, KVFormatInterface format,
                                       bool fourOverSix, Value globalScale,
                                       Value begin, Value end,
                                       function_ref<Value(Value)> load) {
  Value largest = emitLargestMagnitude(b, begin, end, load);
  Value scale = format.emitBlockScale(b, b.getLoc(), largest, globalScale,
                                      format.getLargestMagnitude());
  if (!fourOverSix)
    return scale;
  Value other = format.emitBlockScale(b, b.getLoc(), largest, globalScale, 4.0);
  auto error = [&](Value candidate) {
    return emitSquaredError(b, format, globalScale, candidate, begin, end,
                            load);
  };
  Value errorOfSix = error(scale), errorOfFour = error(other);
  Value isBetter = arith::CmpFOp::create(b, arith::CmpFPredicate::OLT,
                                         errorOfFour, errorOfSix);
  return arith::SelectOp::create(b, isBetter, other, scale);
}

void kvq::decompose::emitQuantizeRow(LoopBuilder &b, KVFormatInterface format,
                                     bool fourOverSix, Value globalScale,
                                     Value size, const RowAccess &row) {
  auto encode = [&](Value begin, Value end, Value scale) {
    b.loop(begin, end, [&](Value d) {
      row.storeElement(
          d, format.emitEncode(b, b.getLoc(), row.load(d), scale, globalScale));
    });
  };
  if (!format.hasBlockScale()) {
    encode(b.index(0), size, /*scale=*/{});
    return;
  }
  Value block = b.index(format.getBlockSize());
  b.loop(b.index(0), b.div(size, block), [&](Value s) {
    Value begin = b.mul(s, block), end = b.add(begin, block);
    Value scale = emitScaleOfBlock(b, format, fourOverSix, globalScale, begin,
                                   end, row.load);
    row.storeScale(s, scale);
    encode(begin, end, scale);
  });
}

namespace {

struct DecomposeQuantize : public DecomposePattern<QuantizeOp> {
  using DecomposePattern::DecomposePattern;

  void decompose(QuantizeOp op, OpBuilder &builder) const override {
    LoopBuilder b(op.getLoc(), builder);
    int64_t rank = cast<MemRefType>(op.getInput().getType()).getRank();
    Value size = b.size(op.getInput(), rank - 1);
    b.nest(b.sizes(op.getInput(), /*drop=*/1), [&](ValueRange row) {
      auto load = [&](Value d) {
        return b.toF32(b.load(op.getInput(), withIndex(row, d)));
      };
      auto storeElement = [&](Value d, Value element) {
        b.store(element, op.getData(), withIndex(row, d));
      };
      auto storeScale = [&](Value s, Value scale) {
        b.store(scale, op.getScales(), withIndex(row, s));
      };
      emitQuantizeRow(b, op.getFormat(), op.getFourOverSix(),
                      op.getGlobalScale(), size,
                      {load, storeElement, storeScale});
    });
  }
};

struct DecomposeDequantize : public DecomposePattern<DequantizeOp> {
  using DecomposePattern::DecomposePattern;

  void decompose(DequantizeOp op, OpBuilder &builder) const override {
    LoopBuilder b(op.getLoc(), builder);
    KVFormatInterface format = op.getFormat();
    Type type = cast<MemRefType>(op.getOutput().getType()).getElementType();
    b.nest(b.sizes(op.getOutput()), [&](ValueRange indices) {
      Value scale;
      if (format.hasBlockScale()) {
        Value s = b.div(indices.back(), b.index(format.getBlockSize()));
        scale = b.load(op.getScales(), withIndex(indices.drop_back(), s));
      }
      Value value =
          format.emitDecode(b, b.getLoc(), b.load(op.getData(), indices), scale,
                            op.getGlobalScale());
      b.store(b.fromF32(value, type), op.getOutput(), indices);
    });
  }
};

struct DecomposeConvertScaleLayout
    : public DecomposePattern<ConvertScaleLayoutOp> {
  using DecomposePattern::DecomposePattern;

  void decompose(ConvertScaleLayoutOp op, OpBuilder &builder) const override {
    LoopBuilder b(op.getLoc(), builder);
    bool isNHD = op.getKvLayout() == KVLayout::NHD;
    Value pages = b.size(op.getInput(), 0);
    Value rows = b.size(op.getInput(), isNHD ? 1 : 2);
    Value heads = b.size(op.getInput(), isNHD ? 2 : 1);
    Value columns = b.size(op.getInput(), 3);
    b.nest({pages, heads, rows, columns}, [&](ValueRange ivs) {
      Value page = ivs[0], head = ivs[1];
      auto position = [&](ScaleLayout layout) -> SmallVector<Value> {
        auto [row, column] =
            emitScalePosition(b, b.getLoc(), layout, ivs[2], ivs[3], columns);
        if (isNHD)
          return {page, row, head, column};
        return {page, head, row, column};
      };
      Value scale = b.load(op.getInput(), position(op.getFrom()));
      b.store(scale, op.getOutput(), position(op.getTo()));
    });
  }
};

} // namespace

void kvq::decompose::populateQuantizePatterns(RewritePatternSet &patterns) {
  patterns
      .add<DecomposeQuantize, DecomposeDequantize, DecomposeConvertScaleLayout>(
          patterns.getContext());
}
