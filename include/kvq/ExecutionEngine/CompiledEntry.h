//===- CompiledEntry.h - A function compiled for this processor -*- C++ -*-===//

#ifndef KVQ_EXECUTIONENGINE_COMPILEDENTRY_H
#define KVQ_EXECUTIONENGINE_COMPILEDENTRY_H

#include "kvq/ExecutionEngine/EntrySignature.h"
#include "kvq/ExecutionEngine/HostBuffer.h"
#include "kvq/ExecutionEngine/RuntimeLibraries.h"
#include "llvm/ADT/FunctionExtras.h"
#include <variant>

namespace mlir {
class ExecutionEngine;
} // namespace mlir

namespace kvq {

/// A scalar in the bytes that compiled code expects.
struct HostScalar {
  alignas(16) char bytes[16] = {};
};

/// An argument of a call.
using HostArgument = std::variant<HostScalar, HostBuffer>;

/// Reads a scalar of the IR from a text: decimal or 0x integers, true and
/// false for i1, and whatever APFloat reads, rounded to nearest even; "inf" and
/// "nan" for floats. Fails with "expected X, found Y".
llvm::Expected<HostScalar> parseScalar(const HostType &type,
                                       llvm::StringRef text);

/// Makes an argument from what a user names: a .npy file, or a number for a
/// scalar or an array without dimensions.
llvm::Expected<HostArgument> makeArgument(const HostType &type,
                                          llvm::StringRef text);

/// Erases the functions that the entry does not reach through symbols, so that
/// nothing else is compiled. To be called before the pipeline runs.
void keepOnlyEntry(mlir::ModuleOp module, llvm::StringRef name);

/// Marks the function so that lowering gives it the C interface that
/// `CompiledEntry` calls. To be called before the pipeline runs.
void requestCInterface(mlir::ModuleOp module, llvm::StringRef name);

/// Registers the translations to LLVM IR that the lowered module needs.
void registerExecutionEngine(mlir::DialectRegistry &registry);

/// A function of a module in the LLVM dialect, compiled to machine code.
class CompiledEntry {
public:
  /// Compiles the module for the processor it runs on. `signature` is that of
  /// the function before lowering; the lowered one may have one more result,
  /// an i32 status. Emits an error at the function if its lowered form is a
  /// different one. Kernels of the module are run by `gpuRuntime`, as
  /// findRuntimeLibraries finds it; the memory of arguments, and what the
  /// function allocates, is then made accessible to them.
  static llvm::Expected<CompiledEntry>
  create(mlir::ModuleOp module, EntrySignature signature, unsigned optLevel = 3,
         GPURuntime gpuRuntime = GPURuntime::None,
         llvm::StringRef gpuLibrary = "");
  CompiledEntry(CompiledEntry &&);
  ~CompiledEntry();

  /// Calls the function once. Memory of memref arguments is written in place;
  /// that of tensor arguments may be overwritten. Fails with one line for each
  /// error that the function reports through `kvq_report`, or if its status is
  /// not 0. Calls from several threads are run one after the other, as
  /// `kvq_report` tells no call from another.
  llvm::Expected<llvm::SmallVector<NpyArray>>
  call(llvm::MutableArrayRef<HostArgument> arguments);

  /// The time that the last call took in the function itself, in seconds.
  double lastCallSeconds() const { return callSeconds; }

  const EntrySignature &getSignature() const { return signature; }

private:
  CompiledEntry();

  EntrySignature signature;
  bool hasStatus = false;
  double callSeconds = 0;
  std::unique_ptr<mlir::ExecutionEngine> engine;
  void (*function)(void **) = nullptr;
  /// What makes memory accessible to kernels; null without kernels.
  void (*registerHost)(void *, uint64_t) = nullptr;
  void (*unregisterHost)(void *) = nullptr;
  /// The constants and variables of the module, which kernels may read, with
  /// their sizes in bytes. Empty without kernels.
  llvm::SmallVector<std::pair<void *, size_t>> globals;
};

} // namespace kvq

#endif // KVQ_EXECUTIONENGINE_COMPILEDENTRY_H
