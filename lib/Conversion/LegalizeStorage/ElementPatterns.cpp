//===- ElementPatterns.cpp - Loads and stores of low-bit elements ---------===//

#include "Patterns.h"
#include "kvq/Conversion/LegalizeStorage/LegalizeStorage.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;

bool kvq::detail::accessesElements(Operation *op) {
  return isa<memref::LoadOp, memref::StoreOp, vector::LoadOp, vector::StoreOp,
             vector::TransferReadOp, vector::TransferWriteOp,
             vector::MaskedLoadOp, vector::MaskedStoreOp, vector::GatherOp,
             vector::ScatterOp, vector::ExpandLoadOp, vector::CompressStoreOp>(
      op);
}

bool kvq::detail::isPackedMemRef(Type type) {
  auto memref = dyn_cast<BaseMemRefType>(type);
  return memref && isa<Float4E2M1FNType>(memref.getElementType());
}

namespace {

/// The type with `type`'s shape, if any, and another element type.
Type withElementType(Type type, Type elementType) {
  if (auto shaped = dyn_cast<ShapedType>(type))
    return shaped.clone(elementType);
  return elementType;
}

Value bitcast(OpBuilder &builder, Location loc, Value value, Type elementType) {
  return arith::BitcastOp::create(
      builder, loc, withElementType(value.getType(), elementType), value);
}

Value splat(OpBuilder &builder, Location loc, Type type, int64_t value) {
  Type elementType = getElementTypeOrSelf(type);
  TypedAttr attr = builder.getIntegerAttr(elementType, value);
  if (auto shaped = dyn_cast<ShapedType>(type))
    attr = DenseElementsAttr::get(shaped, cast<Attribute>(attr));
  return arith::ConstantOp::create(builder, loc, attr);
}

/// 8-bit elements: the same operation on a byte memref, with values of the
/// low-bit type cast from and to i8.
struct AccessBytes : ConversionPattern {
  AccessBytes(const TypeConverter &converter, MLIRContext *context)
      : ConversionPattern(converter, MatchAnyOpTypeTag(), 1, context) {}

  LogicalResult
  matchAndRewrite(Operation *op, ArrayRef<Value> operands,
                  ConversionPatternRewriter &rewriter) const override {
    if (!kvq::detail::accessesElements(op))
      return rewriter.notifyMatchFailure(op, "not an element access");
    if (llvm::any_of(op->getOperandTypes(), kvq::detail::isPackedMemRef))
      return rewriter.notifyMatchFailure(op, "elements share bytes");
    Type i8 = rewriter.getI8Type();
    SmallVector<Value> newOperands;
    for (Value operand : operands) {
      Type type = operand.getType();
      if (!isa<BaseMemRefType>(type) &&
          kvq::isLowBitStorage(getElementTypeOrSelf(type)))
        operand = bitcast(rewriter, op->getLoc(), operand, i8);
      newOperands.push_back(operand);
    }
    SmallVector<Type> resultTypes;
    for (Type type : op->getResultTypes())
      resultTypes.push_back(withElementType(type, i8));
    OperationState state(op->getLoc(), op->getName(), newOperands, resultTypes,
                         op->getAttrs());
    Operation *bytes = rewriter.create(state);
    SmallVector<Value> results;
    for (auto [result, type] :
         llvm::zip_equal(bytes->getResults(), op->getResultTypes()))
      results.push_back(
          bitcast(rewriter, op->getLoc(), result, getElementTypeOrSelf(type)));
    rewriter.replaceOp(op, results);
    return success();
  }
};

/// A pattern for accesses of 4-bit elements.
template <typename Op>
struct PackedAccess : OpConversionPattern<Op> {
  using OpConversionPattern<Op>::OpConversionPattern;
  using OpAdaptor = typename OpConversionPattern<Op>::OpAdaptor;

  virtual void rewrite(Op op, OpAdaptor adaptor,
                       ConversionPatternRewriter &rewriter) const = 0;

  LogicalResult
  matchAndRewrite(Op op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const final {
    if (llvm::none_of(op->getOperandTypes(), kvq::detail::isPackedMemRef))
      return rewriter.notifyMatchFailure(op, "not 4-bit elements");
    rewrite(op, adaptor, rewriter);
    return success();
  }
};

//===----------------------------------------------------------------------===//
// Single 4-bit elements
//===----------------------------------------------------------------------===//

/// Where a 4-bit element is: the indices of its byte and the bit in it.
struct NibblePlace {
  SmallVector<Value> indices;
  /// i8: 0 for the low nibble, 4 for the high one.
  Value shift;
};

NibblePlace findNibble(OpBuilder &builder, Location loc, ValueRange indices) {
  NibblePlace place;
  place.indices.assign(indices.begin(), indices.end());
  if (indices.empty()) {
    place.shift = splat(builder, loc, builder.getI8Type(), 0);
    return place;
  }
  Value last = indices.back();
  Value one = arith::ConstantIndexOp::create(builder, loc, 1);
  Value two = arith::ConstantIndexOp::create(builder, loc, 2);
  place.indices.back() = builder.createOrFold<arith::ShRUIOp>(loc, last, one);
  Value odd = builder.createOrFold<arith::AndIOp>(loc, last, one);
  Value shift = builder.createOrFold<arith::ShLIOp>(loc, odd, two);
  place.shift =
      builder.createOrFold<arith::IndexCastOp>(loc, builder.getI8Type(), shift);
  return place;
}

Value loadNibble(OpBuilder &builder, Location loc, Value memref,
                 ValueRange indices, bool nontemporal = false) {
  NibblePlace place = findNibble(builder, loc, indices);
  Value byte =
      memref::LoadOp::create(builder, loc, memref, place.indices, nontemporal);
  Value shifted = arith::ShRUIOp::create(builder, loc, byte, place.shift);
  Value nibble =
      arith::TruncIOp::create(builder, loc, builder.getIntegerType(4), shifted);
  return bitcast(builder, loc, nibble,
                 Float4E2M1FNType::get(builder.getContext()));
}

/// Reads the byte, replaces one nibble and writes the byte.
void storeNibble(OpBuilder &builder, Location loc, Value element, Value memref,
                 ValueRange indices, bool nontemporal = false) {
  Type i8 = builder.getI8Type();
  NibblePlace place = findNibble(builder, loc, indices);
  Value nibble = bitcast(builder, loc, element, builder.getIntegerType(4));
  Value wide = arith::ExtUIOp::create(builder, loc, i8, nibble);
  Value placed = arith::ShLIOp::create(builder, loc, wide, place.shift);
  Value byte = memref::LoadOp::create(builder, loc, memref, place.indices);
  // 0xF0 moved down by the shift keeps the other nibble.
  Value mask = arith::ShRUIOp::create(
      builder, loc, splat(builder, loc, i8, -16), place.shift);
  Value kept = arith::AndIOp::create(builder, loc, byte, mask);
  Value merged = arith::OrIOp::create(builder, loc, kept, placed);
  memref::StoreOp::create(builder, loc, merged, memref, place.indices,
                          nontemporal);
}

struct LoadElement : PackedAccess<memref::LoadOp> {
  using PackedAccess::PackedAccess;

  void rewrite(memref::LoadOp op, OpAdaptor adaptor,
               ConversionPatternRewriter &rewriter) const override {
    rewriter.replaceOp(op,
                       loadNibble(rewriter, op.getLoc(), adaptor.getMemref(),
                                  adaptor.getIndices(), op.getNontemporal()));
  }
};

struct StoreElement : PackedAccess<memref::StoreOp> {
  using PackedAccess::PackedAccess;

  void rewrite(memref::StoreOp op, OpAdaptor adaptor,
               ConversionPatternRewriter &rewriter) const override {
    storeNibble(rewriter, op.getLoc(), adaptor.getValue(), adaptor.getMemref(),
                adaptor.getIndices(), op.getNontemporal());
    rewriter.eraseOp(op);
  }
};

//===----------------------------------------------------------------------===//
// Vectors of 4-bit elements
//===----------------------------------------------------------------------===//

/// The bytes that hold a vector of an even number of 4-bit elements.
VectorType bytesType(VectorType type) {
  SmallVector<int64_t> shape(type.getShape());
  shape.back() /= 2;
  return VectorType::get(shape, IntegerType::get(type.getContext(), 8));
}

/// Interleaving the low and high nibbles gives the elements in order. (A
/// vector.bitcast to i4 says the same on little-endian machines, but the x86
/// code generator takes it apart element by element.)
Value unpack(OpBuilder &builder, Location loc, Value bytes) {
  Value four = splat(builder, loc, bytes.getType(), 4);
  Value high = arith::ShRUIOp::create(builder, loc, bytes, four);
  Value wide = vector::InterleaveOp::create(builder, loc, bytes, high);
  Value nibbles = arith::TruncIOp::create(
      builder, loc, withElementType(wide.getType(), builder.getIntegerType(4)),
      wide);
  return bitcast(builder, loc, nibbles,
                 Float4E2M1FNType::get(builder.getContext()));
}

Value pack(OpBuilder &builder, Location loc, Value elements) {
  Value nibbles = bitcast(builder, loc, elements, builder.getIntegerType(4));
  Value wide = arith::ExtUIOp::create(
      builder, loc, withElementType(nibbles.getType(), builder.getI8Type()),
      nibbles);
  auto halves = vector::DeinterleaveOp::create(builder, loc, wide);
  Value four = splat(builder, loc, halves.getRes2().getType(), 4);
  Value high = arith::ShLIOp::create(builder, loc, halves.getRes2(), four);
  return arith::OrIOp::create(builder, loc, halves.getRes1(), high);
}

/// The indices of the byte that holds the (even) element at `indices`.
SmallVector<Value> byteIndices(OpBuilder &builder, Location loc,
                               ValueRange indices) {
  SmallVector<Value> result(indices);
  Value one = arith::ConstantIndexOp::create(builder, loc, 1);
  result.back() = builder.createOrFold<arith::ShRUIOp>(loc, result.back(), one);
  return result;
}

/// Indices of the element `distance` after the one at `indices`.
SmallVector<Value> advance(OpBuilder &builder, Location loc, ValueRange indices,
                           int64_t distance) {
  SmallVector<Value> result(indices);
  Value by = arith::ConstantIndexOp::create(builder, loc, distance);
  result.back() = builder.createOrFold<arith::AddIOp>(loc, result.back(), by);
  return result;
}

struct LoadVector : PackedAccess<vector::LoadOp> {
  using PackedAccess::PackedAccess;

  void rewrite(vector::LoadOp op, OpAdaptor adaptor,
               ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    VectorType type = op.getVectorType();
    ValueRange indices = adaptor.getIndices();
    if (kvq::detail::coversWholeBytes(type, op.getIndices())) {
      Value bytes = vector::LoadOp::create(
          rewriter, loc, bytesType(type), adaptor.getBase(),
          byteIndices(rewriter, loc, indices), op.getNontemporal());
      // Who asks for the bits as other integers gets those of the bytes.
      SmallVector<vector::BitCastOp> casts;
      for (Operation *user : op->getUsers())
        if (auto cast = dyn_cast<vector::BitCastOp>(user))
          casts.push_back(cast);
      bool onlyCasts = llvm::hasNItems(op->getUsers(), casts.size());
      for (vector::BitCastOp cast : casts)
        rewriter.replaceOpWithNewOp<vector::BitCastOp>(
            cast, cast.getResultVectorType(), bytes);
      if (onlyCasts)
        rewriter.eraseOp(op);
      else
        rewriter.replaceOp(op, unpack(rewriter, loc, bytes));
      return;
    }
    SmallVector<Value> elements;
    for (int64_t i = 0; i < type.getNumElements(); ++i)
      elements.push_back(loadNibble(rewriter, loc, adaptor.getBase(),
                                    advance(rewriter, loc, indices, i)));
    rewriter.replaceOpWithNewOp<vector::FromElementsOp>(op, type, elements);
  }
};

struct StoreVector : PackedAccess<vector::StoreOp> {
  using PackedAccess::PackedAccess;

  void rewrite(vector::StoreOp op, OpAdaptor adaptor,
               ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    VectorType type = op.getVectorType();
    ValueRange indices = adaptor.getIndices();
    Value elements = adaptor.getValueToStore();
    if (kvq::detail::coversWholeBytes(type, op.getIndices())) {
      rewriter.replaceOpWithNewOp<vector::StoreOp>(
          op, pack(rewriter, loc, elements), adaptor.getBase(),
          byteIndices(rewriter, loc, indices), op.getNontemporal());
      return;
    }
    for (int64_t i = 0; i < type.getNumElements(); ++i) {
      Value element = vector::ExtractOp::create(rewriter, loc, elements, i);
      storeNibble(rewriter, loc, element, adaptor.getBase(),
                  advance(rewriter, loc, indices, i));
    }
    rewriter.eraseOp(op);
  }
};

struct TransferRead : PackedAccess<vector::TransferReadOp> {
  using PackedAccess::PackedAccess;

  void rewrite(vector::TransferReadOp op, OpAdaptor adaptor,
               ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    Type i8 = rewriter.getI8Type();
    // Sizes are even: a byte is in bounds or out of bounds as a whole.
    Value padding = bitcast(rewriter, loc, adaptor.getPadding(),
                            rewriter.getIntegerType(4));
    Value low = arith::ExtUIOp::create(rewriter, loc, i8, padding);
    Value high =
        arith::ShLIOp::create(rewriter, loc, low, splat(rewriter, loc, i8, 4));
    Value both = arith::OrIOp::create(rewriter, loc, low, high);
    Value bytes = vector::TransferReadOp::create(
        rewriter, loc, bytesType(op.getVectorType()), adaptor.getBase(),
        byteIndices(rewriter, loc, adaptor.getIndices()),
        op.getPermutationMapAttr(), both, /*mask=*/Value(),
        op.getInBoundsAttr());
    rewriter.replaceOp(op, unpack(rewriter, loc, bytes));
  }
};

struct TransferWrite : PackedAccess<vector::TransferWriteOp> {
  using PackedAccess::PackedAccess;

  void rewrite(vector::TransferWriteOp op, OpAdaptor adaptor,
               ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    vector::TransferWriteOp::create(
        rewriter, loc, pack(rewriter, loc, adaptor.getValueToStore()),
        adaptor.getBase(), byteIndices(rewriter, loc, adaptor.getIndices()),
        op.getPermutationMapAttr(), /*mask=*/Value(), op.getInBoundsAttr());
    rewriter.eraseOp(op);
  }
};

} // namespace

bool kvq::detail::coversWholeBytes(VectorType type, ValueRange indices) {
  return type.getRank() > 0 && !type.isScalable() &&
         type.getShape().back() % 2 == 0 && !indices.empty() &&
         kvq::isKnownEven(indices.back());
}

void kvq::detail::populateElementPatterns(const TypeConverter &converter,
                                          RewritePatternSet &patterns) {
  patterns.add<AccessBytes, LoadElement, StoreElement, LoadVector, StoreVector,
               TransferRead, TransferWrite>(converter, patterns.getContext());
}
