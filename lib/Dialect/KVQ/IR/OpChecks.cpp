//===- OpChecks.cpp - Checks that verifiers of operations share -----------===//

#include "OpChecks.h"
#include "mlir/IR/Diagnostics.h"

using namespace mlir;
using namespace kvq;

ShapedType kvq::getShaped(Value value) {
  return cast<ShapedType>(value.getType());
}

std::string kvq::shapeToString(ArrayRef<int64_t> shape) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  stream << '[';
  llvm::interleaveComma(shape, stream, [&](int64_t size) {
    if (ShapedType::isDynamic(size))
      stream << '?';
    else
      stream << size;
  });
  stream << ']';
  return text;
}

LogicalResult kvq::checkShape(Operation *op, StringRef name, Value value,
                              ArrayRef<int64_t> expected, StringRef meaning,
                              Value note) {
  ArrayRef<int64_t> found = getShaped(value).getShape();
  bool matches = found.size() == expected.size();
  for (auto [f, e] : llvm::zip(found, expected))
    matches &= ShapedType::isDynamic(f) || ShapedType::isDynamic(e) || f == e;
  if (matches)
    return success();
  InFlightDiagnostic diag = op->emitOpError()
                            << name << " has shape " << shapeToString(found)
                            << ", expected " << shapeToString(expected) << " ("
                            << meaning << ")";
  if (note)
    diag.attachNote(note.getLoc())
        << "the handle of type " << note.getType() << " is defined here";
  return failure();
}

LogicalResult kvq::checkResults(DestinationStyleOpInterface op) {
  SmallVector<Type> expected;
  for (OpOperand &init : op.getDpsInitsMutable())
    if (isa<RankedTensorType>(init.get().getType()))
      expected.push_back(init.get().getType());
  if (op->getNumResults() != expected.size())
    return op->emitOpError()
           << "has " << op->getNumResults() << " results, expected "
           << expected.size() << " (one per tensor of outs)";
  return success();
}
