//===- KVQScaleLayouts.cpp - Emit the positions of block scales -----------===//

#include "kvq/Dialect/KVQ/IR/KVQScaleLayouts.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace kvq;

namespace {

/// Arithmetic on values of one type; constants take its shape.
struct IndexBuilder {
  OpBuilder &builder;
  Location loc;
  Type type;

  Value constant(int64_t value) {
    TypedAttr scalar =
        builder.getIntegerAttr(getElementTypeOrSelf(type), value);
    if (auto vector = dyn_cast<VectorType>(type))
      scalar = DenseElementsAttr::get(vector, Attribute(scalar));
    return arith::ConstantOp::create(builder, loc, scalar);
  }
  Value add(Value a, Value b) {
    return builder.createOrFold<arith::AddIOp>(loc, a, b);
  }
  Value mul(Value a, Value b) {
    return builder.createOrFold<arith::MulIOp>(loc, a, b);
  }
  Value mul(Value a, int64_t b) { return mul(a, constant(b)); }
  Value div(Value a, Value b) {
    return builder.createOrFold<arith::DivUIOp>(loc, a, b);
  }
  Value div(Value a, int64_t b) { return div(a, constant(b)); }
  Value rem(Value a, Value b) {
    return builder.createOrFold<arith::RemUIOp>(loc, a, b);
  }
  Value rem(Value a, int64_t b) { return rem(a, constant(b)); }
};

} // namespace

std::pair<Value, Value> kvq::emitScalePosition(OpBuilder &builder, Location loc,
                                               ScaleLayout layout, Value row,
                                               Value column, Value columns) {
  IndexBuilder b{builder, loc, row.getType()};
  Value offset;
  switch (layout) {
  case ScaleLayout::Undecided:
    llvm_unreachable("an undecided layout has no positions");
  case ScaleLayout::Linear:
    return {row, column};
  case ScaleLayout::Interleaved4:
    offset = b.add(b.mul(b.mul(b.div(row, 4), 4), columns),
                   b.add(b.mul(column, 4), b.rem(row, 4)));
    break;
  case ScaleLayout::Blocked128x4: {
    Value tile =
        b.add(b.mul(b.div(row, 128), b.div(columns, 4)), b.div(column, 4));
    Value inner =
        b.add(b.mul(b.rem(row, 32), 16), b.mul(b.div(b.rem(row, 128), 32), 4));
    offset = b.add(b.mul(tile, 512), b.add(inner, b.rem(column, 4)));
    break;
  }
  }
  return {b.div(offset, columns), b.rem(offset, columns)};
}
