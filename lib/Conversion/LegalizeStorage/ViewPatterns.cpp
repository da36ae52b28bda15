//===- ViewPatterns.cpp - Buffers and views of low-bit elements -----------===//

#include "Patterns.h"
#include "kvq/Conversion/LegalizeStorage/LegalizeStorage.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using kvq::detail::isPackedMemRef;

bool kvq::detail::needsTypesOnly(Operation *op, bool packed) {
  if (isa<memref::DeallocOp, memref::CastOp, memref::CopyOp,
          memref::CollapseShapeOp, memref::ExtractAlignedPointerAsIndexOp,
          memref::MemorySpaceCastOp, memref::AssumeAlignmentOp,
          memref::DistinctObjectsOp, memref::TransposeOp, memref::RankOp,
          memref::GetGlobalOp, memref::AllocaScopeOp,
          memref::AllocaScopeReturnOp, arith::SelectOp, func::ConstantOp,
          func::CallIndirectOp, scf::ExecuteRegionOp, scf::IndexSwitchOp>(op))
    return true;
  return !packed &&
         isa<memref::AllocOp, memref::AllocaOp, memref::ReallocOp,
             memref::SubViewOp, memref::DimOp, memref::ExpandShapeOp,
             memref::ReinterpretCastOp, memref::ExtractStridedMetadataOp,
             memref::ReshapeOp, memref::ViewOp, memref::PrefetchOp>(op);
}

bool kvq::detail::hasViewPattern(Operation *op) {
  return isa<memref::AllocOp, memref::AllocaOp, memref::SubViewOp,
             memref::DimOp, memref::ExpandShapeOp, memref::ReinterpretCastOp,
             memref::ExtractStridedMetadataOp, memref::ViewOp, memref::GlobalOp,
             memref::PrefetchOp>(op);
}

namespace {

/// Half of an even number of elements, in bytes.
OpFoldResult halve(OpBuilder &builder, Location loc, OpFoldResult value) {
  if (std::optional<int64_t> constant = getConstantIntValue(value))
    return builder.getIndexAttr(*constant / 2);
  Value one = arith::ConstantIndexOp::create(builder, loc, 1);
  return arith::ShRSIOp::create(builder, loc, cast<Value>(value), one)
      .getResult();
}

/// The number of elements in some bytes.
Value twice(OpBuilder &builder, Location loc, Value value) {
  Value two = arith::ConstantIndexOp::create(builder, loc, 2);
  return builder.createOrFold<arith::MulIOp>(loc, value, two);
}

/// Recreates an operation with other types and no other change.
struct RetypeOp : ConversionPattern {
  RetypeOp(const TypeConverter &converter, MLIRContext *context)
      : ConversionPattern(converter, MatchAnyOpTypeTag(), 1, context) {}

  LogicalResult
  matchAndRewrite(Operation *op, ArrayRef<Value> operands,
                  ConversionPatternRewriter &rewriter) const override {
    bool packed = llvm::any_of(op->getOperandTypes(), isPackedMemRef) ||
                  llvm::any_of(op->getResultTypes(), isPackedMemRef);
    if (!kvq::detail::needsTypesOnly(op, packed))
      return rewriter.notifyMatchFailure(op, "types are not all it needs");
    SmallVector<Type> resultTypes;
    if (failed(typeConverter->convertTypes(op->getResultTypes(), resultTypes)))
      return rewriter.notifyMatchFailure(op, "no byte storage");
    OperationState state(op->getLoc(), op->getName(), operands, resultTypes,
                         op->getAttrs(), op->getSuccessors());
    for (unsigned i = 0; i < op->getNumRegions(); ++i)
      state.addRegion();
    Operation *retyped = rewriter.create(state);
    for (auto [from, to] :
         llvm::zip_equal(op->getRegions(), retyped->getRegions())) {
      rewriter.inlineRegionBefore(from, to, to.end());
      if (failed(rewriter.convertRegionTypes(&to, *typeConverter)))
        return rewriter.notifyMatchFailure(op, "no byte storage");
    }
    rewriter.replaceOp(op, retyped->getResults());
    return success();
  }
};

template <typename OpT>
struct AllocateBytes : OpConversionPattern<OpT> {
  using OpConversionPattern<OpT>::OpConversionPattern;

  LogicalResult
  matchAndRewrite(OpT op, typename OpT::Adaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    MemRefType type = op.getType();
    FailureOr<MemRefType> bytes;
    if (!isPackedMemRef(type) || failed(bytes = kvq::getByteStorageType(type)))
      return rewriter.notifyMatchFailure(op, "not 4-bit elements");
    SmallVector<Value> sizes(adaptor.getDynamicSizes());
    if (type.getRank() > 0 && type.isDynamicDim(type.getRank() - 1)) {
      // Rounded up: an odd size breaks the precondition, but is not to end in
      // a buffer that is too small.
      Value one = arith::ConstantIndexOp::create(rewriter, op.getLoc(), 1);
      Value up =
          arith::AddIOp::create(rewriter, op.getLoc(), sizes.back(), one);
      sizes.back() = arith::ShRUIOp::create(rewriter, op.getLoc(), up, one);
    }
    rewriter.replaceOpWithNewOp<OpT>(op, *bytes, sizes, ValueRange(),
                                     op.getAlignmentAttr());
    return success();
  }
};

struct SubViewBytes : OpConversionPattern<memref::SubViewOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(memref::SubViewOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    FailureOr<MemRefType> bytes;
    if (!isPackedMemRef(op.getType()) || op.getType().getRank() == 0 ||
        failed(bytes = kvq::getByteStorageType(op.getType())))
      return rewriter.notifyMatchFailure(op, "not 4-bit elements");
    SmallVector<OpFoldResult> offsets = op.getMixedOffsets();
    SmallVector<OpFoldResult> sizes = op.getMixedSizes();
    offsets.back() = halve(rewriter, op.getLoc(), offsets.back());
    sizes.back() = halve(rewriter, op.getLoc(), sizes.back());
    rewriter.replaceOpWithNewOp<memref::SubViewOp>(
        op, *bytes, adaptor.getSource(), offsets, sizes, op.getMixedStrides());
    return success();
  }
};

struct ReinterpretCastBytes : OpConversionPattern<memref::ReinterpretCastOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(memref::ReinterpretCastOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    FailureOr<MemRefType> bytes;
    if (!isPackedMemRef(op.getType()) ||
        failed(bytes = kvq::getByteStorageType(op.getType())))
      return rewriter.notifyMatchFailure(op, "not 4-bit elements");
    Location loc = op.getLoc();
    OpFoldResult offset = halve(rewriter, loc, op.getMixedOffsets().front());
    SmallVector<OpFoldResult> sizes = op.getMixedSizes();
    SmallVector<OpFoldResult> strides = op.getMixedStrides();
    if (!sizes.empty()) {
      sizes.back() = halve(rewriter, loc, sizes.back());
      for (OpFoldResult &stride :
           MutableArrayRef<OpFoldResult>(strides).drop_back())
        stride = halve(rewriter, loc, stride);
    }
    rewriter.replaceOpWithNewOp<memref::ReinterpretCastOp>(
        op, *bytes, adaptor.getSource(), offset, sizes, strides);
    return success();
  }
};

/// Sizes, strides and offset are in elements before and after.
struct MetadataOfBytes : OpConversionPattern<memref::ExtractStridedMetadataOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(memref::ExtractStridedMetadataOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    if (!isPackedMemRef(op.getSource().getType()))
      return rewriter.notifyMatchFailure(op, "not 4-bit elements");
    Location loc = op.getLoc();
    auto bytes = memref::ExtractStridedMetadataOp::create(rewriter, loc,
                                                          adaptor.getSource());
    SmallVector<Value> results = {bytes.getBaseBuffer(),
                                  twice(rewriter, loc, bytes.getOffset())};
    SmallVector<Value> sizes(bytes.getSizes());
    SmallVector<Value> strides(bytes.getStrides());
    if (!sizes.empty()) {
      sizes.back() = twice(rewriter, loc, sizes.back());
      for (Value &stride : MutableArrayRef<Value>(strides).drop_back())
        stride = twice(rewriter, loc, stride);
    }
    llvm::append_range(results, sizes);
    llvm::append_range(results, strides);
    rewriter.replaceOp(op, results);
    return success();
  }
};

struct ExpandShapeBytes : OpConversionPattern<memref::ExpandShapeOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(memref::ExpandShapeOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    FailureOr<MemRefType> bytes;
    if (!isPackedMemRef(op.getResultType()) ||
        failed(bytes = kvq::getByteStorageType(op.getResultType())))
      return rewriter.notifyMatchFailure(op, "not 4-bit elements");
    SmallVector<OpFoldResult> shape = getMixedValues(
        op.getStaticOutputShape(), adaptor.getOutputShape(), rewriter);
    shape.back() = halve(rewriter, op.getLoc(), shape.back());
    rewriter.replaceOpWithNewOp<memref::ExpandShapeOp>(
        op, *bytes, adaptor.getSrc(), op.getReassociationIndices(), shape);
    return success();
  }
};

struct ViewBytes : OpConversionPattern<memref::ViewOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(memref::ViewOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    MemRefType type = op.getType();
    FailureOr<MemRefType> bytes;
    if (!isPackedMemRef(type) || failed(bytes = kvq::getByteStorageType(type)))
      return rewriter.notifyMatchFailure(op, "not 4-bit elements");
    SmallVector<Value> sizes(adaptor.getSizes());
    if (type.getRank() > 0 && type.isDynamicDim(type.getRank() - 1))
      sizes.back() = getValueOrCreateConstantIndexOp(
          rewriter, op.getLoc(), halve(rewriter, op.getLoc(), sizes.back()));
    rewriter.replaceOpWithNewOp<memref::ViewOp>(op, *bytes, adaptor.getSource(),
                                                adaptor.getByteShift(), sizes);
    return success();
  }
};

/// The byte of the element that is prefetched.
struct PrefetchBytes : OpConversionPattern<memref::PrefetchOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(memref::PrefetchOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    if (!kvq::detail::isPackedMemRef(op.getMemref().getType()))
      return rewriter.notifyMatchFailure(op, "not 4-bit elements");
    SmallVector<Value> indices(adaptor.getIndices());
    if (!indices.empty()) {
      Value one = arith::ConstantIndexOp::create(rewriter, op.getLoc(), 1);
      indices.back() = rewriter.createOrFold<arith::ShRUIOp>(
          op.getLoc(), indices.back(), one);
    }
    rewriter.replaceOpWithNewOp<memref::PrefetchOp>(
        op, adaptor.getMemref(), indices, op.getIsWrite(), op.getLocalityHint(),
        op.getIsDataCache());
    return success();
  }
};

struct DimOfBytes : OpConversionPattern<memref::DimOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(memref::DimOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    auto type = dyn_cast<MemRefType>(op.getSource().getType());
    if (!type || !isPackedMemRef(type))
      return rewriter.notifyMatchFailure(op, "not 4-bit elements");
    Location loc = op.getLoc();
    Value size = memref::DimOp::create(rewriter, loc, adaptor.getSource(),
                                       adaptor.getIndex());
    int64_t innermost = type.getRank() - 1;
    if (std::optional<int64_t> index = op.getConstantIndex()) {
      rewriter.replaceOp(op, *index == innermost ? twice(rewriter, loc, size)
                                                 : size);
      return success();
    }
    Value last = arith::ConstantIndexOp::create(rewriter, loc, innermost);
    Value isLast = arith::CmpIOp::create(
        rewriter, loc, arith::CmpIPredicate::eq, adaptor.getIndex(), last);
    rewriter.replaceOpWithNewOp<arith::SelectOp>(
        op, isLast, twice(rewriter, loc, size), size);
    return success();
  }
};

/// The bytes of the initial value `elements`, as a constant of shape `type`.
DenseElementsAttr packElements(DenseElementsAttr elements, MemRefType type) {
  bool packed = isa<Float4E2M1FNType>(elements.getElementType());
  auto tensor = RankedTensorType::get(type.getShape(), type.getElementType());
  SmallVector<APInt> bytes;
  for (auto [i, value] : llvm::enumerate(elements.getValues<APFloat>())) {
    APInt bits = value.bitcastToAPInt().zext(8);
    if (packed && i % 2 != 0)
      bytes.back() |= bits << 4;
    else
      bytes.push_back(bits);
  }
  return DenseElementsAttr::get(tensor, bytes);
}

struct GlobalBytes : OpConversionPattern<memref::GlobalOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(memref::GlobalOp op, OpAdaptor,
                  ConversionPatternRewriter &rewriter) const override {
    auto type =
        dyn_cast_or_null<MemRefType>(typeConverter->convertType(op.getType()));
    if (!type)
      return rewriter.notifyMatchFailure(op, "no byte storage");
    rewriter.modifyOpInPlace(op, [&] {
      op.setType(type);
      if (auto elements =
              dyn_cast_or_null<DenseElementsAttr>(op.getInitialValueAttr()))
        op.setInitialValueAttr(packElements(elements, type));
    });
    return success();
  }
};

} // namespace

void kvq::detail::populateViewPatterns(const TypeConverter &converter,
                                       RewritePatternSet &patterns) {
  patterns.add<RetypeOp, AllocateBytes<memref::AllocOp>,
               AllocateBytes<memref::AllocaOp>, SubViewBytes,
               ReinterpretCastBytes, MetadataOfBytes, ExpandShapeBytes,
               ViewBytes, DimOfBytes, GlobalBytes, PrefetchBytes>(
      converter, patterns.getContext());
}
