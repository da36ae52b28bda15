//===- ContextDiagnostics.h - Forward a context's diagnostics ---*- C++ -*-===//

#ifndef KVQ_LIB_CAPI_CONTEXTDIAGNOSTICS_H
#define KVQ_LIB_CAPI_CONTEXTDIAGNOSTICS_H

#include "Diagnostics.h"
#include "mlir/IR/Diagnostics.h"

namespace kvq::capi {

/// Sends the diagnostics of a context to a sink as long as it lives. Nothing
/// is printed, without a callback either.
class ContextDiagnostics : public mlir::ScopedDiagnosticHandler {
public:
  ContextDiagnostics(mlir::MLIRContext *context, DiagnosticSink sink)
      : ScopedDiagnosticHandler(context), sink(sink) {
    setHandler([this](mlir::Diagnostic &diagnostic) { forward(diagnostic); });
  }

private:
  void forward(mlir::Diagnostic &diagnostic) const;

  DiagnosticSink sink;
};

} // namespace kvq::capi

#endif // KVQ_LIB_CAPI_CONTEXTDIAGNOSTICS_H
