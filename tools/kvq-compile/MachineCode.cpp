//===- MachineCode.cpp - From a lowered module to machine code ------------===//

#include "MachineCode.h"
#include "mlir/ExecutionEngine/ExecutionEngine.h"
#include "mlir/ExecutionEngine/OptUtils.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/SubtargetFeature.h"

using namespace kvq;
using namespace mlir;
using llvm::createStringError;

llvm::Expected<std::unique_ptr<llvm::TargetMachine>>
kvq::createHostMachine(StringRef cpu, StringRef features, unsigned optLevel) {
  llvm::InitializeNativeTarget();
  llvm::InitializeNativeTargetAsmPrinter();
  llvm::Triple triple(llvm::sys::getProcessTriple());
  std::string message;
  const llvm::Target *target =
      llvm::TargetRegistry::lookupTarget(triple, message);
  if (!target)
    return createStringError(message);

  llvm::SubtargetFeatures all;
  bool isNative = cpu == "native";
  if (isNative)
    for (const auto &feature : llvm::sys::getHostCPUFeatures())
      all.AddFeature(feature.first(), feature.second);

  // LLVM only warns about names that it does not know.
  std::unique_ptr<llvm::MCSubtargetInfo> info(
      target->createMCSubtargetInfo(triple, "", ""));
  if (!isNative && !info->isCPUStringValid(cpu))
    return createStringError(
        "expected --cpu=native or a processor that LLVM knows for " +
        triple.str() + ", found '" + cpu + "'");
  SmallVector<StringRef> names;
  features.split(names, ',', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
  for (StringRef name : names) {
    StringRef bare = name;
    bool hasSign = bare.consume_front("+") || bare.consume_front("-");
    bool isKnown = llvm::any_of(info->getAllProcessorFeatures(),
                                [&](const llvm::SubtargetFeatureKV &known) {
                                  return bare == known.Key;
                                });
    if (!hasSign || !isKnown)
      return createStringError(
          "expected --features=+NAME,-NAME,... of features that LLVM "
          "knows for " +
          triple.str() + ", found '" + name + "'");
    all.AddFeature(name);
  }

  auto level = llvm::CodeGenOpt::getLevel(static_cast<int>(optLevel));
  if (!level)
    return createStringError(
        "expected an optimization level of 0 to 3, found " + Twine(optLevel));
  std::unique_ptr<llvm::TargetMachine> machine(target->createTargetMachine(
      triple, isNative ? llvm::sys::getHostCPUName() : cpu, all.getString(),
      llvm::TargetOptions(), llvm::Reloc::PIC_, std::nullopt, *level));
  if (!machine)
    return createStringError("LLVM cannot make code for " + triple.str());
  return machine;
}

llvm::Expected<std::unique_ptr<llvm::Module>>
kvq::translateAndOptimize(ModuleOp module, llvm::LLVMContext &context,
                          llvm::TargetMachine &machine, unsigned optLevel) {
  std::unique_ptr<llvm::Module> translated =
      translateModuleToLLVMIR(module, context);
  if (!translated)
    return createStringError(
        "the lowered module has no translation to LLVM IR");
  ExecutionEngine::setupTargetTripleAndDataLayout(translated.get(), &machine);
  auto optimize =
      makeOptimizingTransformer(optLevel, /*sizeLevel=*/0, &machine);
  if (llvm::Error error = optimize(translated.get()))
    return std::move(error);
  return translated;
}

llvm::Error kvq::emitObject(llvm::Module &module, llvm::TargetMachine &machine,
                            SmallVectorImpl<char> &object) {
  llvm::raw_svector_ostream os(object);
  llvm::legacy::PassManager passes;
  if (machine.addPassesToEmitFile(passes, os, /*DwoOut=*/nullptr,
                                  llvm::CodeGenFileType::ObjectFile))
    return createStringError("LLVM cannot write object files for " +
                             machine.getTargetTriple().str());
  passes.run(module);
  return llvm::Error::success();
}
