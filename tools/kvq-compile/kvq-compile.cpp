//===- kvq-compile.cpp - Compile a module ahead of time -------------------===//

#include "CHeader.h"
#include "GPUCode.h"
#include "MachineCode.h"
#include "kvq/ExecutionEngine/ArgumentNames.h"
#include "kvq/ExecutionEngine/CPUPipeline.h"
#include "kvq/ExecutionEngine/CompiledEntry.h"
#include "kvq/ExecutionEngine/RuntimeLibraries.h"
#include "kvq/Tools/ModuleTool.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/Path.h"

using namespace kvq;
using namespace mlir;
using llvm::createStringError;
namespace cl = llvm::cl;

static cl::OptionCategory category("kvq-compile options");

static cl::opt<std::string> inputFile(cl::Positional, cl::Required,
                                      cl::desc("IN.mlir"), cl::cat(category));

static cl::opt<std::string> targetName(
    "target", cl::value_desc("TARGET"), cl::init("cpu"),
    cl::desc("What to compile for: cpu (vectorized and threaded; the default), "
             "cpu-reference (the plain lowering), or GPU kernels for sm_80, "
             "sm_86, sm_89, sm_90, sm_90a, sm_100a or sm_120a"),
    cl::cat(category));

namespace {
enum class Emit { MLIR, LLVMIR, Object, PTX, Cubin };
} // namespace

static cl::opt<Emit>
    emit("emit", cl::desc("What to write:"),
         cl::values(clEnumValN(Emit::MLIR, "mlir",
                               "the lowered module in the LLVM dialect"),
                    clEnumValN(Emit::LLVMIR, "llvm",
                               "LLVM IR, optimized for cpu; of a GPU the "
                               "kernels before optimization"),
                    clEnumValN(Emit::Object, "object",
                               "cpu: a position-independent object file (the "
                               "default)"),
                    clEnumValN(Emit::PTX, "ptx",
                               "GPU: the kernels in PTX (the default)"),
                    clEnumValN(Emit::Cubin, "cubin",
                               "GPU: the kernels in machine code, by ptxas")),
         cl::init(Emit::Object), cl::cat(category));

static cl::opt<std::string>
    outputFile("o", cl::value_desc("OUT"), cl::init("-"),
               cl::desc("The file to write; the standard output by default"),
               cl::cat(category));

static cl::opt<std::string> headerFile(
    "header", cl::value_desc("H.h"),
    cl::desc("Also write a C header with the prototypes of all public "
             "functions, which are called as _mlir_ciface_NAME"),
    cl::cat(category));

static cl::opt<std::string> manifestFile(
    "manifest", cl::value_desc("M.json"),
    cl::desc("Of a GPU also write how to launch the kernels: their parameters, "
             "grids and memory, and the layout of caches"),
    cl::cat(category));

static cl::opt<std::string> cpuName(
    "cpu", cl::value_desc("NAME"), cl::init("native"),
    cl::desc("The processor to compile for: native (the default) is this one "
             "with its features, generic is the least that the architecture "
             "has, other names are LLVM's"),
    cl::cat(category));

static cl::opt<std::string> featureNames(
    "features", cl::value_desc("+A,-B,..."),
    cl::desc("Features to add to or take from the processor's; of a "
             "GPU the PTX version, as +ptx88"),
    cl::cat(category));

static cl::opt<bool> requireTensorCores(
    "require-tensor-cores",
    cl::desc("Of a GPU: attention whose MMA kinds (qk, pv) no kernel computes "
             "on the chip is an error; otherwise the portable kernel takes its "
             "place"),
    cl::cat(category));

static cl::opt<std::string>
    ptxasName("ptxas", cl::value_desc("PROGRAM"), cl::init("ptxas"),
              cl::desc("NVIDIA's assembler, for --emit=cubin"),
              cl::cat(category));

static cl::opt<CPUThreads>
    threads("parallel", cl::desc("What runs the parallel loops of target cpu:"),
            getCPUThreadsValues(), cl::init(CPUThreads::Async),
            cl::cat(category));

static bool isForCPU() {
  return targetName == "cpu" || targetName == "cpu-reference";
}

/// Checks what the command line alone decides, and what it leaves open.
static llvm::Error checkOptions() {
  bool isGPU = !isForCPU();
  if (isGPU) {
    auto chip = getChip(targetName);
    if (!chip) {
      llvm::consumeError(chip.takeError());
      return createStringError("expected --target=cpu, cpu-reference, " +
                               getChipNames() + ", found '" + targetName + "'");
    }
    auto features = getChipFeatures(*chip, featureNames);
    if (!features)
      return features.takeError();
    if (emit.getNumOccurrences() == 0)
      emit = Emit::PTX;
    if (!headerFile.empty())
      return createStringError("--header is for --target=cpu: kernels are not "
                               "called from C");
  }
  if (!isGPU && requireTensorCores)
    return createStringError("--require-tensor-cores is for a GPU; expected "
                             "--target=" +
                             getChipNames());
  if (!isGPU && !manifestFile.empty())
    return createStringError("--manifest describes kernels of a GPU; expected "
                             "--target=" +
                             getChipNames());
  if (isGPU ? emit == Emit::Object : emit == Emit::PTX || emit == Emit::Cubin)
    return createStringError(
        isGPU ? "an object file is for --target=cpu; expected --emit=mlir, "
                "llvm, ptx or cubin"
              : "PTX and cubins are for a GPU; expected --target=" +
                    getChipNames());
  if (emit == Emit::Cubin && outputFile == "-")
    return createStringError("a cubin is written to a file: expected -o OUT");
  if (emit == Emit::Object && outputFile == "-")
    return createStringError(
        "an object file is written to a file: expected -o OUT");
  for (StringRef other : {StringRef(headerFile), StringRef(manifestFile)})
    if (!other.empty() && other == outputFile)
      return createStringError("'" + other + "' is to be written twice");
  return llvm::Error::success();
}

/// Asks for the C interface of all public functions. With a header all of them
/// must have types that C can name.
static FailureOr<SmallVector<CFunction, 0>>
prepareFunctions(ModuleOp module, llvm::SourceMgr &sources) {
  SmallVector<CFunction, 0> functions;
  for (auto function : module.getOps<func::FuncOp>()) {
    if (!function.isPublic() || function.isExternal())
      continue;
    requestCInterface(module, function.getName());
    if (headerFile.empty())
      continue;
    auto isPartOfName = [](char character) {
      return llvm::isAlnum(character) || character == '_';
    };
    if (!llvm::all_of(function.getName(), isPartOfName))
      return function.emitError()
             << "expected a name that C has for a function of a header, found '"
             << function.getName() << "'";
    FailureOr<EntrySignature> signature =
        EntrySignature::get(module, function.getName());
    if (failed(signature))
      return failure();
    functions.push_back({std::move(*signature), /*hasStatus=*/false,
                         getArgumentNames(function, sources)});
  }
  return functions;
}

static llvm::Error writeFile(StringRef path, StringRef text) {
  return llvm::writeToOutput(path, [&](raw_ostream &os) {
    os << text;
    return llvm::Error::success();
  });
}

/// compile() for a GPU. The options have been checked.
static llvm::Error compileForGPU(ModuleOp module) {
  const Chip &chip = llvm::cantFail(getChip(targetName));
  std::string features = llvm::cantFail(getChipFeatures(chip, featureNames));
  bool toPTX = emit == Emit::PTX || emit == Emit::Cubin;
  if (emit == Emit::MLIR)
    for (auto function : module.getOps<func::FuncOp>())
      if (function.isPublic() && !function.isExternal())
        requestCInterface(module, function.getName());
  if (llvm::Error error =
          lowerForChip(module, chip, features, requireTensorCores,
                       /*withHost=*/emit == Emit::MLIR))
    return error;
  std::string manifest;
  if (!manifestFile.empty()) {
    auto text = getManifest(module, chip, features);
    if (!text)
      return text.takeError();
    manifest = std::move(*text);
  }
  if (toPTX)
    if (llvm::Error error = lowerKernelsToPTX(module))
      return error;

  llvm::Expected<std::string> text = std::string();
  if (emit == Emit::MLIR)
    llvm::raw_string_ostream(*text) << *module << '\n';
  else
    text = toPTX ? getKernelPTX(module) : getKernelLLVM(module);
  if (text && emit == Emit::Cubin)
    text = assemble(*text, chip, ptxasName);
  if (!text)
    return text.takeError();
  if (!manifestFile.empty())
    if (llvm::Error error = writeFile(manifestFile, manifest))
      return error;
  return writeFile(outputFile, *text);
}

/// Does everything between parsing and exit.
static llvm::Error compile(ModuleOp module, llvm::SourceMgr &sources) {
  if (!isForCPU())
    return compileForGPU(module);
  constexpr unsigned optLevel = 3;
  auto machine = createHostMachine(cpuName, featureNames, optLevel);
  if (!machine)
    return machine.takeError();
  FailureOr<SmallVector<CFunction, 0>> functions =
      prepareFunctions(module, sources);
  if (failed(functions))
    return diagnosedError();
  CPULowering lowering;
  lowering.reference = targetName == "cpu-reference";
  lowering.threads = threads;
  if (failed(lowerForCPU(module, lowering)))
    return diagnosedError();
  for (CFunction &function : *functions) {
    FailureOr<bool> hasStatus = function.signature.returnsStatus(module);
    if (failed(hasStatus))
      return diagnosedError();
    function.hasStatus = *hasStatus;
  }

  SmallString<0> output;
  llvm::raw_svector_ostream os(output);
  if (emit == Emit::MLIR) {
    os << *module << '\n';
  } else {
    llvm::LLVMContext context;
    auto translated =
        translateAndOptimize(module, context, **machine, optLevel);
    if (!translated)
      return translated.takeError();
    if (emit == Emit::LLVMIR)
      (*translated)->print(os, /*AAW=*/nullptr);
    else if (llvm::Error error = emitObject(**translated, **machine, output))
      return error;
  }
  if (!headerFile.empty()) {
    std::string header =
        makeCHeader(*functions, llvm::sys::path::filename(headerFile),
                    getRuntimeLibraries(module));
    if (llvm::Error error = writeFile(headerFile, header))
      return error;
  }
  return writeFile(outputFile, output);
}

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  parseCommandLine(
      argc, argv, "kvq-compile", category,
      "compile an MLIR module ahead of time\n\n"
      "Lowers the module and writes it as MLIR, LLVM IR or an object file for "
      "this\nmachine, or its kernels for a GPU. With --header a C program can "
      "call the public\nfunctions of an object file.\n");
  if (llvm::Error error = checkOptions())
    return reportError(std::move(error));
  DialectRegistry registry;
  registerExecutionEngine(registry);
  return runOnModule(inputFile, registry, compile);
}
