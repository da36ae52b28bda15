//===- ArgumentNames.h - Names of arguments in the source -------*- C++ -*-===//

#ifndef KVQ_EXECUTIONENGINE_ARGUMENTNAMES_H
#define KVQ_EXECUTIONENGINE_ARGUMENTNAMES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/Support/SourceMgr.h"
#include <string>

namespace kvq {

/// Returns a name for each argument of a function, empty where there is none:
/// that of its location, or what the source text calls it ("%q").
llvm::SmallVector<std::string> getArgumentNames(mlir::func::FuncOp function,
                                                llvm::SourceMgr &sources);

} // namespace kvq

#endif // KVQ_EXECUTIONENGINE_ARGUMENTNAMES_H
