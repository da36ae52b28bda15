//===- Diagnostics.h - Diagnostics for a C callback -------------*- C++ -*-===//

#ifndef KVQ_LIB_CAPI_DIAGNOSTICS_H
#define KVQ_LIB_CAPI_DIAGNOSTICS_H

#include "kvq-c/Core.h"
#include "mlir/CAPI/Support.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/Error.h"

namespace kvq::capi {

/// A callback with its user data.
class DiagnosticSink {
public:
  DiagnosticSink(KvqDiagnosticCallback callback, void *userData)
      : callback(callback), userData(userData) {}

  void report(KvqSeverity severity, llvm::StringRef message,
              llvm::StringRef file = "", unsigned line = 0,
              unsigned column = 0) const {
    if (!callback)
      return;
    KvqDiagnostic diagnostic{severity, wrap(message), wrap(file), line, column};
    callback(&diagnostic, userData);
  }

  /// Reports an error without a place.
  MlirLogicalResult fail(const llvm::Twine &message) const {
    report(KvqSeverityError, message.str());
    return mlirLogicalResultFailure();
  }

  /// Reports an error, or nothing if there is none.
  MlirLogicalResult finish(llvm::Error error) const {
    if (error)
      return fail(llvm::toString(std::move(error)));
    return mlirLogicalResultSuccess();
  }

private:
  KvqDiagnosticCallback callback;
  void *userData;
};

} // namespace kvq::capi

#endif // KVQ_LIB_CAPI_DIAGNOSTICS_H
