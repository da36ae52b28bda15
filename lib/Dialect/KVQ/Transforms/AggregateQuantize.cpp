//===- AggregateQuantize.cpp - quantize and dequantize as linalg ----------===//

#include "AggregateModels.h"
#include "EmitBlock.h"

using namespace mlir;
using namespace kvq;

using Operand = GenericBuilder::Operand;

/// The scales of data with the given loops: of a block each.
static Operand getScalesOfElements(Value scales, ArrayRef<AffineExpr> loops,
                                   KVFormatInterface format) {
  SmallVector<AffineExpr> indices(loops);
  indices.back() = indices.back().floorDiv(format.getBlockSize());
  return {scales, indices};
}

SmallVector<Value> kvq::aggregate::emit(GenericBuilder &b, QuantizeOp op) {
  KVFormatInterface format = op.getFormat();
  Value input = op.getInput();
  unsigned rank = cast<RankedTensorType>(input.getType()).getRank();
  SmallVector<AffineExpr> loops = b.loops(0, rank);
  SmallVector<Value> results(1);
  SmallVector<Operand> inputs{{input, loops}};
  if (format.hasBlockScale()) {
    Value scales = b.generic(
        rank, /*inputs=*/{}, {op.getScales(), loops}, [&](ValueRange) {
          SmallVector<Value> row;
          for (unsigned loop = 0; loop + 1 < rank; ++loop)
            row.push_back(b.loopIndex(loop));
          Value block = b.index(format.getBlockSize());
          Value begin = b.mul(b.loopIndex(rank - 1), block);
          return decompose::emitScaleOfBlock(
              b, format, op.getFourOverSix(), op.getGlobalScale(), begin,
              b.add(begin, block), [&](Value d) {
                return b.toF32(b.extract(input, withIndex(row, d)));
              });
        });
    results.push_back(scales);
    inputs.push_back(getScalesOfElements(scales, loops, format));
  }
  results.front() =
      b.generic(rank, inputs, {op.getData(), loops}, [&](ValueRange elements) {
        Value scale = format.hasBlockScale() ? elements[1] : Value();
        return format.emitEncode(b, b.getLoc(), b.toF32(elements.front()),
                                 scale, op.getGlobalScale());
      });
  return results;
}

SmallVector<Value> kvq::aggregate::emit(GenericBuilder &b, DequantizeOp op) {
  KVFormatInterface format = op.getFormat();
  auto type = cast<RankedTensorType>(op.getOutput().getType());
  SmallVector<AffineExpr> loops = b.loops(0, type.getRank());
  SmallVector<Operand> inputs{{op.getData(), loops}};
  if (format.hasBlockScale())
    inputs.push_back(getScalesOfElements(op.getScales(), loops, format));
  return {b.generic(type.getRank(), inputs, {op.getOutput(), loops},
                    [&](ValueRange elements) {
                      Value scale =
                          format.hasBlockScale() ? elements[1] : Value();
                      Value value =
                          format.emitDecode(b, b.getLoc(), elements.front(),
                                            scale, op.getGlobalScale());
                      return b.fromF32(value, type.getElementType());
                    })};
}
