//===- Pipelines.h - The named pass pipelines -----------------------------===//

#ifndef KVQ_PIPELINES_PIPELINES_H
#define KVQ_PIPELINES_PIPELINES_H

#include "mlir/Pass/PassOptions.h"

namespace mlir {
class DialectRegistry;
class OpPassManager;
} // namespace mlir

namespace kvq {

/// What runs parallel loops on the CPU.
enum class CPUThreads {
  /// The calling thread alone.
  None,
  /// The thread pool of MLIR's async runtime (libmlir_async_runtime).
  Async,
  /// OpenMP (libomp).
  OpenMP
};

/// The values of an option `threads` of a pipeline or a tool.
inline llvm::cl::ValuesClass getCPUThreadsValues() {
  return llvm::cl::values(
      clEnumValN(CPUThreads::None, "none", "the calling thread alone"),
      clEnumValN(CPUThreads::Async, "async",
                 "the thread pool of MLIR's libmlir_async_runtime"),
      clEnumValN(CPUThreads::OpenMP, "openmp", "the OpenMP runtime libomp"));
}

/// Options of `kvq-optimize`. Those that have the name of a pass's option are
/// handed to it.
struct KVQOptimizeOptions
    : public mlir::PassPipelineOptions<KVQOptimizeOptions> {
  Option<std::string> chip{
      *this, "chip",
      llvm::cl::desc("The chip to optimize for, as sm_100a, or cpu"),
      llvm::cl::init("sm_100a")};
  Option<std::string> keyFormat{
      *this, "key-format",
      llvm::cl::desc("The format that keys are to have, or fp4 to decide for "
                     "the chip; nothing to keep what they have"),
      llvm::cl::init("")};
  Option<std::string> valueFormat{
      *this, "value-format",
      llvm::cl::desc("The format that values are to have, or fp4 to decide "
                     "for the chip; nothing to keep what they have"),
      llvm::cl::init("")};
  Option<std::string> formatsFile{
      *this, "formats-file",
      llvm::cl::desc("A JSON file with formats of single layers"),
      llvm::cl::init("")};
  Option<std::string> globalScale{
      *this, "global-scale",
      llvm::cl::desc("Where global scales without an attribute come from: "
                     "argument, or one"),
      llvm::cl::init("argument")};
  Option<std::string> valueReader{
      *this, "value-reader",
      llvm::cl::desc("The kernels that attention reads values with: kvq, or "
                     "trtllm-gen"),
      llvm::cl::init("kvq")};
  Option<double> maxError{
      *this, "max-error",
      llvm::cl::desc("The relative error of a product that an MMA kind may "
                     "add"),
      llvm::cl::init(0.011)};
  Option<double> maxStoredError{
      *this, "max-stored-error",
      llvm::cl::desc("The relative error of values stored in fp4 to stay "
                     "within, if it can be"),
      llvm::cl::init(0.11)};
  Option<int64_t> splitLength{*this, "split-length",
                              llvm::cl::desc("Tokens of a chunk of attention"),
                              llvm::cl::init(512)};
  Option<bool> strict{
      *this, "strict",
      llvm::cl::desc("A cache that cannot be converted, and an operation on a "
                     "cache that cannot be fused, are errors"),
      llvm::cl::init(false)};
};

/// Adds the passes that make of a module with `kvq` operations on tensors, in
/// which caches may be floats and quantize, append, gather, dequantize and
/// attention may stand apart, one where quantization and attention are fused
/// and formats, scale layouts, MMA kinds and KV splits are decided and checked
/// for a chip. For the chip "cpu" no MMA kinds are chosen and nothing is split.
void buildKVQOptimizePipeline(mlir::OpPassManager &pm,
                              const KVQOptimizeOptions &options);

/// Options of `kvq-to-cpu`.
struct KVQToCPUOptions : public mlir::PassPipelineOptions<KVQToCPUOptions> {
  Option<bool> reference{
      *this, "reference",
      llvm::cl::desc("Lower to plain scalar loops, the meaning of the dialect, "
                     "instead of vectors and threads"),
      llvm::cl::init(false)};
  Option<CPUThreads> threads{
      *this, "threads",
      llvm::cl::desc("What runs parallel loops. The lowered module needs its "
                     "library; results are the same with all of them"),
      llvm::cl::init(CPUThreads::Async), getCPUThreadsValues()};
};

/// Adds the passes that lower a module with `kvq` operations, on tensors or
/// memrefs, to the LLVM dialect for the CPU. A function with operations that
/// check their indices gains a last i32 result, the status of
/// `kvq/Support/RuntimeError.h`.
void buildKVQToCPUPipeline(mlir::OpPassManager &pm,
                           const KVQToCPUOptions &options);

/// Options of `kvq-to-nvvm` and `kvq-to-ptx`.
struct KVQToNVVMOptions : public mlir::PassPipelineOptions<KVQToNVVMOptions> {
  Option<std::string> chip{
      *this, "chip", llvm::cl::desc("The chip to make kernels for, as sm_90"),
      llvm::cl::init("sm_80")};
  Option<std::string> features{
      *this, "features",
      llvm::cl::desc("The PTX version, as +ptx88; that of the chip by default"),
      llvm::cl::init("")};
  Option<bool> requireTensorCores{
      *this, "require-tensor-cores",
      llvm::cl::desc("An MMA kind of attention that no kernel computes on the "
                     "chip is an error"),
      llvm::cl::init(false)};
};

/// Adds the passes that lower a module with `kvq` operations, on tensors or
/// memrefs, to GPU kernels in the nvvm dialect and to host code in the LLVM
/// dialect that launches them through the functions of MLIR's GPU runtime
/// libraries (mgpuLaunchKernel and others). All memory that operations touch
/// has to be accessible to the device. Functions gain a status as with
/// `kvq-to-cpu`.
void buildKVQToNVVMPipeline(mlir::OpPassManager &pm,
                            const KVQToNVVMOptions &options);

/// Adds the first passes of that pipeline, which make the kernels and, in the
/// host code, their launches.
void addKVQToKernels(mlir::OpPassManager &pm, const KVQToNVVMOptions &options);

/// Adds the passes of that pipeline which lower kernels, for a module that has
/// no host code any more.
void addKernelsToNVVM(mlir::OpPassManager &pm);

/// Adds what makes PTX in a `gpu.binary` of the kernels of that pipeline.
void addKernelsToPTX(mlir::OpPassManager &pm);

/// Both in turn.
void buildKVQToPTXPipeline(mlir::OpPassManager &pm,
                           const KVQToNVVMOptions &options);

/// Registers the interfaces of upstream dialects that these two need.
void registerGPUExtensions(mlir::DialectRegistry &registry);

/// Registers the pipelines by name.
void registerPipelines();

} // namespace kvq

#endif // KVQ_PIPELINES_PIPELINES_H
