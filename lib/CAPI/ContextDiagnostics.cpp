//===- ContextDiagnostics.cpp - Forward a context's diagnostics -----------===//

#include "ContextDiagnostics.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Location.h"

using namespace mlir;
using namespace kvq::capi;

static KvqSeverity convertSeverity(DiagnosticSeverity severity) {
  switch (severity) {
  case DiagnosticSeverity::Note:
    return KvqSeverityNote;
  case DiagnosticSeverity::Warning:
    return KvqSeverityWarning;
  case DiagnosticSeverity::Error:
    return KvqSeverityError;
  case DiagnosticSeverity::Remark:
    return KvqSeverityRemark;
  }
  llvm_unreachable("unknown severity");
}

void ContextDiagnostics::forward(Diagnostic &diagnostic) const {
  LocationAttr location = diagnostic.getLocation();
  auto place = location.findInstanceOf<FileLineColLoc>();
  if (place)
    sink.report(convertSeverity(diagnostic.getSeverity()), diagnostic.str(),
                place.getFilename().getValue(), place.getLine(),
                place.getColumn());
  else
    sink.report(convertSeverity(diagnostic.getSeverity()), diagnostic.str());
  for (Diagnostic &note : diagnostic.getNotes())
    forward(note);
}
