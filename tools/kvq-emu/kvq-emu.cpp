//===- kvq-emu.cpp - Run a kernel of a PTX file ---------------------------===//

#include "Arguments.h"
#include "kvq/Emulator/Emulator.h"
#include "kvq/Emulator/MachineModel.h"
#include "kvq/Support/Version.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/ToolOutputFile.h"
#include "llvm/Support/WithColor.h"
#include "llvm/Support/raw_ostream.h"
#include <chrono>
#include <csignal>

using namespace kvq::emu;
using llvm::StringRef;
namespace cl = llvm::cl;

static cl::OptionCategory category("kvq-emu options");

static cl::opt<std::string> inputFile(cl::Positional, cl::Required,
                                      cl::desc("IN.ptx ('-' reads standard "
                                               "input)"),
                                      cl::cat(category));
static cl::opt<std::string>
    kernelName("kernel",
               cl::desc("Kernel to run; not needed if the file has one only"),
               cl::value_desc("name"), cl::cat(category));
static cl::opt<std::string> gridText("grid", cl::desc("CTAs of the grid"),
                                     cl::value_desc("X[,Y[,Z]]"), cl::init("1"),
                                     cl::cat(category));
static cl::opt<std::string>
    blockText("block",
              cl::desc("Threads of a CTA (default: what .reqntid says, else "
                       "1)"),
              cl::value_desc("X[,Y[,Z]]"), cl::cat(category));
static cl::opt<std::string>
    clusterText("cluster",
                cl::desc("CTAs of a cluster (default: what .reqnctapercluster "
                         "says, else 1)"),
                cl::value_desc("X[,Y[,Z]]"), cl::cat(category));
static cl::opt<uint64_t> sharedBytes("shared",
                                     cl::desc("Dynamic shared memory per CTA"),
                                     cl::value_desc("bytes"), cl::init(0),
                                     cl::cat(category));
static cl::list<std::string> argumentTexts("arg",
                                           cl::desc("An argument (see below)"),
                                           cl::value_desc("kind:value"),
                                           cl::cat(category));
static cl::opt<std::string> scheduleText(
    "schedule",
    cl::desc("When asynchronous work is done and which warp is next: eager, "
             "lazy, or random:SEED"),
    cl::value_desc("eager|lazy|random:SEED"), cl::init("eager"),
    cl::cat(category));
static cl::opt<std::string> checkText(
    "check",
    cl::desc("What is looked for beyond bounds, alignment and deadlock: none, "
             "all, or a list of uninitialized, races, protocol, "
             "tensor-fences, tensor-pairs; all is the first three"),
    cl::value_desc("all|none|list"), cl::init("none"), cl::cat(category));
static cl::opt<std::string>
    reportFile("report", cl::desc("Write findings and counters as JSON"),
               cl::value_desc("FILE.json"), cl::cat(category));
static cl::opt<bool> printCounters("counters",
                                   cl::desc("Print the counters as a table"),
                                   cl::cat(category));
static cl::opt<std::string> machineName(
    "machine",
    cl::desc("Say what bounds the work on a machine: b200, h200, or a machine "
             "file"),
    cl::value_desc("b200|h200|FILE.json"), cl::cat(category));
static cl::opt<std::string>
    rolesText("roles",
              cl::desc("Count warps of these roles together, as in "
                       "0:load,1:mma,2-5:softmax"),
              cl::value_desc("WARP[-WARP]:NAME,.."), cl::cat(category));
static cl::opt<std::string> perturbText(
    "perturb",
    cl::desc("Make approximate functions wrong within their documented error, "
             "by a hash of this seed and their operands"),
    cl::value_desc("seed"), cl::cat(category));
/// What --threads says; see main.
static unsigned threads = 0;
static cl::opt<uint64_t> instructionLimit(
    "max-instructions",
    cl::desc("Stop after this many warp instructions (0: no limit)"),
    cl::value_desc("n"), cl::init(0), cl::cat(category));
static cl::opt<bool>
    listKernels("list-kernels",
                cl::desc("Print the file's kernels with their parameters and "
                         "run nothing"),
                cl::cat(category));

static std::atomic<bool> interrupted{false};

static int reportError(const llvm::Twine &message) {
  llvm::WithColor::error(llvm::errs(), "kvq-emu") << message << "\n";
  return 1;
}

static int reportError(llvm::Error error) {
  return reportError(toString(std::move(error)));
}

static llvm::Error parseDim3(StringRef option, StringRef text, Dim3 &dims) {
  llvm::SmallVector<StringRef, 3> words;
  text.split(words, ',');
  uint32_t values[3] = {1, 1, 1};
  bool isWrong = words.size() > 3;
  for (size_t i = 0; i < words.size() && !isWrong; ++i)
    isWrong = words[i].getAsInteger(10, values[i]) || values[i] == 0;
  if (isWrong)
    return llvm::createStringError(
        llvm::formatv("--{0}={1}: expected one to three positive numbers with "
                      "commas between them",
                      option, text)
            .str());
  dims = {values[0], values[1], values[2]};
  return llvm::Error::success();
}

static llvm::Error parseChecks(StringRef text, Checks &checks) {
  checks = Checks::none();
  if (text == "none")
    return llvm::Error::success();
  for (StringRef word : llvm::split(text, ',')) {
    if (word == "all")
      checks.uninitialized = checks.races = checks.protocol = true;
    else if (word == "uninitialized")
      checks.uninitialized = true;
    else if (word == "races")
      checks.races = true;
    else if (word == "protocol")
      checks.protocol = true;
    else if (word == "tensor-fences")
      checks.tensorFences = true;
    else if (word == "tensor-pairs")
      checks.tensorPairs = true;
    else
      return llvm::createStringError(
          llvm::formatv("--check={0}: '{1}' is none of all, none, "
                        "uninitialized, races, protocol, tensor-fences, "
                        "tensor-pairs",
                        text, word)
              .str());
  }
  return llvm::Error::success();
}

static void printKernels(const Module &module) {
  for (const std::string &name : module.getKernelNames()) {
    KernelInfo kernel = llvm::cantFail(module.getKernel(name));
    llvm::outs() << name << "(";
    llvm::ListSeparator separator;
    for (const KernelParameter &parameter : kernel.parameters)
      llvm::outs() << separator << parameter.name << ": " << parameter.size
                   << " bytes";
    llvm::outs() << ")";
    auto printDims = [](StringRef what, const Dim3 &dims) {
      if (dims.x)
        llvm::outs() << ' ' << what << '=' << dims.x << ',' << dims.y << ','
                     << dims.z;
    };
    printDims("reqntid", kernel.requiredBlock);
    printDims("maxntid", kernel.maximumBlock);
    printDims("cluster", kernel.requiredCluster);
    if (kernel.staticSharedBytes)
      llvm::outs() << " shared=" << kernel.staticSharedBytes;
    llvm::outs() << "\n";
  }
}

/// Prints how far the grid is, at most five times a second, on a terminal only.
static std::function<void(uint64_t, uint64_t)> makeProgress(bool &isShown) {
  if (!llvm::sys::Process::StandardErrIsDisplayed())
    return nullptr;
  using Clock = std::chrono::steady_clock;
  return
      [&isShown, last = Clock::now()](uint64_t done, uint64_t total) mutable {
        Clock::time_point now = Clock::now();
        if (now - last < std::chrono::milliseconds(200))
          return;
        last = now;
        isShown = true;
        llvm::errs() << llvm::formatv("\r{0} of {1} CTAs", done, total);
        llvm::errs().flush();
      };
}

static llvm::Error writeReport(const Report &report,
                               const std::optional<MachineEstimate> &machine) {
  llvm::json::Value json = report.toJSON();
  if (machine)
    (*json.getAsObject())["machine"] = machine->toJSON();
  std::error_code code;
  llvm::ToolOutputFile file(reportFile, code, llvm::sys::fs::OF_Text);
  if (code)
    return llvm::createStringError(code, "cannot write '" + reportFile +
                                             "': " + code.message());
  file.os() << llvm::formatv("{0:2}\n", std::move(json));
  file.os().flush();
  if (file.os().has_error()) {
    code = file.os().error();
    file.os().clear_error();
    return llvm::createStringError(code, "cannot write '" + reportFile +
                                             "': " + code.message());
  }
  file.keep();
  return llvm::Error::success();
}

static llvm::Expected<int> run() {
  Options options;
  llvm::Expected<Schedule> schedule = Schedule::parse(scheduleText);
  if (!schedule)
    return schedule.takeError();
  options.schedule = *schedule;
  if (llvm::Error error = parseChecks(checkText, options.checks))
    return std::move(error);
  options.maxWarpInstructions = instructionLimit;
  options.threads = threads;
  if (!rolesText.empty()) {
    llvm::Expected<std::vector<WarpRole>> roles = WarpRole::parse(rolesText);
    if (!roles)
      return roles.takeError();
    options.roles = std::move(*roles);
  }
  if (!perturbText.empty()) {
    uint64_t seed = 0;
    if (StringRef(perturbText).getAsInteger(10, seed))
      return llvm::createStringError("--perturb=" + perturbText +
                                     ": expected a number");
    options.perturb = seed;
  }
  std::optional<MachineModel> machine;
  if (!machineName.empty()) {
    llvm::Expected<MachineModel> model = MachineModel::load(machineName);
    if (!model)
      return model.takeError();
    machine = std::move(*model);
  }
  options.interrupt = &interrupted;
  bool isProgressShown = false;
  options.progress = makeProgress(isProgressShown);

  LaunchConfig config;
  config.dynamicSharedBytes = sharedBytes;
  if (llvm::Error error = parseDim3("grid", gridText, config.grid))
    return std::move(error);
  if (!blockText.empty())
    if (llvm::Error error = parseDim3("block", blockText, config.block))
      return std::move(error);
  if (!clusterText.empty())
    if (llvm::Error error = parseDim3("cluster", clusterText, config.cluster))
      return std::move(error);

  auto buffer = llvm::MemoryBuffer::getFileOrSTDIN(inputFile, /*IsText=*/true);
  if (!buffer)
    return llvm::createStringError("cannot read '" + inputFile +
                                   "': " + buffer.getError().message());
  Device device(options);
  llvm::Expected<Module *> module =
      device.loadModule((*buffer)->getBuffer(),
                        inputFile == "-" ? "<stdin>" : StringRef(inputFile));
  if (!module)
    return module.takeError();
  if (listKernels) {
    printKernels(**module);
    return 0;
  }

  std::string name = kernelName;
  std::vector<std::string> names = (*module)->getKernelNames();
  if (name.empty()) {
    if (names.size() != 1)
      return llvm::createStringError(names.empty()
                                         ? "'" + inputFile + "' has no kernel"
                                         : "--kernel is needed; there are: " +
                                               llvm::join(names, ", "));
    name = names.front();
  }
  llvm::Expected<KernelInfo> kernel = (*module)->getKernel(name);
  if (!kernel)
    return kernel.takeError();
  if (blockText.empty() && kernel->requiredBlock.x)
    config.block = kernel->requiredBlock;

  std::vector<Argument> arguments;
  for (const std::string &text : argumentTexts) {
    llvm::Expected<Argument> argument = parseArgument(text);
    if (!argument)
      return argument.takeError();
    arguments.push_back(std::move(*argument));
  }
  llvm::Expected<std::vector<uint8_t>> blob =
      layOutArguments(device, *kernel, arguments);
  if (!blob)
    return blob.takeError();
  config.arguments = std::move(*blob);

  llvm::Expected<Report> report = device.launch(*module, name, config);
  if (isProgressShown)
    llvm::errs() << "\n";
  if (!report)
    return report.takeError();
  llvm::outs().flush();
  report->printFindings(llvm::errs());
  if (printCounters)
    report->printCounters(llvm::outs());
  std::optional<MachineEstimate> bounds;
  if (machine) {
    bounds = estimate(*machine, report->counters);
    bounds->print(llvm::outs());
  }
  if (!reportFile.empty())
    if (llvm::Error error = writeReport(*report, bounds))
      return std::move(error);
  // What a kernel left that did not end is no result.
  if (report->completed)
    if (llvm::Error error = saveOutputs(device, arguments))
      return std::move(error);
  return report->ok() ? 0 : 1;
}

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  // InitLLVM's handler would end the process: a kernel is to stop cleanly.
  std::signal(SIGINT, [](int) { interrupted = true; });
  // LLVM's library has an option of this name, which is of no use here.
  if (cl::Option *other = cl::getRegisteredOptions().lookup("threads"))
    other->removeArgument();
  cl::opt<unsigned, /*ExternalStorage=*/true> threadsOption(
      "threads",
      cl::desc("Threads that run CTAs (0: as many as the host has); results do "
               "not depend on it"),
      cl::value_desc("n"), cl::location(threads), cl::cat(category));
  cl::HideUnrelatedOptions(category);
  cl::SetVersionPrinter([](llvm::raw_ostream &os) {
    os << "kvq-emu " << kvq::getVersion() << "\n";
  });
  static const std::string overview =
      std::string("Runs one kernel of a PTX file on an emulated device.\n\n") +
      argumentHelp +
      "\nExit status: 0 if the kernel ended and nothing was found, else 1. "
      "Output files\nare written only if the kernel ended.\n";
  cl::ParseCommandLineOptions(argc, argv, overview);
  llvm::Expected<int> status = run();
  if (!status)
    return reportError(status.takeError());
  return *status;
}
