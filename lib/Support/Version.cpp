//===- Version.cpp - The project's version --------------------------------===//

#include "kvq/Support/Version.h"

llvm::StringRef kvq::getVersion() { return KVQ_VERSION_STRING; }
