//===- LegalizeStorage.h - Store low-bit floats in bytes ------------------===//

#ifndef KVQ_CONVERSION_LEGALIZESTORAGE_LEGALIZESTORAGE_H
#define KVQ_CONVERSION_LEGALIZESTORAGE_LEGALIZESTORAGE_H

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Transforms/DialectConversion.h"

namespace kvq {

#define GEN_PASS_DECL_LEGALIZESTORAGE
#include "kvq/Conversion/Passes.h.inc"

/// True for the element types that this pass stores in bytes: f4E2M1FN (two
/// in a byte), f8E4M3FN and f8E8M0FNU.
bool isLowBitStorage(mlir::Type elementType);

/// The byte memref that stores `type`, whose element type must satisfy
/// `isLowBitStorage`. If there is none the result fails and `why`, if given,
/// says what is wrong and what would be accepted.
mlir::FailureOr<mlir::MemRefType>
getByteStorageType(mlir::MemRefType type, std::string *why = nullptr);

/// Converts memrefs (and function types over them) by `getByteStorageType` and
/// leaves every other type alone.
class StorageTypeConverter : public mlir::TypeConverter {
public:
  StorageTypeConverter();
};

/// Adds the patterns for the operations of `memref` and `vector` that touch
/// elements or shapes, and for those that only pass memrefs on.
void populateLegalizeStoragePatterns(const StorageTypeConverter &converter,
                                     mlir::RewritePatternSet &patterns);

/// Why `op`, which has an operand, result or block argument that is a low-bit
/// memref, cannot be legalized; empty if it can.
std::string explainIllegalStorage(mlir::Operation *op);

/// True if `value`, an index or an integer, is even whatever the inputs.
/// Conservative.
bool isKnownEven(mlir::OpFoldResult value);

} // namespace kvq

#endif // KVQ_CONVERSION_LEGALIZESTORAGE_LEGALIZESTORAGE_H
