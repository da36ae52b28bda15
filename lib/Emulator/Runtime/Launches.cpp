//===- Launches.cpp - Launch kernels --------------------------------------===//

#include "Runtime.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/raw_ostream.h"

using namespace kvq::emu;

static Dim3 toDim3(const char *function, int64_t x, int64_t y, int64_t z) {
  for (int64_t size : {x, y, z})
    if (size < 1 || size > UINT32_MAX)
      failCall(function, "a size must be positive, found " + llvm::Twine(size));
  return {static_cast<uint32_t>(x), static_cast<uint32_t>(y),
          static_cast<uint32_t>(z)};
}

static void appendReport(const Runtime &runtime, const RuntimeKernel &kernel,
                         const Schedule &schedule, const Report &report) {
  std::error_code code;
  llvm::raw_fd_ostream os(runtime.reportFile, code,
                          llvm::sys::fs::OF_Append | llvm::sys::fs::OF_Text);
  if (!code)
    os << llvm::json::Value(llvm::json::Object{{"kernel", kernel.info.name},
                                               {"schedule", schedule.toText()},
                                               {"report", report.toJSON()}})
       << "\n";
  os.flush();
  if (!code && os.has_error()) {
    code = os.error();
    os.clear_error();
  }
  if (code)
    failCall("KVQ_EMU_REPORT",
             "cannot write '" + runtime.reportFile + "': " + code.message());
}

static void launch(const char *function, void *kernelHandle,
                   LaunchConfig config, int32_t sharedBytes, void **values,
                   void **extra, std::optional<size_t> count) {
  Runtime &runtime = Runtime::get();
  std::lock_guard<std::mutex> lock(runtime.mutex);
  if (!kernelHandle)
    failCall(function, "no kernel is given");
  if (extra)
    failCall(function, "arguments must come as an array of pointers");
  if (sharedBytes < 0)
    failCall(function, "dynamic shared memory must not be negative");
  auto &kernel = *static_cast<RuntimeKernel *>(kernelHandle);
  if (count && *count != kernel.info.parameters.size())
    failCall(function, "kernel '" + kernel.info.name + "' has " +
                           llvm::Twine(kernel.info.parameters.size()) +
                           " parameters, but " + llvm::Twine(*count) +
                           " arguments are passed");
  config.dynamicSharedBytes = sharedBytes;
  config.arguments = Device::packArguments(kernel.info, values);
  llvm::Expected<std::vector<Report>> reports = runtime.device->launchUnderEach(
      runtime.schedules, kernel.module, kernel.info.name, config);
  if (!reports)
    failCall(function, toString(reports.takeError()));
  for (const auto &[schedule, report] :
       llvm::zip(runtime.schedules, *reports)) {
    if (!runtime.reportFile.empty())
      appendReport(runtime, kernel, schedule, report);
    report.printFindings(llvm::errs());
    if (!report.ok())
      failCall(function, "kernel '" + kernel.info.name +
                             (report.completed ? "' has findings"
                                               : "' did not complete"));
  }
}

extern "C" {

void mgpuLaunchKernel(void *function, intptr_t gridX, intptr_t gridY,
                      intptr_t gridZ, intptr_t blockX, intptr_t blockY,
                      intptr_t blockZ, int32_t sharedBytes, void *stream,
                      void **values, void **extra, size_t count) {
  constexpr const char *name = "mgpuLaunchKernel";
  LaunchConfig config;
  config.grid = toDim3(name, gridX, gridY, gridZ);
  config.block = toDim3(name, blockX, blockY, blockZ);
  launch(name, function, std::move(config), sharedBytes, values, extra, count);
}

void mgpuLaunchClusterKernel(void *function, intptr_t clusterX,
                             intptr_t clusterY, intptr_t clusterZ,
                             intptr_t gridX, intptr_t gridY, intptr_t gridZ,
                             intptr_t blockX, intptr_t blockY, intptr_t blockZ,
                             int32_t sharedBytes, void *stream, void **values,
                             void **extra) {
  constexpr const char *name = "mgpuLaunchClusterKernel";
  LaunchConfig config;
  config.cluster = toDim3(name, clusterX, clusterY, clusterZ);
  config.grid = toDim3(name, gridX, gridY, gridZ);
  config.block = toDim3(name, blockX, blockY, blockZ);
  launch(name, function, std::move(config), sharedBytes, values, extra,
         std::nullopt);
}

} // extern "C"
