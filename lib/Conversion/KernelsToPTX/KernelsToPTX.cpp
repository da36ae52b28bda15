//===- KernelsToPTX.cpp - From modules of kernels to PTX ------------------===//

#include "kvq/Conversion/KernelsToPTX/KernelsToPTX.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Target/LLVM/NVVM/Utils.h"
#include "llvm/IR/Module.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Target/TargetMachine.h"

using namespace mlir;

namespace kvq {
#define GEN_PASS_DEF_CONVERTKERNELSTOPTX
#include "kvq/Conversion/Passes.h.inc"
} // namespace kvq

using namespace kvq;

namespace {

/// Makes PTX of one module for one target.
class Serializer : public NVVM::SerializeGPUModuleBase {
public:
  using SerializeGPUModuleBase::SerializeGPUModuleBase;

protected:
  std::optional<SmallVector<std::unique_ptr<llvm::Module>>>
  loadBitcodeFiles(llvm::Module &module) override;
  LogicalResult optimizeModule(llvm::Module &module, int level) override;
  FailureOr<SmallVector<char, 0>> moduleToObject(llvm::Module &module) override;
};

class ConvertKernelsToPTX
    : public kvq::impl::ConvertKernelsToPTXBase<ConvertKernelsToPTX> {
public:
  void runOnOperation() override;
};

} // namespace

/// libdevice is loaded only for a module that calls it.
std::optional<SmallVector<std::unique_ptr<llvm::Module>>>
Serializer::loadBitcodeFiles(llvm::Module &module) {
  auto isOfLibdevice = [](const llvm::Function &function) {
    return function.isDeclaration() && function.getName().starts_with("__nv_");
  };
  if (target.getLink() || llvm::any_of(module, isOfLibdevice))
    return SerializeGPUModuleBase::loadBitcodeFiles(module);
  return SmallVector<std::unique_ptr<llvm::Module>>();
}

/// LLVM's pipeline without vectorization: kernels come with the vectors that
/// the chip has, and the search for more takes a third of the time and finds
/// none that ptxas makes fewer instructions of.
LogicalResult Serializer::optimizeModule(llvm::Module &module, int level) {
  FailureOr<llvm::TargetMachine *> machine = getOrCreateTargetMachine();
  if (failed(machine))
    return failure();
  (*machine)->setOptLevel(static_cast<llvm::CodeGenOptLevel>(level));
  const llvm::OptimizationLevel levels[] = {
      llvm::OptimizationLevel::O0, llvm::OptimizationLevel::O1,
      llvm::OptimizationLevel::O2, llvm::OptimizationLevel::O3};
  llvm::PipelineTuningOptions tuning;
  tuning.LoopInterleaving = false;
  tuning.LoopVectorization = false;
  tuning.SLPVectorization = false;
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder(*machine, tuning);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, modules);
  builder.buildPerModuleDefaultPipeline(levels[level]).run(module, modules);
  return success();
}

FailureOr<SmallVector<char, 0>>
Serializer::moduleToObject(llvm::Module &module) {
  FailureOr<llvm::TargetMachine *> machine = getOrCreateTargetMachine();
  if (failed(machine))
    return failure();
  FailureOr<SmallString<0>> text = translateModuleToISA(
      module, **machine, [&] { return getOperation().emitError(); });
  if (failed(text))
    return failure();
  SmallVector<char, 0> object(text->begin(), text->end());
  // What loads it at run time wants a terminating zero.
  object.push_back('\0');
  return object;
}

void ConvertKernelsToPTX::runOnOperation() {
  Serializer::init();
  gpu::TargetOptions options(/*toolkitPath=*/{}, /*librariesToLink=*/{},
                             /*cmdOptions=*/{}, /*elfSection=*/{},
                             gpu::CompilationTarget::Assembly);
  for (auto kernels :
       llvm::make_early_inc_range(getOperation().getOps<gpu::GPUModuleOp>())) {
    SmallVector<Attribute> objects;
    if (!kernels.getTargetsAttr()) {
      kernels.emitOpError("has no target, expected an #nvvm.target");
      return signalPassFailure();
    }
    for (Attribute attribute : kernels.getTargetsAttr().getValue()) {
      auto target = dyn_cast<NVVM::NVVMTargetAttr>(attribute);
      if (!target) {
        kernels.emitOpError()
            << "has the target " << attribute << ", expected an #nvvm.target";
        return signalPassFailure();
      }
      auto ptx = Serializer(*kernels, target, options).run();
      if (!ptx)
        return signalPassFailure();
      objects.push_back(cast<gpu::TargetAttrInterface>(attribute).createObject(
          kernels, *ptx, options));
    }
    OpBuilder b(kernels);
    gpu::BinaryOp::create(b, kernels.getLoc(), kernels.getName(),
                          kernels.getOffloadingHandlerAttr(),
                          b.getArrayAttr(objects));
    kernels.erase();
  }
}
