//===- Core.h - Version and diagnostics of the C API ------------*- C -*---===//
//
// Conventions of the C API of kvq: it is C99, shares handles and strings with
// MLIR's C API (`mlir-c/IR.h`, whose functions libKVQ-C exports too), throws
// no exceptions and does not end the process on bad input. A function that can
// fail returns a failed MlirLogicalResult or a null handle and says why through
// a callback, which may be null. Strings need not end with a NUL.
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_C_CORE_H
#define KVQ_C_CORE_H

#include "mlir-c/Support.h"

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// Returns the version of kvq, for example "0.1.0". It lives as long as the
/// process.
MLIR_CAPI_EXPORTED MlirStringRef kvqGetVersion(void);

typedef enum KvqSeverity {
  KvqSeverityError = 0,
  KvqSeverityWarning = 1,
  KvqSeverityNote = 2,
  KvqSeverityRemark = 3
} KvqSeverity;

/// A message to the user. A note belongs to the diagnostic before it. Strings
/// live until the callback returns.
typedef struct KvqDiagnostic {
  KvqSeverity severity;
  MlirStringRef message;
  /// Where it is, from 1; an empty name and zeros where that is not known.
  MlirStringRef file;
  unsigned line;
  unsigned column;
} KvqDiagnostic;

/// Receives diagnostics one at a time, though not always on the caller's
/// thread. `userData` is what came with the callback.
typedef void (*KvqDiagnosticCallback)(const KvqDiagnostic *diagnostic,
                                      void *userData);

#ifdef __cplusplus
}
#endif

#endif // KVQ_C_CORE_H
