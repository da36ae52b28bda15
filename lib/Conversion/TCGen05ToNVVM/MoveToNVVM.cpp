//===- MoveToNVVM.cpp - Copies, loads and stores --------------------------===//

#include "Patterns.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace kvq::tcgen05;

static NVVM::Tcgen05LdStShapeAttr shapeAttr(MLIRContext *context,
                                            AccessShape shape) {
  using Upstream = NVVM::Tcgen05LdStShape;
  static_assert(int(AccessShape::S16x64b) == int(Upstream::SHAPE_16X64B) &&
                int(AccessShape::S16x128b) == int(Upstream::SHAPE_16X128B) &&
                int(AccessShape::S16x256b) == int(Upstream::SHAPE_16X256B) &&
                int(AccessShape::S32x32b) == int(Upstream::SHAPE_32X32B) &&
                int(AccessShape::S16x32bx2) == int(Upstream::SHAPE_16X32BX2));
  return NVVM::Tcgen05LdStShapeAttr::get(context, static_cast<Upstream>(shape));
}

/// The vector of `registers` words of 32 bits, or i32 for one.
static Type registerType(OpBuilder &builder, int64_t registers) {
  Type i32 = builder.getI32Type();
  return registers == 1 ? i32 : VectorType::get({registers}, i32);
}

/// The address of a load or store: quarter of the warp, lane and column.
template <typename Op>
static Value accessAddress(OpBuilder &builder, Op op,
                           typename Op::Adaptor adaptor, TMemType region,
                           Value pointer) {
  Location loc = op.getLoc();
  Type i32 = builder.getI32Type();
  // The pointer has the lane of the region; the access gives absolute ones,
  // but for a region inside a single quarter.
  bool single =
      region.getPlacement() == Placement::Straight && region.getRows() == 32;
  int64_t lanes =
      static_cast<int64_t>(op.getLane()) - (single ? 0 : region.getLane());
  int64_t words = 0;
  if (op.getStaticColumn())
    words = region.getWordOf(*op.getStaticColumn());
  pointer = offsetTensor(builder, loc, pointer, lanes, words);
  auto add = [&](Value offset) {
    pointer = LLVM::GEPOp::create(builder, loc, pointer.getType(),
                                  builder.getI8Type(), pointer,
                                  ArrayRef<LLVM::GEPArg>{offset});
  };
  if (Value column = adaptor.getColumn()) {
    if (column.getType() != i32)
      column = LLVM::TruncOp::create(builder, loc, i32, column);
    int64_t per = 32 / region.getContainerBits();
    if (per > 1)
      column = LLVM::UDivOp::create(builder, loc, column,
                                    constant(builder, loc, i32, per));
    add(column);
  }
  // 32 lanes of 65536 each.
  if (adaptor.getWarp() && !single)
    add(LLVM::ShlOp::create(builder, loc, adaptor.getWarp(),
                            constant(builder, loc, i32, 21)));
  return pointer;
}

template <typename Op>
static Value splitOf(OpBuilder &builder, Op op) {
  if (!op.getSplit())
    return {};
  return constant(builder, op.getLoc(), builder.getI64Type(), *op.getSplit());
}

namespace {

struct LowerLoad : public ConvertOpToLLVMPattern<LoadOp> {
  using ConvertOpToLLVMPattern::ConvertOpToLLVMPattern;
  LogicalResult
  matchAndRewrite(LoadOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    Type result = getTypeConverter()->convertType(op.getResult().getType());
    if (!result)
      return rewriter.notifyMatchFailure(op, "no LLVM type of the result");
    Value address = accessAddress(
        rewriter, op, adaptor, op.getSource().getType(), adaptor.getSource());
    Value value = NVVM::Tcgen05LdOp::create(
        rewriter, loc, registerType(rewriter, op.getNumRegisters()),
        op.getPackAttr(), shapeAttr(op.getContext(), op.getShape()), address,
        splitOf(rewriter, op));
    if (value.getType() != result)
      value = LLVM::BitcastOp::create(rewriter, loc, result, value);
    rewriter.replaceOp(op, value);
    return success();
  }
};

struct LowerStore : public ConvertOpToLLVMPattern<StoreOp> {
  using ConvertOpToLLVMPattern::ConvertOpToLLVMPattern;
  LogicalResult
  matchAndRewrite(StoreOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    Value value = adaptor.getValue();
    Type registers = registerType(rewriter, op.getNumRegisters());
    if (value.getType() != registers)
      value = LLVM::BitcastOp::create(rewriter, loc, registers, value);
    Value address = accessAddress(rewriter, op, adaptor, op.getDest().getType(),
                                  adaptor.getDest());
    rewriter.replaceOpWithNewOp<NVVM::Tcgen05StOp>(
        op, op.getUnpackAttr(), shapeAttr(op.getContext(), op.getShape()),
        address, value, splitOf(rewriter, op));
    return success();
  }
};

struct LowerCopy : public ConvertOpToLLVMPattern<CopyOp> {
  using ConvertOpToLLVMPattern::ConvertOpToLLVMPattern;
  LogicalResult
  matchAndRewrite(CopyOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    using Shape = NVVM::Tcgen05CpShape;
    static_assert(int(CopyShape::S128x256b) == int(Shape::SHAPE_128x256b) &&
                  int(CopyShape::S4x256b) == int(Shape::SHAPE_4x256b) &&
                  int(CopyShape::S128x128b) == int(Shape::SHAPE_128x128b) &&
                  int(CopyShape::S64x128b) == int(Shape::SHAPE_64x128b) &&
                  int(CopyShape::S32x128b) == int(Shape::SHAPE_32x128b));
    using Multicast = NVVM::Tcgen05CpMulticast;
    static_assert(
        int(CopyMulticast::None) == int(Multicast::NONE) &&
        int(CopyMulticast::Warpx2_02_13) == int(Multicast::WARPX2_02_13) &&
        int(CopyMulticast::Warpx2_01_23) == int(Multicast::WARPX2_01_23) &&
        int(CopyMulticast::Warpx4) == int(Multicast::WARPX4));
    Location loc = op.getLoc();
    MLIRContext *context = op.getContext();
    TileType source = op.getSource().getType();
    NVVM::Tcgen05CpSrcFormatAttr format;
    if (source.getLayout().getPadded())
      format = NVVM::Tcgen05CpSrcFormatAttr::get(
          context, source.getElementType().getIntOrFloatBitWidth() == 4
                       ? NVVM::Tcgen05CpSrcFormat::B4x16_P64
                       : NVVM::Tcgen05CpSrcFormat::B6x16_P32);
    int64_t perChunk = op.getShapeBytes() * 8 / source.getContainerBits();
    emitMemoryClobber(rewriter, loc);
    for (int64_t column = 0; column < source.getColumns(); column += perChunk)
      NVVM::Tcgen05CpOp::create(
          rewriter, loc,
          NVVM::Tcgen05CpShapeAttr::get(context,
                                        static_cast<Shape>(op.getShape())),
          ctaGroupAttr(context, op.getCtaGroup()),
          NVVM::Tcgen05CpMulticastAttr::get(
              context, static_cast<Multicast>(op.getMulticast())),
          format,
          offsetTensor(rewriter, loc, adaptor.getDest(), 0,
                       column * source.getContainerBits() / 32),
          makeDescriptor(rewriter, loc, adaptor.getSource(),
                         source.getDescriptor(),
                         source.getByteOffset(0, column)));
    rewriter.eraseOp(op);
    return success();
  }
};

struct LowerCopyScales : public ConvertOpToLLVMPattern<CopyScalesOp> {
  using ConvertOpToLLVMPattern::ConvertOpToLLVMPattern;
  LogicalResult
  matchAndRewrite(CopyScalesOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    MLIRContext *context = op.getContext();
    ScaleTileType source = op.getSource().getType();
    ScalesType dest = op.getDest().getType();
    emitMemoryClobber(rewriter, loc);
    for (int64_t row = 0; row < source.getRows(); row += 128)
      for (int64_t column = 0; column < source.getColumns(); column += 4)
        NVVM::Tcgen05CpOp::create(
            rewriter, loc,
            NVVM::Tcgen05CpShapeAttr::get(context,
                                          NVVM::Tcgen05CpShape::SHAPE_32x128b),
            ctaGroupAttr(context, op.getCtaGroup()),
            NVVM::Tcgen05CpMulticastAttr::get(context,
                                              NVVM::Tcgen05CpMulticast::WARPX4),
            NVVM::Tcgen05CpSrcFormatAttr(),
            offsetTensor(rewriter, loc, adaptor.getDest(), 0,
                         dest.getWordOf(column) + row / 32),
            makeDescriptor(rewriter, loc, adaptor.getSource(),
                           source.getDescriptor(),
                           source.getByteOffset(row, column)));
    rewriter.eraseOp(op);
    return success();
  }
};

struct LowerShift : public ConvertOpToLLVMPattern<ShiftOp> {
  using ConvertOpToLLVMPattern::ConvertOpToLLVMPattern;
  LogicalResult
  matchAndRewrite(ShiftOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    rewriter.replaceOpWithNewOp<NVVM::Tcgen05ShiftOp>(
        op, adaptor.getRegion(),
        ctaGroupAttr(op.getContext(), op.getCtaGroup()));
    return success();
  }
};

} // namespace

void kvq::tcgen05::populateMovePatterns(const LLVMTypeConverter &converter,
                                        RewritePatternSet &patterns) {
  patterns.add<LowerCopy, LowerCopyScales, LowerLoad, LowerShift, LowerStore>(
      converter);
}
