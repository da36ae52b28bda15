//===- Runtime.cpp - The device of the process, modules, streams ----------===//

#include "Runtime.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/raw_ostream.h"
#include <unistd.h>

using namespace kvq::emu;
using llvm::StringRef;

void kvq::emu::failCall(const char *function, const llvm::Twine &message) {
  llvm::outs().flush();
  std::fflush(nullptr);
  llvm::errs() << "kvq_emu_runtime: " << function << ": " << message << "\n";
  // Not exit: static destructors of a program that was cut off may run into
  // objects that are half made, and call back here.
  ::_exit(1);
}

void kvq::emu::checkCall(const char *function, llvm::Error error) {
  if (error)
    failCall(function, toString(std::move(error)));
}

Runtime &Runtime::get() {
  // Never destroyed: modules of the host program unload at its very end.
  static Runtime *runtime = new Runtime;
  return *runtime;
}

static StringRef getVariable(const char *name) {
  const char *value = std::getenv(name);
  return value ? value : "";
}

Runtime::Runtime() {
  constexpr const char *who = "environment";
  Options options;
  if (StringRef text = getVariable("KVQ_EMU_SCHEDULE"); !text.empty()) {
    llvm::Expected<std::vector<Schedule>> list = Schedule::parseList(text);
    if (!list)
      failCall(who, "KVQ_EMU_SCHEDULE: " + toString(list.takeError()));
    schedules = std::move(*list);
  }
  StringRef check = getVariable("KVQ_EMU_CHECK");
  if (check == "all")
    options.checks = Checks::all();
  else if (!check.empty() && check != "none")
    failCall(who, "KVQ_EMU_CHECK must be all or none, not '" + check + "'");
  StringRef limit = getVariable("KVQ_EMU_MAX_INSTRUCTIONS");
  if (!limit.empty() && limit.getAsInteger(10, options.maxWarpInstructions))
    failCall(who,
             "KVQ_EMU_MAX_INSTRUCTIONS must be a number, not '" + limit + "'");
  StringRef threads = getVariable("KVQ_EMU_THREADS");
  if (!threads.empty() && threads.getAsInteger(10, options.threads))
    failCall(who, "KVQ_EMU_THREADS must be a number, not '" + threads + "'");
  reportFile = getVariable("KVQ_EMU_REPORT").str();
  device = std::make_unique<Device>(std::move(options));
}

/// Loads the text of `size` bytes, or up to its NUL where the size is not
/// known.
static void *loadModule(const char *function, const char *data,
                        std::optional<size_t> size) {
  Runtime &runtime = Runtime::get();
  std::lock_guard<std::mutex> lock(runtime.mutex);
  if (!data)
    failCall(function, "no module is given");
  StringRef text = size ? StringRef(data, *size) : StringRef(data);
  // A binary would give a puzzling error at its first byte.
  if (text.take_front(4) == "\x7f"
                            "ELF" ||
      !llvm::all_of(text.take_front(64), [](char c) {
        return llvm::isPrint(c) || llvm::isSpace(c);
      }))
    failCall(function, "the module is no PTX text; compile it with the binary "
                       "format 'isa' (cubin-format=isa)");
  auto module = std::make_unique<RuntimeModule>();
  llvm::Expected<Module *> loaded =
      runtime.device->loadModule(text, "<module>");
  if (!loaded)
    failCall(function, toString(loaded.takeError()));
  module->module = *loaded;
  return module.release();
}

extern "C" {

void *mgpuModuleLoad(void *data, size_t size) {
  return loadModule("mgpuModuleLoad", static_cast<const char *>(data), size);
}

void *mgpuModuleLoadJIT(void *data, int optimization) {
  return loadModule("mgpuModuleLoadJIT", static_cast<const char *>(data),
                    std::nullopt);
}

void mgpuModuleUnload(void *module) {
  Runtime &runtime = Runtime::get();
  std::lock_guard<std::mutex> lock(runtime.mutex);
  std::unique_ptr<RuntimeModule> owned(static_cast<RuntimeModule *>(module));
  if (owned)
    runtime.device->unloadModule(owned->module);
}

void *mgpuModuleGetFunction(void *module, const char *name) {
  Runtime &runtime = Runtime::get();
  std::lock_guard<std::mutex> lock(runtime.mutex);
  auto *loaded = static_cast<RuntimeModule *>(module);
  std::unique_ptr<RuntimeKernel> &kernel = loaded->kernels[name];
  if (!kernel) {
    llvm::Expected<KernelInfo> info = loaded->module->getKernel(name);
    if (!info)
      failCall("mgpuModuleGetFunction", toString(info.takeError()));
    kernel = std::make_unique<RuntimeKernel>();
    kernel->module = loaded->module;
    kernel->info = std::move(*info);
  }
  return kernel.get();
}

// Every call has done its work when it returns, so that streams and events
// are names only.
void *mgpuStreamCreate() { return new char; }
void mgpuStreamDestroy(void *stream) { delete static_cast<char *>(stream); }
void mgpuStreamSynchronize(void *stream) {}
void mgpuStreamWaitEvent(void *stream, void *event) {}
void *mgpuEventCreate() { return new char; }
void mgpuEventDestroy(void *event) { delete static_cast<char *>(event); }
void mgpuEventSynchronize(void *event) {}
void mgpuEventRecord(void *event, void *stream) {}

void mgpuSetDefaultDevice(int32_t device) {
  if (device != 0)
    failCall("mgpuSetDefaultDevice",
             "there is one device, number 0, not " + llvm::Twine(device));
}

} // extern "C"
