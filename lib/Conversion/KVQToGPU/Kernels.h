//===- Kernels.h - The kernels of the operations --------------------------===//

#ifndef KVQ_LIB_CONVERSION_KVQTOGPU_KERNELS_H
#define KVQ_LIB_CONVERSION_KVQTOGPU_KERNELS_H

#include "KernelLaunch.h"
#include "kvq/Dialect/KVQ/IR/KVQOps.h"

namespace kvq::kernel {

/// Where kernels go and what they are for.
struct KernelTarget {
  mlir::gpu::GPUModuleOp module;
  const Chip &chip;
  /// Whether it is an error if the kernel that an operation asks for does not
  /// apply to it.
  bool requireTensorCores;
};

/// Each builds the kernel of an operation in buffer form and, where `host`
/// points, its launch. One file each.
void emitKernel(QuantizeOp op, mlir::OpBuilder &host, KernelTarget target);
void emitKernel(DequantizeOp op, mlir::OpBuilder &host, KernelTarget target);
void emitKernel(AppendOp op, mlir::OpBuilder &host, KernelTarget target);
void emitKernel(QuantizeAppendOp op, mlir::OpBuilder &host,
                KernelTarget target);
void emitKernel(GatherOp op, mlir::OpBuilder &host, KernelTarget target);
void emitKernel(MergeStatesOp op, mlir::OpBuilder &host, KernelTarget target);
void emitKernel(ConvertScaleLayoutOp op, mlir::OpBuilder &host,
                KernelTarget target);
void emitKernel(CopyPagesOp op, mlir::OpBuilder &host, KernelTarget target);

/// Builds one kernel of two appends that findAppendPartner paired.
void emitKernel(QuantizeAppendOp first, QuantizeAppendOp second,
                mlir::OpBuilder &host, KernelTarget target);

/// Chooses the kernel by the MMA kinds of the operation. Fails with an error if
/// there is none.
mlir::LogicalResult emitKernel(DequantAttentionOp op, mlir::OpBuilder &host,
                               KernelTarget target);

/// The kernel that any chip and any operation can have. Fails with an error if
/// there is not enough shared memory for it.
mlir::LogicalResult emitPortableAttention(DequantAttentionOp op,
                                          mlir::OpBuilder &host,
                                          KernelTarget target);

/// Parts of names of kernels.
std::string getName(KVFormatInterface format);
std::string getName(CacheType type);

} // namespace kvq::kernel

#endif // KVQ_LIB_CONVERSION_KVQTOGPU_KERNELS_H
