//===- GPUCode.cpp - From a module to GPU kernels -------------------------===//

#include "GPUCode.h"
#include "kvq/Conversion/KVQToGPU/KernelManifest.h"
#include "kvq/Pipelines/Pipelines.h"
#include "kvq/Tools/ModuleTool.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Program.h"

using namespace kvq;
using namespace mlir;
using llvm::createStringError;

/// Runs passes on a module that were added by `add`. Each pass is trusted to
/// leave IR that verifies, which takes as long as many of them; the result is
/// verified.
static llvm::Error runPasses(ModuleOp module,
                             function_ref<void(PassManager &)> add) {
  PassManager manager(module.getContext(), module.getOperationName());
  manager.enableVerifier(false);
  add(manager);
  if (failed(manager.run(module)) || failed(verify(module)))
    return diagnosedError();
  return llvm::Error::success();
}

llvm::Error kvq::lowerForChip(ModuleOp module, const Chip &chip,
                              StringRef features, bool requireTensorCores,
                              bool withHost) {
  KVQToNVVMOptions options;
  options.chip = chip.name.str();
  options.features = features.str();
  options.requireTensorCores = requireTensorCores;
  if (withHost)
    return runPasses(module, [&](PassManager &manager) {
      buildKVQToNVVMPipeline(manager, options);
    });
  if (llvm::Error error = runPasses(module, [&](PassManager &manager) {
        addKVQToKernels(manager, options);
      }))
    return error;
  for (Operation &op : llvm::make_early_inc_range(*module.getBody()))
    if (!isa<gpu::GPUModuleOp>(op))
      op.erase();
  return runPasses(module, addKernelsToNVVM);
}

/// Has LLVM prepare every function for code generation as it does those of very
/// many blocks: by default it computes the dominators of all blocks anew with
/// each block that it changes, which takes longer than the selection of
/// instructions. The code is the same. An LLVM without the option does as it
/// would.
static void prepareAsHugeFunctions() {
  auto &options = llvm::cl::getRegisteredOptions();
  constexpr StringLiteral name = "cgpp-huge-func";
  if (auto option = options.find(name); option != options.end())
    option->second->addOccurrence(/*pos=*/0, name, /*Value=*/"0");
}

llvm::Error kvq::lowerKernelsToPTX(ModuleOp module) {
  prepareAsHugeFunctions();
  return runPasses(module, addKernelsToPTX);
}

static llvm::Error noKernels() {
  return createStringError("the module has no kvq operation: there is no "
                           "kernel to write for a GPU");
}

llvm::Expected<std::string> kvq::getManifest(ModuleOp module, const Chip &chip,
                                             StringRef features) {
  SmallVector<NamedKernel, 0> kernels = getNamedKernels(module);
  if (kernels.empty())
    return noKernels();
  return makeKernelManifest(kernels, chip, features);
}

llvm::Expected<std::string> kvq::getKernelLLVM(ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream os(text);
  for (auto kernels : module.getOps<gpu::GPUModuleOp>()) {
    llvm::LLVMContext context;
    std::unique_ptr<llvm::Module> translated =
        translateModuleToLLVMIR(kernels, context, kernels.getName());
    if (!translated)
      return createStringError("the kernels have no translation to LLVM IR");
    translated->setTargetTriple(llvm::Triple("nvptx64-nvidia-cuda"));
    translated->print(os, /*AAW=*/nullptr);
  }
  if (text.empty())
    return noKernels();
  return text;
}

llvm::Expected<std::string> kvq::getKernelPTX(ModuleOp module) {
  std::string text;
  for (auto binary : module.getOps<gpu::BinaryOp>())
    for (Attribute object : binary.getObjects()) {
      StringRef ptx = cast<gpu::ObjectAttr>(object).getObject().getValue();
      // What loads it at run time wants a terminating zero.
      text += ptx.rtrim('\0');
    }
  if (text.empty())
    return noKernels();
  return text;
}

/// A file that is removed with this object.
static llvm::Expected<SmallString<128>> makeFile(StringRef suffix) {
  SmallString<128> path;
  if (std::error_code code =
          llvm::sys::fs::createTemporaryFile("kvq-compile", suffix, path))
    return createStringError(code,
                             "cannot make a temporary file: " + code.message());
  return path;
}

llvm::Expected<std::string> kvq::assemble(StringRef ptx, const Chip &chip,
                                          StringRef ptxas) {
  llvm::ErrorOr<std::string> program = llvm::sys::findProgramByName(ptxas);
  if (!program)
    return createStringError("--emit=cubin needs NVIDIA's assembler, and there "
                             "is no program '" +
                             ptxas + "': expected --ptxas=PROGRAM");
  auto input = makeFile("ptx");
  if (!input)
    return input.takeError();
  llvm::FileRemover removeInput(*input);
  auto output = makeFile("cubin");
  if (!output)
    return output.takeError();
  llvm::FileRemover removeOutput(*output);
  auto log = makeFile("log");
  if (!log)
    return log.takeError();
  llvm::FileRemover removeLog(*log);

  if (llvm::Error error = llvm::writeToOutput(*input, [&](raw_ostream &os) {
        os << ptx;
        return llvm::Error::success();
      }))
    return error;
  std::string arch = ("-arch=" + chip.name).str();
  StringRef arguments[] = {*program, arch, *input, "-o", *output};
  std::optional<StringRef> redirects[] = {StringRef(""), StringRef(*log),
                                          StringRef(*log)};
  std::string message;
  int status = llvm::sys::ExecuteAndWait(*program, arguments, std::nullopt,
                                         redirects, /*SecondsToWait=*/0,
                                         /*MemoryLimit=*/0, &message);
  auto read = [](StringRef path) -> std::string {
    auto buffer = llvm::MemoryBuffer::getFile(path);
    return buffer ? (*buffer)->getBuffer().str() : std::string();
  };
  if (status != 0)
    return createStringError("'" + *program + "' failed: " + message +
                             StringRef(read(*log)).rtrim());
  std::string cubin = read(*output);
  if (cubin.empty())
    return createStringError("'" + *program + "' wrote nothing");
  return cubin;
}
