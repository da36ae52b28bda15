//===- GenericBuilder.cpp - A builder of linalg.generic -------------------===//

#include "GenericBuilder.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace kvq;

SmallVector<Value> GenericBuilder::generic(unsigned numLoops,
                                           ArrayRef<Operand> inputs,
                                           ArrayRef<Operand> outs, Body body) {
  SmallVector<AffineMap> maps;
  SmallVector<Value> inputValues, outValues;
  SmallVector<Type> elements;
  auto add = [&](const Operand &operand, SmallVectorImpl<Value> &values) {
    maps.push_back(
        AffineMap::get(numLoops, /*symbolCount=*/0, operand.indices, context));
    values.push_back(operand.tensor);
    elements.push_back(getElementTypeOrSelf(operand.tensor.getType()));
  };
  for (const Operand &input : inputs)
    add(input, inputValues);
  for (const Operand &out : outs)
    add(out, outValues);
  SmallVector<utils::IteratorType> iterators(numLoops,
                                             utils::IteratorType::reduction);
  for (AffineExpr index : outs.front().indices)
    if (auto loop = dyn_cast<AffineDimExpr>(index))
      iterators[loop.getPosition()] = utils::IteratorType::parallel;

  auto op = linalg::GenericOp::create(*this, ValueRange(outValues).getTypes(),
                                      inputValues, outValues, maps, iterators);
  InsertionGuard guard(*this);
  Block *block = createBlock(&op.getRegion(), {}, elements,
                             SmallVector<Location>(elements.size(), getLoc()));
  linalg::YieldOp::create(*this, body(block->getArguments()));
  return SmallVector<Value>(op.getResults());
}

Value GenericBuilder::generic(unsigned numLoops, ArrayRef<Operand> inputs,
                              const Operand &out,
                              function_ref<Value(ValueRange)> body) {
  return generic(numLoops, inputs, ArrayRef<Operand>(out),
                 [&](ValueRange elements) -> SmallVector<Value> {
                   return {body(elements)};
                 })
      .front();
}

SmallVector<AffineExpr> GenericBuilder::loops(unsigned first, unsigned last) {
  SmallVector<AffineExpr> result;
  for (unsigned loop = first; loop < last; ++loop)
    result.push_back(getAffineDimExpr(loop));
  return result;
}

Value GenericBuilder::loopIndex(unsigned number) {
  return linalg::IndexOp::create(*this, number);
}

OpFoldResult GenericBuilder::tensorSize(Value tensor, int64_t dim) {
  return tensor::getMixedSize(*this, getLoc(), tensor, dim);
}

Value GenericBuilder::tensorSizeValue(Value tensor, int64_t dim) {
  return getValueOrCreateConstantIndexOp(*this, getLoc(),
                                         tensorSize(tensor, dim));
}

Value GenericBuilder::empty(ArrayRef<OpFoldResult> sizes, Type type) {
  return tensor::EmptyOp::create(*this, sizes, type);
}

Value GenericBuilder::filled(ArrayRef<OpFoldResult> sizes, Value scalar) {
  return linalg::FillOp::create(*this, scalar, empty(sizes, scalar.getType()))
      .getResult(0);
}

Value GenericBuilder::extract(Value tensor, ValueRange indices) {
  return tensor::ExtractOp::create(*this, tensor, indices);
}

Value GenericBuilder::extractIndex(Value tensor, ValueRange indices) {
  return arith::IndexCastOp::create(*this, getIndexType(),
                                    extract(tensor, indices));
}

Value GenericBuilder::isAtMost(Value a, Value b) {
  return arith::CmpIOp::create(*this, arith::CmpIPredicate::sle, a, b);
}
