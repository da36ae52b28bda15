//===- kvq-run.cpp - Run a function of a module on arrays -----------------===//

#include "kvq/ExecutionEngine/ArgumentNames.h"
#include "kvq/ExecutionEngine/CPUPipeline.h"
#include "kvq/ExecutionEngine/CompiledEntry.h"
#include "kvq/ExecutionEngine/GPUPipeline.h"
#include "kvq/Tools/ModuleTool.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/InitLLVM.h"
#include <chrono>

using namespace kvq;
using namespace mlir;
using llvm::createStringError;
namespace cl = llvm::cl;

static cl::OptionCategory category("kvq-run options");

static cl::opt<std::string> inputFile(cl::Positional, cl::Required,
                                      cl::desc("IN.mlir"), cl::cat(category));

static cl::opt<std::string> entryName("entry", cl::Required,
                                      cl::value_desc("NAME"),
                                      cl::desc("The public function to call"),
                                      cl::cat(category));

namespace {
enum class Target { CPU, CPUReference, Emulator, CUDA };
} // namespace

static cl::opt<Target> target(
    "target", cl::desc("Where to run, and through which lowering:"),
    cl::values(clEnumValN(Target::CPU, "cpu",
                          "this processor, vectorized and threaded"),
               clEnumValN(Target::CPUReference, "cpu-reference",
                          "this processor, the plain lowering that defines "
                          "the meaning"),
               clEnumValN(Target::Emulator, "emu",
                          "GPU kernels on the emulator; KVQ_EMU_SCHEDULE and "
                          "KVQ_EMU_CHECK say how it runs"),
               clEnumValN(Target::CUDA, "cuda",
                          "GPU kernels on a device, through "
                          "libmlir_cuda_runtime.so")),
    cl::init(Target::CPU), cl::cat(category));

static cl::list<std::string> argumentTexts(
    "arg", cl::value_desc("FILE.npy|SCALAR"),
    cl::desc(
        "The next argument of the function: a .npy file for a tensor or "
        "memref, a number for a scalar or for an array without dimensions. "
        "f4E2M1FN travels as uint8, two elements in a byte (the even one in "
        "the low nibble), or as ml_dtypes' float4_e2m1fn; other 8-bit floats "
        "as uint8 or their ml_dtypes type; bf16 as ml_dtypes' bfloat16 or as "
        "uint16"),
    cl::cat(category));

static cl::list<std::string> layoutTexts(
    "layout", cl::value_desc("I:STRIDE,...[+OFFSET]"),
    cl::desc("The strides and the offset, in elements, of memref argument I, "
             "where its type leaves them open. Without it strides are those of "
             "a dense array and the offset is 0"),
    cl::cat(category));

static cl::list<std::string> resultFiles(
    "result", cl::value_desc("FILE.npy"),
    cl::desc("Where to write the next result of the function. Results without "
             "a file are dropped"),
    cl::cat(category));

static cl::list<std::string>
    saveTexts("save", cl::value_desc("I:FILE.npy"),
              cl::desc("Write memref argument I, as it is after the call, to a "
                       "file"),
              cl::cat(category));

static cl::opt<CPUThreads>
    threads("parallel", cl::desc("What runs the parallel loops of target cpu:"),
            getCPUThreadsValues(), cl::init(CPUThreads::Async),
            cl::cat(category));

static cl::opt<std::string> chip("chip", cl::value_desc("sm_NN"),
                                 cl::init("sm_80"),
                                 cl::desc("The chip that kernels are made for"),
                                 cl::cat(category));

static cl::opt<std::string>
    gpuRuntime("gpu-runtime", cl::value_desc("FILE.so"),
               cl::desc("The library that runs kernels, with the mgpu "
                        "functions of MLIR's GPU runtime libraries"),
               cl::cat(category));

static cl::opt<unsigned> repeat(
    "repeat", cl::value_desc("N"), cl::init(1),
    cl::desc("Call the function N times, for --report. Memref arguments are "
             "not restored between calls"),
    cl::cat(category));

static cl::opt<unsigned>
    optLevel("opt-level", cl::value_desc("0-3"), cl::init(3),
             cl::desc("How much LLVM optimizes: 0 compiles ten times as fast"),
             cl::cat(category));

static cl::opt<bool> report("report",
                            cl::desc("Print types, sizes and times to the "
                                     "standard output"),
                            cl::cat(category));

namespace {
struct Save {
  size_t index;
  StringRef file;
};

/// Measures one phase.
class Timer {
public:
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() -
                                         start)
        .count();
  }

private:
  std::chrono::steady_clock::time_point start =
      std::chrono::steady_clock::now();
};
} // namespace

static std::string describeArgument(size_t index, StringRef name) {
  std::string text = "argument " + std::to_string(index);
  if (!name.empty())
    text += (" (" + name + ")").str();
  return text;
}

static llvm::Expected<SmallVector<Save>>
parseSaves(const EntrySignature &signature, ArrayRef<std::string> names) {
  SmallVector<Save> saves;
  for (StringRef text : saveTexts) {
    auto [number, file] = text.split(':');
    size_t index;
    if (number.getAsInteger(10, index) || file.empty())
      return createStringError(
          "expected --save=I:FILE.npy, found '--save=" + text + "'");
    if (index >= signature.arguments.size())
      return createStringError("--save=" + text + ": '" + signature.name +
                               "' has " + Twine(signature.arguments.size()) +
                               " arguments");
    if (!signature.arguments[index].isMemRef) {
      std::string type;
      llvm::raw_string_ostream(type) << signature.arguments[index].type;
      return createStringError("--save=" + text + ": expected " +
                               describeArgument(index, names[index]) +
                               " to be a memref, found " + type);
    }
    saves.push_back({index, file});
  }
  return saves;
}

/// Fills in the layouts that types of arguments leave open.
static llvm::Error applyLayouts(EntrySignature &signature,
                                ArrayRef<std::string> names) {
  llvm::SmallDenseSet<size_t> seen;
  for (StringRef text : layoutTexts) {
    auto [number, layout] = text.split(':');
    auto [strideText, offsetText] = layout.split('+');
    size_t index;
    int64_t offset = 0;
    SmallVector<int64_t> strides;
    bool isWrong =
        number.getAsInteger(10, index) || strideText.empty() ||
        (layout.contains('+') && offsetText.getAsInteger(10, offset));
    for (StringRef word : llvm::split(strideText, ','))
      isWrong |= word.getAsInteger(10, strides.emplace_back());
    if (isWrong)
      return createStringError(
          "expected --layout=I:STRIDE,...[+OFFSET], found '--layout=" + text +
          "'");
    if (index >= signature.arguments.size())
      return createStringError("--layout=" + text + ": '" + signature.name +
                               "' has " + Twine(signature.arguments.size()) +
                               " arguments");
    if (!seen.insert(index).second)
      return createStringError("--layout=" + text +
                               ": the argument has a layout already");
    HostType &type = signature.arguments[index];
    llvm::Expected<HostType> strided = type.withLayout(strides, offset);
    if (!strided)
      return createStringError(describeArgument(index, names[index]) + ": " +
                               llvm::toString(strided.takeError()));
    type = std::move(*strided);
  }
  return llvm::Error::success();
}

/// Checks what needs no file: the numbers of arguments and results, and that
/// no file is written twice.
static llvm::Error checkCounts(const EntrySignature &signature,
                               ArrayRef<Save> saves) {
  if (argumentTexts.size() != signature.arguments.size())
    return createStringError("'" + Twine(signature.name) + "' takes " +
                             Twine(signature.arguments.size()) +
                             " arguments, found " +
                             Twine(argumentTexts.size()) + " of --arg");
  if (resultFiles.size() > signature.results.size())
    return createStringError("'" + Twine(signature.name) + "' has " +
                             Twine(signature.results.size()) +
                             " results, found " + Twine(resultFiles.size()) +
                             " of --result");
  if (repeat == 0)
    return createStringError("expected --repeat of at least 1, found 0");
  llvm::StringSet<> files;
  auto add = [&](StringRef file) -> llvm::Error {
    if (!files.insert(file).second)
      return createStringError("'" + file + "' is to be written twice");
    return llvm::Error::success();
  };
  for (StringRef file : resultFiles)
    if (llvm::Error error = add(file))
      return error;
  for (const Save &save : saves)
    if (llvm::Error error = add(save.file))
      return error;
  return llvm::Error::success();
}

static llvm::Expected<SmallVector<HostArgument>>
makeArguments(const EntrySignature &signature, ArrayRef<std::string> names) {
  SmallVector<HostArgument> arguments;
  for (auto [index, type] : llvm::enumerate(signature.arguments)) {
    llvm::Expected<HostArgument> argument =
        makeArgument(type, argumentTexts[index]);
    if (!argument)
      return createStringError(describeArgument(index, names[index]) + ": " +
                               llvm::toString(argument.takeError()));
    arguments.push_back(std::move(*argument));
  }
  return arguments;
}

/// Writes all files, or none.
static llvm::Error writeFiles(ArrayRef<NpyArray> results,
                              ArrayRef<HostArgument> arguments,
                              ArrayRef<Save> saves) {
  SmallVector<StagedNpy> files;
  auto stage = [&](StringRef path, const NpyArray &array) -> llvm::Error {
    llvm::Expected<StagedNpy> file =
        StagedNpy::stage(path, array.type(), array.shape(), array.rawBytes());
    if (!file)
      return file.takeError();
    files.push_back(std::move(*file));
    return llvm::Error::success();
  };
  for (auto [path, result] : llvm::zip(resultFiles, results))
    if (llvm::Error error = stage(path, result))
      return error;
  for (const Save &save : saves) {
    llvm::Expected<NpyArray> array =
        std::get<HostBuffer>(arguments[save.index]).read();
    if (!array)
      return array.takeError();
    if (llvm::Error error = stage(save.file, *array))
      return error;
  }
  for (StagedNpy &file : files)
    if (llvm::Error error = file.commit())
      return error;
  return llvm::Error::success();
}

static void printValues(const EntrySignature &signature,
                        ArrayRef<std::string> names,
                        ArrayRef<HostArgument> arguments,
                        ArrayRef<NpyArray> results) {
  for (auto [index, argument] : llvm::enumerate(arguments)) {
    llvm::outs() << describeArgument(index, names[index]) << ": "
                 << signature.arguments[index].type;
    if (auto *buffer = std::get_if<HostBuffer>(&argument))
      llvm::outs() << ", " << toString(buffer->arrayType()) << ' '
                   << toString(buffer->arrayShape()) << ", "
                   << buffer->sizeInBytes() << " bytes";
    llvm::outs() << '\n';
  }
  for (auto [index, result] : llvm::enumerate(results))
    llvm::outs() << "result " << index << ": " << signature.results[index].type
                 << ", " << toString(result.type()) << ' '
                 << toString(result.shape()) << ", " << result.sizeInBytes()
                 << " bytes\n";
}

static LogicalResult lower(ModuleOp module) {
  if (target == Target::Emulator || target == Target::CUDA)
    return lowerForGPU(module, chip);
  CPULowering lowering;
  lowering.reference = target == Target::CPUReference;
  lowering.threads = threads;
  return lowerForCPU(module, lowering);
}

/// Does everything between parsing and exit.
static llvm::Error run(ModuleOp module, llvm::SourceMgr &sources) {
  FailureOr<EntrySignature> signature = EntrySignature::get(module, entryName);
  if (failed(signature))
    return diagnosedError();
  SmallVector<std::string> names =
      getArgumentNames(module.lookupSymbol<func::FuncOp>(entryName), sources);
  auto saves = parseSaves(*signature, names);
  if (!saves)
    return saves.takeError();
  if (llvm::Error error = checkCounts(*signature, *saves))
    return error;
  if (llvm::Error error = applyLayouts(*signature, names))
    return error;
  Timer loadTimer;
  auto arguments = makeArguments(*signature, names);
  if (!arguments)
    return arguments.takeError();
  double loadSeconds = loadTimer.seconds();

  keepOnlyEntry(module, entryName);
  requestCInterface(module, entryName);
  Timer lowerTimer;
  if (failed(lower(module)))
    return diagnosedError();
  double lowerSeconds = lowerTimer.seconds();

  Timer compileTimer;
  GPURuntime runtime = target == Target::Emulator ? GPURuntime::Emulator
                       : target == Target::CUDA   ? GPURuntime::CUDA
                                                  : GPURuntime::None;
  auto entry = CompiledEntry::create(module, std::move(*signature), optLevel,
                                     runtime, gpuRuntime);
  if (!entry)
    return entry.takeError();
  double compileSeconds = compileTimer.seconds();

  SmallVector<NpyArray> results;
  SmallVector<double> callSeconds;
  for (unsigned i = 0; i != repeat; ++i) {
    auto called = entry->call(*arguments);
    if (!called)
      return called.takeError();
    results = std::move(*called);
    callSeconds.push_back(entry->lastCallSeconds());
  }
  Timer writeTimer;
  if (llvm::Error error = writeFiles(results, *arguments, *saves))
    return error;
  if (!report)
    return llvm::Error::success();

  printValues(entry->getSignature(), names, *arguments, results);
  llvm::sort(callSeconds);
  auto printTime = [](StringRef what, double seconds) {
    llvm::outs() << llvm::formatv("time {0}: {1:f3} ms\n", what,
                                  seconds * 1000);
  };
  printTime("load", loadSeconds);
  printTime("lower", lowerSeconds);
  printTime("compile", compileSeconds);
  printTime("run", callSeconds[callSeconds.size() / 2]);
  if (callSeconds.size() > 1) {
    printTime("fastest run", callSeconds.front());
    printTime("slowest run", callSeconds.back());
  }
  printTime("write", writeTimer.seconds());
  return llvm::Error::success();
}

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  parseCommandLine(
      argc, argv, "kvq-run", category,
      "run a function of an MLIR module on NumPy arrays\n\n"
      "Compiles the module for this processor, calls --entry with one --arg "
      "for each\nargument, and writes what --result and --save ask for. Memref "
      "arguments are\nin-out. On an error it prints what was found and what "
      "would be accepted, writes\nno file, and exits with 1.\n");
  DialectRegistry registry;
  registerExecutionEngine(registry);
  return runOnModule(inputFile, registry, run);
}
