//===- Compiler.h - Parse modules and run pipelines -------------*- C -*---===//

#ifndef KVQ_C_COMPILER_H
#define KVQ_C_COMPILER_H

#include "kvq-c/Core.h"
#include "mlir-c/IR.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Returns a context with the dialects of kvq and those that its pipelines
/// use. Destroy it with mlirContextDestroy, after everything that belongs to
/// it.
MLIR_CAPI_EXPORTED MlirContext kvqContextCreate(void);

/// Parses and verifies a module, as text or bytecode. `file` is the name for
/// its locations. Returns a null module on failure. Destroy a module with
/// mlirModuleDestroy.
MLIR_CAPI_EXPORTED MlirModule kvqModuleParse(MlirContext context,
                                             MlirStringRef source,
                                             MlirStringRef file,
                                             KvqDiagnosticCallback callback,
                                             void *userData);

/// Runs passes over a module. `pipeline` is what kvq-opt takes for
/// --pass-pipeline, with its anchor ("builtin.module(kvq-to-cpu{reference})"),
/// or the list inside of it ("kvq-verify-handles,canonicalize"). Where a pass
/// fails, the module is left as that pass leaves it: use it no further. Where
/// the pipeline cannot be read, the module is unchanged.
MLIR_CAPI_EXPORTED MlirLogicalResult
kvqModuleRunPipeline(MlirModule module, MlirStringRef pipeline,
                     KvqDiagnosticCallback callback, void *userData);

/// Verifies a module.
MLIR_CAPI_EXPORTED MlirLogicalResult kvqModuleVerify(
    MlirModule module, KvqDiagnosticCallback callback, void *userData);

/// Prints a module as text, in pieces.
MLIR_CAPI_EXPORTED void
kvqModulePrint(MlirModule module, MlirStringCallback callback, void *userData);

#ifdef __cplusplus
}
#endif

#endif // KVQ_C_COMPILER_H
