//===- InitAllDialects.h - Register the dialects --------------------------===//

#ifndef KVQ_INITALLDIALECTS_H
#define KVQ_INITALLDIALECTS_H

#include "kvq/Dialect/KVQ/IR/KVQDialect.h"
#include "kvq/Dialect/TCGen05/IR/TCGen05Dialect.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Async/IR/Async.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/NVGPU/IR/NVGPUDialect.h"
#include "mlir/Dialect/OpenMP/OpenMPDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Transform/IR/TransformDialect.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/DialectRegistry.h"

namespace kvq {

/// Registers kvq's dialects and those upstream dialects that its pipelines
/// start from or pass through.
inline void registerAllDialects(mlir::DialectRegistry &registry) {
  registry.insert<
      KVQDialect, tcgen05::TCGen05Dialect, mlir::affine::AffineDialect,
      mlir::arith::ArithDialect, mlir::async::AsyncDialect,
      mlir::bufferization::BufferizationDialect, mlir::cf::ControlFlowDialect,
      mlir::func::FuncDialect, mlir::gpu::GPUDialect, mlir::LLVM::LLVMDialect,
      mlir::linalg::LinalgDialect, mlir::math::MathDialect,
      mlir::memref::MemRefDialect, mlir::nvgpu::NVGPUDialect,
      mlir::NVVM::NVVMDialect, mlir::omp::OpenMPDialect, mlir::scf::SCFDialect,
      mlir::tensor::TensorDialect, mlir::transform::TransformDialect,
      mlir::ub::UBDialect, mlir::vector::VectorDialect>();
}

} // namespace kvq

#endif // KVQ_INITALLDIALECTS_H
