//===- KVQAttributes.h - Attributes of the kvq dialect --------------------===//

#ifndef KVQ_DIALECT_KVQ_IR_KVQATTRIBUTES_H
#define KVQ_DIALECT_KVQ_IR_KVQATTRIBUTES_H

#include "kvq/Dialect/KVQ/IR/KVQDialect.h"
#include "kvq/Dialect/KVQ/IR/KVQInterfaces.h"
#include "mlir/IR/BuiltinAttributes.h"
#include <string>

#define GET_ATTRDEF_CLASSES
#include "kvq/Dialect/KVQ/IR/KVQAttributes.h.inc"

namespace kvq {

/// Returns the format of a name: a preset, or "fp4"; null where there is none.
KVFormatInterface getNamedFormat(mlir::MLIRContext *context,
                                 llvm::StringRef name);

/// Returns the name of a format that has one, else an empty string.
llvm::StringRef getFormatName(KVFormatInterface format);

/// Returns the names that formats have, for a message.
std::string listFormatNames();

/// A place in the scale matrix of one page and head.
struct ScalePosition {
  int64_t row;
  int64_t column;

  bool operator==(const ScalePosition &other) const {
    return row == other.row && column == other.column;
  }
};

/// Returns where `layout` keeps scale `column` of row `row`; both are counts
/// from 0 into a matrix of `columns` columns. The layout is decided.
ScalePosition getScalePosition(ScaleLayout layout, int64_t row, int64_t column,
                               int64_t columns);

/// Checks that a scale matrix of `rows` by `columns` can have `layout`;
/// dynamic sizes pass. On failure emits an error that names what was found.
mlir::LogicalResult
verifyScaleLayout(llvm::function_ref<mlir::InFlightDiagnostic()> emitError,
                  ScaleLayout layout, int64_t rows, int64_t columns);

} // namespace kvq

#endif // KVQ_DIALECT_KVQ_IR_KVQATTRIBUTES_H
