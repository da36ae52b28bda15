//===- KernelManifest.h - Kernels described for a runtime -------*- C++ -*-===//
//
// The launch manifest tells a runtime that knows nothing of MLIR how to launch
// kernels. docs/kernels.md describes it.
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_CONVERSION_KVQTOGPU_KERNELMANIFEST_H
#define KVQ_CONVERSION_KVQTOGPU_KERNELMANIFEST_H

#include "kvq/Conversion/KVQToGPU/KernelSignature.h"
#include "kvq/Support/Chip.h"
#include "mlir/IR/BuiltinOps.h"

namespace kvq {

/// The number of the schema of manifests. It grows with what readers of an
/// older schema would misunderstand; a new field alone does not change it.
inline constexpr int64_t kKernelManifestSchema = 1;

/// A kernel by its name in PTX.
struct NamedKernel {
  std::string name;
  KernelSignature signature;
};

/// The kernels of all `gpu.module`s of a module that carry a signature, in
/// their order. They are there until the kernels become a `gpu.binary`.
llvm::SmallVector<NamedKernel, 0> getNamedKernels(mlir::ModuleOp module);

/// A formula of sizes in the grammar of manifests: integers, names of size
/// parameters, `+ - *`, `ceildiv`, `floordiv`, `mod` and parentheses. `names`
/// are the names of the formula's symbols.
std::string printFormula(mlir::AffineExpr formula,
                         llvm::ArrayRef<llvm::StringRef> names);

/// The manifest of kernels compiled for a chip, as JSON with a final line
/// break. `features` is what getChipFeatures returned.
std::string makeKernelManifest(llvm::ArrayRef<NamedKernel> kernels,
                               const Chip &chip, llvm::StringRef features);

} // namespace kvq

#endif // KVQ_CONVERSION_KVQTOGPU_KERNELMANIFEST_H
