//===- LowerFPConversions.cpp - Low-bit float conversions -----------------===//

#include "kvq/Conversion/LowerFPConversions/LowerFPConversions.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Transforms/WalkPatternRewriteDriver.h"

namespace kvq {
#define GEN_PASS_DEF_LOWERFPCONVERSIONS
#include "kvq/Conversion/Passes.h.inc"
} // namespace kvq

using namespace mlir;

namespace {

bool isLowBit(Type type) {
  return isa<Float4E2M1FNType, Float8E4M3FNType, Float8E8M0FNUType>(type);
}

/// True if the pass is responsible for a conversion between the two types.
bool isOurs(Type from, Type to) {
  if (!kvq::hasFloatBits(from) || !kvq::hasFloatBits(to))
    return false;
  // Of the conversions between wide types f32 <-> bf16 are ours: hardware
  // conversions to bf16 flush subnormals. bf16 -> f32 goes with it.
  return isLowBit(from) || isLowBit(to) ||
         (!isa<Float16Type>(from) && !isa<Float16Type>(to));
}

bool isOurs(Operation *op) {
  return isOurs(getElementTypeOrSelf(op->getOperand(0)),
                getElementTypeOrSelf(op->getResult(0)));
}

/// Constants of the operation's shape are needed, so that it must be static.
bool isStatic(Operation *op) {
  auto shaped = dyn_cast<ShapedType>(op->getResult(0).getType());
  return !shaped || shaped.hasStaticShape();
}

/// An f16 from the bits of an f32 that f16 holds as zero, normal or NaN, which
/// is so for all E2M1 and E4M3 values: the exponent is rebased from 127 to 15.
/// The clamps set right zero, whose exponent would be negative, and NaN.
Value buildExactF16(OpBuilder &builder, Location loc, Value bits) {
  Type i32 = bits.getType();
  auto constant = [&](int32_t value) -> Value {
    TypedAttr attr = builder.getI32IntegerAttr(value);
    if (auto shaped = dyn_cast<ShapedType>(i32))
      attr = DenseElementsAttr::get(shaped, cast<Attribute>(attr));
    return arith::ConstantOp::create(builder, loc, attr);
  };
  Value magnitude =
      arith::AndIOp::create(builder, loc, bits, constant(0x7fffffff));
  magnitude = arith::ShRUIOp::create(builder, loc, magnitude, constant(13));
  magnitude =
      arith::SubIOp::create(builder, loc, magnitude, constant(112 << 10));
  magnitude = arith::MaxSIOp::create(builder, loc, magnitude, constant(0));
  magnitude = arith::MinSIOp::create(builder, loc, magnitude, constant(0x7e00));
  Value sign = arith::ShRUIOp::create(builder, loc, bits, constant(16));
  sign = arith::AndIOp::create(builder, loc, sign, constant(0x8000));
  Value half = arith::OrIOp::create(builder, loc, magnitude, sign);
  auto clone = [&](Type elementType) -> Type {
    if (auto shaped = dyn_cast<ShapedType>(i32))
      return shaped.clone(elementType);
    return elementType;
  };
  half =
      arith::TruncIOp::create(builder, loc, clone(builder.getI16Type()), half);
  return arith::BitcastOp::create(builder, loc, clone(builder.getF16Type()),
                                  half);
}

struct LowerExtF : OpRewritePattern<arith::ExtFOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(arith::ExtFOp op,
                                PatternRewriter &rewriter) const override {
    if (!isOurs(op) || !isStatic(op))
      return rewriter.notifyMatchFailure(op, "types are not ours");
    Type from = getElementTypeOrSelf(op.getIn());
    Type to = getElementTypeOrSelf(op.getOut());
    if (isa<Float8E8M0FNUType>(from) && isa<Float16Type>(to))
      return rewriter.notifyMatchFailure(op, "f16 has not the range of E8M0");
    Value bits = kvq::buildF32Bits(rewriter, op.getLoc(), op.getIn());
    Value result = isa<Float16Type>(to)
                       ? buildExactF16(rewriter, op.getLoc(), bits)
                       : kvq::buildFromF32Bits(rewriter, op.getLoc(), bits, to);
    rewriter.replaceOp(op, result);
    return success();
  }
};

struct LowerTruncF : OpRewritePattern<arith::TruncFOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(arith::TruncFOp op,
                                PatternRewriter &rewriter) const override {
    if (!isOurs(op) || !isStatic(op))
      return rewriter.notifyMatchFailure(op, "types are not ours");
    if (op.getRoundingmode().value_or(arith::RoundingMode::to_nearest_even) !=
        arith::RoundingMode::to_nearest_even)
      return rewriter.notifyMatchFailure(op, "rounds to nearest even only");
    Value bits = kvq::buildF32Bits(rewriter, op.getLoc(), op.getIn());
    rewriter.replaceOp(
        op, kvq::buildFromF32Bits(rewriter, op.getLoc(), bits,
                                  getElementTypeOrSelf(op.getOut())));
    return success();
  }
};

struct LowerFPConversions
    : kvq::impl::LowerFPConversionsBase<LowerFPConversions> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    kvq::populateLowerFPConversionsPatterns(patterns);
    walkAndApplyPatterns(getOperation(), std::move(patterns));

    WalkResult result = getOperation()->walk([](Operation *op) {
      if (!isa<arith::ExtFOp, arith::TruncFOp>(op) || !isOurs(op))
        return WalkResult::advance();
      Type from = getElementTypeOrSelf(op->getOperand(0));
      Type to = getElementTypeOrSelf(op->getResult(0));
      // bf16 with another rounding mode is upstream's matter.
      if (!isLowBit(from) && !isLowBit(to))
        return WalkResult::advance();
      if (!isStatic(op))
        op->emitOpError("converts low-bit floats in ")
            << op->getResult(0).getType()
            << "; scalars, vectors and tensors of static shape are accepted";
      else if (isa<arith::ExtFOp>(op))
        op->emitOpError("converts ")
            << from << " to " << to
            << ", which has not its range; convert to f32 or bf16 instead";
      else
        op->emitOpError("has a rounding mode that conversions to ")
            << to << " do not support; only to_nearest_even is";
      return WalkResult::interrupt();
    });
    if (result.wasInterrupted())
      signalPassFailure();
  }
};

} // namespace

void kvq::populateLowerFPConversionsPatterns(RewritePatternSet &patterns) {
  patterns.add<LowerExtF, LowerTruncF>(patterns.getContext());
}
