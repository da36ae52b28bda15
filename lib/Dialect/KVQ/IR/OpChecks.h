//===- OpChecks.h - Checks that verifiers of operations share ---*- C++ -*-===//

#ifndef KVQ_LIB_DIALECT_KVQ_IR_OPCHECKS_H
#define KVQ_LIB_DIALECT_KVQ_IR_OPCHECKS_H

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"

namespace kvq {

mlir::ShapedType getShaped(mlir::Value value);

/// A shape as diagnostics print it, for example "[?, 8, 128]".
std::string shapeToString(llvm::ArrayRef<int64_t> shape);

/// Checks the shape of `value` against `expected`; a dynamic size on either
/// side matches. `note` names the op that the expectation comes from.
llvm::LogicalResult checkShape(mlir::Operation *op, llvm::StringRef name,
                               mlir::Value value,
                               llvm::ArrayRef<int64_t> expected,
                               llvm::StringRef meaning, mlir::Value note = {});

/// Checks that each tensor among the inits has a result of its type; memrefs
/// have none.
llvm::LogicalResult checkResults(mlir::DestinationStyleOpInterface op);

} // namespace kvq

#endif // KVQ_LIB_DIALECT_KVQ_IR_OPCHECKS_H
