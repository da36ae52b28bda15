//===- KernelLaunch.h - One kernel and the code that launches it ----------===//
//
// A kernel's parameters are declared where its body uses them: each call adds a
// parameter to the kernel and what the host passes for it. What the types
// decide (static sizes and strides) is a constant in the kernel and no
// parameter.
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_LIB_CONVERSION_KVQTOGPU_KERNELLAUNCH_H
#define KVQ_LIB_CONVERSION_KVQTOGPU_KERNELLAUNCH_H

#include "KernelBuilder.h"
#include "kvq/Conversion/KVQToGPU/KernelSignature.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/SymbolTable.h"

namespace kvq::kernel {

/// A size: its value in the kernel and its formula on the host.
struct Size {
  I32 value;
  mlir::AffineExpr formula;
};

enum class Access { Read = 1, Write = 2, ReadWrite = 3 };

class KernelLaunch {
public:
  /// Begins a kernel for `op`, whose host code goes where `host` points. The
  /// kernel goes into `module` under `name`, with a number behind it if
  /// another kernel has that name.
  KernelLaunch(mlir::OpBuilder &host, mlir::gpu::GPUModuleOp module,
               const Chip &chip, mlir::Operation *op, llvm::StringRef name);
  ~KernelLaunch();

  /// Builds the body of the kernel.
  KernelBuilder &body() { return *builder; }

  /// The address of the first element of a memref. Declared once for each
  /// name.
  Ptr pointer(llvm::StringRef name, mlir::Value memref, Access access);

  /// Tells that the pointers whose names begin with `prefix` are the parts of
  /// a cache.
  void addCache(llvm::StringRef prefix, mlir::Type type) {
    caches.push_back({prefix.str(), type});
  }

  /// The distance in bytes of neighbours in a dimension of a memref whose
  /// pointer is `name`. For 4-bit elements not of the innermost dimension.
  I64 stride(llvm::StringRef name, int64_t dimension);

  /// The size of a dimension of a memref whose pointer is `name`.
  Size size(llvm::StringRef name, int64_t dimension);

  /// A number of the host, f32.
  F32 scalar(llvm::StringRef name, mlir::Value value);

  /// Memory for the time of the launch; `bytes` is a formula of sizes.
  Ptr workspace(mlir::AffineExpr bytes, bool isZeroed);

  /// The operand of a pointer.
  mlir::Value getOperand(llvm::StringRef name) const;

  /// A constant formula.
  mlir::AffineExpr constant(int64_t value);

  /// Gives threads the registers that `blocks` blocks on a multiprocessor
  /// leave them, of 65536. Without a number ptxas spills some where one more
  /// block fits by that.
  void setBlocksPerProcessor(int64_t blocks);

  /// Ends the body and launches the kernel with blocks of `threads` threads
  /// along x; the formulas are those of sizes. `name` of the kernel that
  /// exists already is used if it has the same body.
  void launch(int64_t threads, mlir::AffineExpr x, mlir::AffineExpr y = {},
              mlir::AffineExpr z = {});

  /// The name of an attribute of a `gpu.alloc` in the function of the
  /// operation: the error word that the launches are to use.
  static constexpr llvm::StringLiteral errorWordAttrName = "kvq.error_word";

private:
  struct Parameter : public KernelParameter {
    mlir::Value argument, host;
  };
  struct MemrefInfo {
    std::string name;
    mlir::Value memref;
    mlir::memref::ExtractStridedMetadataOp metadata;
  };

  mlir::Value add(KernelParameter parameter, mlir::Type type, mlir::Value host);
  MemrefInfo &find(llvm::StringRef name);
  mlir::memref::ExtractStridedMetadataOp getMetadata(MemrefInfo &info);
  mlir::Value getHostPointer(MemrefInfo &info);
  Ptr declareErrorWord();
  Ptr toGlobal(mlir::Value argument);
  mlir::gpu::GPUFuncOp finishFunction(const KernelSignature &signature);
  llvm::SmallVector<mlir::Value> getHostSizes();
  mlir::AffineMap getMap(llvm::ArrayRef<mlir::AffineExpr> formulas);

  mlir::OpBuilder &host;
  mlir::gpu::GPUModuleOp module;
  mlir::Operation *op;
  mlir::gpu::GPUFuncOp function;
  std::unique_ptr<KernelBuilder> builder;
  llvm::SmallVector<Parameter> parameters;
  llvm::SmallVector<MemrefInfo> memrefs;
  llvm::SmallVector<KernelCache> caches;
  mlir::AffineExpr workspaceBytes;
  bool isWorkspaceZeroed = false;
  unsigned numSizes = 0;
};

} // namespace kvq::kernel

#endif // KVQ_LIB_CONVERSION_KVQTOGPU_KERNELLAUNCH_H
