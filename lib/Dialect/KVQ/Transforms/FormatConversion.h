//===- FormatConversion.h - Give caches another format --------------------===//
//
// Changes the types of handles, the memrefs that caches are made of, and the
// operations on stored rows, once it is decided what the formats are.
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_LIB_DIALECT_KVQ_TRANSFORMS_FORMATCONVERSION_H
#define KVQ_LIB_DIALECT_KVQ_TRANSFORMS_FORMATCONVERSION_H

#include "CacheClasses.h"
#include "kvq/Dialect/KVQ/Transforms/Remark.h"

namespace kvq {

/// A class with what it becomes.
struct FormatConversion {
  const CacheClass *cacheClass;
  CacheType oldType, newType;
};

/// Returns why the handles of a class cannot have another format, if so.
std::optional<Report> findConversionObstacle(const CacheClass &cacheClass,
                                             KVFormatInterface target);

/// Reads an option `global-scale`: whether global scales that no attribute
/// gives are arguments, else they are 1. Fails with an error.
mlir::FailureOr<bool> parseGlobalScaleOption(mlir::ModuleOp module,
                                             llvm::StringRef text);

/// Converts classes that nothing is in the way of. Memrefs of block scales and
/// global scales become arguments of functions, the latter with
/// `addGlobalScaleArguments`, otherwise they are constants of 1. Fails with an
/// error, before anything is changed, where a memref cannot be converted.
mlir::LogicalResult convertCaches(mlir::ModuleOp module,
                                  llvm::ArrayRef<FormatConversion> conversions,
                                  bool addGlobalScaleArguments);

/// Gives functions the types that their arguments have.
void updateFunctionTypes(mlir::ModuleOp module);

} // namespace kvq

#endif // KVQ_LIB_DIALECT_KVQ_TRANSFORMS_FORMATCONVERSION_H
