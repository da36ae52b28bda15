//===- Version.h - The project's version ----------------------------------===//

#ifndef KVQ_SUPPORT_VERSION_H
#define KVQ_SUPPORT_VERSION_H

#include "llvm/ADT/StringRef.h"

namespace kvq {

/// Returns the version of the project, for example "0.1.0".
llvm::StringRef getVersion();

} // namespace kvq

#endif // KVQ_SUPPORT_VERSION_H
