//===- GlobalScales.h - Where global scales of caches come from -----------===//
//
// The global scale is no part of a type: a cache that is written with one and
// read with another decodes to wrong values without an error. What a module
// shows of it is checked here.
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_LIB_DIALECT_KVQ_TRANSFORMS_GLOBALSCALES_H
#define KVQ_LIB_DIALECT_KVQ_TRANSFORMS_GLOBALSCALES_H

#include "CacheClasses.h"

namespace kvq {

/// Where the global scale of the handles of a class comes from, for a remark:
/// "the constant 0.5", "argument #2". The format has one.
std::string describeGlobalScale(const CacheClass &cacheClass);

/// Checks that caches that are made of the same data have one global scale:
/// different constants are an error that names both caches, and what is not
/// known to be equal is a remark. "The same" is one value, seen through casts.
mlir::LogicalResult verifyGlobalScales(llvm::ArrayRef<CacheClass> classes);

} // namespace kvq

#endif // KVQ_LIB_DIALECT_KVQ_TRANSFORMS_GLOBALSCALES_H
