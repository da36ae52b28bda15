//===- RegionToNVVM.cpp - Regions, tiles and synchronization --------------===//

#include "Patterns.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace kvq::tcgen05;

Value kvq::tcgen05::constant(OpBuilder &builder, Location loc, Type type,
                             int64_t value) {
  return LLVM::ConstantOp::create(builder, loc, type,
                                  builder.getIntegerAttr(type, value));
}

Value kvq::tcgen05::offsetTensor(OpBuilder &builder, Location loc,
                                 Value pointer, int64_t lanes, int64_t words) {
  int64_t offset = lanes * 65536 + words;
  if (!offset)
    return pointer;
  return LLVM::GEPOp::create(
      builder, loc, pointer.getType(), builder.getI8Type(), pointer,
      ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(offset)});
}

Value kvq::tcgen05::makeDescriptor(OpBuilder &builder, Location loc, Value low,
                                   uint64_t fields, int64_t bytes) {
  Type i32 = builder.getI32Type(), pair = VectorType::get({2}, i32);
  // The start address is the lowest field, in units of 16 bytes, and a tile
  // does not end beyond it.
  if (bytes)
    low = LLVM::AddOp::create(builder, loc, low,
                              constant(builder, loc, i32, bytes >> 4));
  // Two halves, not an addition of 64 bits: LLVM prints that as an operand
  // `register+64`, which PTX has in addresses only.
  Value high = constant(builder, loc, i32, static_cast<int32_t>(fields >> 32));
  Value both = LLVM::PoisonOp::create(builder, loc, pair);
  both = LLVM::InsertElementOp::create(builder, loc, both, low,
                                       constant(builder, loc, i32, 0));
  both = LLVM::InsertElementOp::create(builder, loc, both, high,
                                       constant(builder, loc, i32, 1));
  return LLVM::BitcastOp::create(builder, loc, builder.getI64Type(), both);
}

void kvq::tcgen05::emitMemoryClobber(OpBuilder &builder, Location loc) {
  LLVM::InlineAsmOp::create(
      builder, loc, /*res=*/TypeRange(), /*operands=*/ValueRange(),
      /*asm_string=*/"", /*constraints=*/"~{memory}",
      /*has_side_effects=*/true, /*is_align_stack=*/false,
      LLVM::tailcallkind::TailCallKind::None,
      /*asm_dialect=*/LLVM::AsmDialectAttr(), /*operand_attrs=*/ArrayAttr());
}

NVVM::CTAGroupKindAttr kvq::tcgen05::ctaGroupAttr(MLIRContext *context,
                                                  uint64_t group) {
  return NVVM::CTAGroupKindAttr::get(context, group == 2
                                                  ? NVVM::CTAGroupKind::CTA_2
                                                  : NVVM::CTAGroupKind::CTA_1);
}

namespace {

template <typename SourceOp>
struct Pattern : public ConvertOpToLLVMPattern<SourceOp> {
  using ConvertOpToLLVMPattern<SourceOp>::ConvertOpToLLVMPattern;

  /// The pointer to an element of a memref, or the pointer itself.
  Value sharedAddress(ConversionPatternRewriter &rewriter, Location loc,
                      Type type, Value converted, ValueRange indices) const {
    auto memref = dyn_cast<MemRefType>(type);
    if (!memref)
      return converted;
    return this->getStridedElementPtr(rewriter, loc, memref, converted,
                                      indices);
  }
};

//===----------------------------------------------------------------------===//
// Allocation
//===----------------------------------------------------------------------===//

struct LowerAlloc : public Pattern<AllocOp> {
  using Pattern::Pattern;
  LogicalResult
  matchAndRewrite(AllocOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    if (!op.getColumns())
      return rewriter.notifyMatchFailure(op, "no number of columns");
    Location loc = op.getLoc();
    Value slot = sharedAddress(rewriter, loc, op.getSlot().getType(),
                               adaptor.getSlot(), adaptor.getIndices());
    rewriter.replaceOpWithNewOp<NVVM::Tcgen05AllocOp>(
        op, slot,
        constant(rewriter, loc, rewriter.getI32Type(), *op.getColumns()),
        ctaGroupAttr(op.getContext(), op.getCtaGroup()));
    return success();
  }
};

Value toTensorPointer(OpBuilder &builder, Location loc, Value base) {
  return LLVM::IntToPtrOp::create(
      builder, loc, LLVM::LLVMPointerType::get(builder.getContext(), 6), base);
}

struct LowerDealloc : public Pattern<DeallocOp> {
  using Pattern::Pattern;
  LogicalResult
  matchAndRewrite(DeallocOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    if (!op.getColumns())
      return rewriter.notifyMatchFailure(op, "no number of columns");
    Location loc = op.getLoc();
    rewriter.replaceOpWithNewOp<NVVM::Tcgen05DeallocOp>(
        op, toTensorPointer(rewriter, loc, adaptor.getBase()),
        constant(rewriter, loc, rewriter.getI32Type(), *op.getColumns()),
        ctaGroupAttr(op.getContext(), op.getCtaGroup()));
    return success();
  }
};

struct LowerRelinquish : public Pattern<RelinquishOp> {
  using Pattern::Pattern;
  LogicalResult
  matchAndRewrite(RelinquishOp op, OpAdaptor,
                  ConversionPatternRewriter &rewriter) const override {
    rewriter.replaceOpWithNewOp<NVVM::Tcgen05RelinquishAllocPermitOp>(
        op, ctaGroupAttr(op.getContext(), op.getCtaGroup()));
    return success();
  }
};

//===----------------------------------------------------------------------===//
// Regions
//===----------------------------------------------------------------------===//

int64_t laneOf(Type region) {
  auto tmem = dyn_cast<TMemType>(region);
  return tmem ? tmem.getLane() : 0;
}

struct LowerRegion : public Pattern<RegionOp> {
  using Pattern::Pattern;
  LogicalResult
  matchAndRewrite(RegionOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    if (!op.getColumn())
      return rewriter.notifyMatchFailure(op, "no place in tensor memory");
    Location loc = op.getLoc();
    Value base = toTensorPointer(rewriter, loc, adaptor.getBase());
    rewriter.replaceOp(op, offsetTensor(rewriter, loc, base,
                                        laneOf(op.getResult().getType()),
                                        *op.getColumn()));
    return success();
  }
};

struct LowerRelease : public Pattern<ReleaseOp> {
  using Pattern::Pattern;
  LogicalResult
  matchAndRewrite(ReleaseOp op, OpAdaptor,
                  ConversionPatternRewriter &rewriter) const override {
    rewriter.eraseOp(op);
    return success();
  }
};

struct LowerSlice : public Pattern<SliceOp> {
  using Pattern::Pattern;
  LogicalResult
  matchAndRewrite(SliceOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    Type type = op.getSource().getType();
    if (std::optional<int64_t> column = op.getStaticColumn()) {
      rewriter.replaceOp(op, offsetTensor(rewriter, loc, adaptor.getSource(), 0,
                                          getWordOf(type, *column)));
      return success();
    }
    Type i32 = rewriter.getI32Type();
    Value column = adaptor.getColumn();
    if (column.getType() != i32)
      column = LLVM::TruncOp::create(rewriter, loc, i32, column);
    // Elements per column, or scales per group and columns per group.
    int64_t per = 4, words = 1;
    if (auto tmem = dyn_cast<TMemType>(type))
      per = 32 / tmem.getContainerBits();
    else
      words = cast<ScalesType>(type).getRows() / 32;
    if (per > 1)
      column = LLVM::UDivOp::create(rewriter, loc, column,
                                    constant(rewriter, loc, i32, per));
    if (words > 1)
      column = LLVM::MulOp::create(rewriter, loc, column,
                                   constant(rewriter, loc, i32, words));
    rewriter.replaceOpWithNewOp<LLVM::GEPOp>(
        op, adaptor.getSource().getType(), rewriter.getI8Type(),
        adaptor.getSource(), ArrayRef<LLVM::GEPArg>{column});
    return success();
  }
};

struct LowerCast : public Pattern<CastOp> {
  using Pattern::Pattern;
  LogicalResult
  matchAndRewrite(CastOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    int64_t lanes =
        laneOf(op.getResult().getType()) - laneOf(op.getSource().getType());
    rewriter.replaceOp(
        op, offsetTensor(rewriter, op.getLoc(), adaptor.getSource(), lanes, 0));
    return success();
  }
};

//===----------------------------------------------------------------------===//
// Tiles
//===----------------------------------------------------------------------===//

struct LowerMakeTile : public Pattern<MakeTileOp> {
  using Pattern::Pattern;
  LogicalResult
  matchAndRewrite(MakeTileOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    Type i32 = rewriter.getI32Type();
    Value pointer = adaptor.getSource();
    if (auto memref = dyn_cast<MemRefType>(op.getSource().getType()))
      pointer = this->getStridedElementPtr(
          rewriter, loc, memref, pointer,
          SmallVector<Value>(
              memref.getRank(),
              constant(rewriter, loc, getTypeConverter()->getIndexType(), 0)));
    if (Value offset = adaptor.getOffset())
      pointer = LLVM::GEPOp::create(rewriter, loc, pointer.getType(),
                                    rewriter.getI8Type(), pointer,
                                    ArrayRef<LLVM::GEPArg>{offset});
    // The pointer escapes, so that LLVM keeps the stores to the tile.
    Value address = LLVM::PtrToIntOp::create(rewriter, loc, i32, pointer);
    address = LLVM::LShrOp::create(rewriter, loc, address,
                                   constant(rewriter, loc, i32, 4));
    Type type = op.getResult().getType();
    auto tile = dyn_cast<TileType>(type);
    uint64_t fields =
        tile ? tile.getDescriptor() : cast<ScaleTileType>(type).getDescriptor();
    rewriter.replaceOpWithNewOp<LLVM::OrOp>(
        op, address,
        constant(rewriter, loc, i32, static_cast<int32_t>(fields)));
    return success();
  }
};

struct LowerSliceTile : public Pattern<SliceTileOp> {
  using Pattern::Pattern;
  LogicalResult
  matchAndRewrite(SliceTileOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    TileType source = op.getSource().getType();
    int64_t bytes = source.getByteOffset(op.getRow(), op.getColumn());
    // The strides are equal, so that the other fields are.
    rewriter.replaceOpWithNewOp<LLVM::AddOp>(
        op, adaptor.getSource(),
        constant(rewriter, op.getLoc(), rewriter.getI32Type(), bytes >> 4));
    return success();
  }
};

//===----------------------------------------------------------------------===//
// Synchronization
//===----------------------------------------------------------------------===//

struct LowerWait : public Pattern<WaitOp> {
  using Pattern::Pattern;
  LogicalResult
  matchAndRewrite(WaitOp op, OpAdaptor,
                  ConversionPatternRewriter &rewriter) const override {
    auto kind = op.getKind() == WaitKind::Load ? NVVM::Tcgen05WaitKind::LOAD
                                               : NVVM::Tcgen05WaitKind::STORE;
    rewriter.replaceOpWithNewOp<NVVM::Tcgen05WaitOp>(
        op, NVVM::Tcgen05WaitKindAttr::get(op.getContext(), kind));
    return success();
  }
};

struct LowerFence : public Pattern<FenceOp> {
  using Pattern::Pattern;
  LogicalResult
  matchAndRewrite(FenceOp op, OpAdaptor,
                  ConversionPatternRewriter &rewriter) const override {
    auto kind = op.getKind() == FenceKind::Before
                    ? NVVM::Tcgen05FenceKind::BEFORE_THREAD_SYNC
                    : NVVM::Tcgen05FenceKind::AFTER_THREAD_SYNC;
    rewriter.replaceOpWithNewOp<NVVM::Tcgen05FenceOp>(
        op, NVVM::Tcgen05FenceKindAttr::get(op.getContext(), kind));
    return success();
  }
};

struct LowerCommit : public Pattern<CommitOp> {
  using Pattern::Pattern;
  LogicalResult
  matchAndRewrite(CommitOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Value barrier =
        sharedAddress(rewriter, op.getLoc(), op.getBarrier().getType(),
                      adaptor.getBarrier(), adaptor.getIndices());
    rewriter.replaceOpWithNewOp<NVVM::Tcgen05CommitOp>(
        op, barrier, adaptor.getMulticast(),
        ctaGroupAttr(op.getContext(), op.getCtaGroup()));
    return success();
  }
};

} // namespace

void kvq::tcgen05::populateRegionPatterns(const LLVMTypeConverter &converter,
                                          RewritePatternSet &patterns) {
  patterns.add<LowerAlloc, LowerCast, LowerCommit, LowerDealloc, LowerFence,
               LowerMakeTile, LowerRegion, LowerRelease, LowerRelinquish,
               LowerSlice, LowerSliceTile, LowerWait>(converter);
}
