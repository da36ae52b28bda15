//===- CHeader.h - C prototypes of compiled functions -----------*- C++ -*-===//

#ifndef KVQ_TOOLS_KVQCOMPILE_CHEADER_H
#define KVQ_TOOLS_KVQCOMPILE_CHEADER_H

#include "kvq/ExecutionEngine/EntrySignature.h"

namespace kvq {

/// A function that a header declares.
struct CFunction {
  EntrySignature signature;
  /// Whether it returns a status after its results.
  bool hasStatus = false;
  /// What the source calls the arguments; empty where it has no name.
  llvm::SmallVector<std::string> names;
};

/// Returns the text of a C99 and C++ header with the descriptors and prototypes
/// of functions. `source` names the module; `libraries` are those that the
/// object must be linked with.
std::string makeCHeader(llvm::ArrayRef<CFunction> functions,
                        llvm::StringRef source,
                        llvm::ArrayRef<std::string> libraries);

} // namespace kvq

#endif // KVQ_TOOLS_KVQCOMPILE_CHEADER_H
