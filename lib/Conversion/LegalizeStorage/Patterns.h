//===- Patterns.h - Parts of the storage legalization ---------------------===//

#ifndef KVQ_LIB_CONVERSION_LEGALIZESTORAGE_PATTERNS_H
#define KVQ_LIB_CONVERSION_LEGALIZESTORAGE_PATTERNS_H

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/DialectConversion.h"

namespace kvq::detail {

/// True for memrefs of f4E2M1FN, whose elements share bytes.
bool isPackedMemRef(mlir::Type type);

/// True for the loads and stores, scalar or vector, that can be legalized.
bool accessesElements(mlir::Operation *op);

/// True for the operations that only pass memrefs on or whose other operands
/// and attributes do not depend on the size of an element: new types are all
/// they need. `packed`: for 4-bit elements too.
bool needsTypesOnly(mlir::Operation *op, bool packed);

/// True for the operations on 4-bit memrefs that have a pattern of their own
/// among the view patterns.
bool hasViewPattern(mlir::Operation *op);

/// True if a vector of 4-bit elements at `indices` starts and ends on byte
/// boundaries whatever the dynamic values.
bool coversWholeBytes(mlir::VectorType type, mlir::ValueRange indices);

void populateElementPatterns(const mlir::TypeConverter &converter,
                             mlir::RewritePatternSet &patterns);
void populateViewPatterns(const mlir::TypeConverter &converter,
                          mlir::RewritePatternSet &patterns);

} // namespace kvq::detail

#endif // KVQ_LIB_CONVERSION_LEGALIZESTORAGE_PATTERNS_H
