//===- Device.cpp - The public interface ----------------------------------===//

#include "kvq/Emulator/Emulator.h"
#include "kvq/Emulator/Machine/Decoder.h"
#include "kvq/Emulator/Machine/Launch.h"
#include "kvq/Emulator/Machine/MemoryImage.h"
#include "kvq/Emulator/PTX/Module.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/SaveAndRestore.h"
#include <cstring>

using namespace kvq::emu;

namespace kvq::emu {

class ModuleState {
public:
  std::unique_ptr<ptx::Module> ptx;
  GlobalMemory *memory = nullptr;
  VariableAddresses addresses;
  llvm::StringMap<std::unique_ptr<Program>> programs;
};

class DeviceState {
public:
  Options options;
  GlobalMemory memory;
  std::vector<std::unique_ptr<Module>> modules;
};

} // namespace kvq::emu

//===----------------------------------------------------------------------===//
// Schedules
//===----------------------------------------------------------------------===//

llvm::Expected<Schedule> Schedule::parse(llvm::StringRef text) {
  Schedule schedule;
  if (text == "eager")
    return schedule;
  if (text == "lazy") {
    schedule.kind = ScheduleKind::Lazy;
    return schedule;
  }
  auto [name, seed] = text.split(':');
  if (name == "random" &&
      (seed.empty() ? !text.contains(':')
                    : !seed.getAsInteger(10, schedule.seed))) {
    schedule.kind = ScheduleKind::Random;
    return schedule;
  }
  return llvm::createStringError("schedule '" + text +
                                 "': expected eager, lazy or random:SEED");
}

llvm::Expected<std::vector<Schedule>>
Schedule::parseList(llvm::StringRef text) {
  std::vector<Schedule> schedules;
  for (llvm::StringRef word : llvm::split(text, ',')) {
    llvm::Expected<Schedule> schedule = parse(word);
    if (!schedule)
      return schedule.takeError();
    schedules.push_back(*schedule);
  }
  return std::move(schedules);
}

std::string Schedule::toText() const {
  switch (kind) {
  case ScheduleKind::Eager:
    return "eager";
  case ScheduleKind::Lazy:
    return "lazy";
  case ScheduleKind::Random:
    return "random:" + std::to_string(seed);
  }
  llvm_unreachable("all kinds are handled");
}

//===----------------------------------------------------------------------===//
// Modules
//===----------------------------------------------------------------------===//

Module::Module(std::unique_ptr<ModuleState> state) : state(std::move(state)) {}
Module::~Module() = default;

std::vector<std::string> Module::getKernelNames() const {
  std::vector<std::string> names;
  for (const ptx::Function &function : state->ptx->functions)
    if (function.isKernel && !function.isDeclaration)
      names.push_back(function.name);
  return names;
}

static Dim3 toDim(const std::array<uint32_t, 3> &values) {
  return {values[0], values[1], values[2]};
}

llvm::Expected<KernelInfo> Module::getKernel(llvm::StringRef name) const {
  const ptx::Function *function = state->ptx->findFunction(name);
  if (!function || !function->isKernel || function->isDeclaration) {
    std::vector<std::string> names = getKernelNames();
    return llvm::createStringError(
        "no kernel '" + name + "' in " + state->ptx->fileName + "; it has " +
        (names.empty() ? std::string("none") : llvm::join(names, ", ")));
  }
  KernelInfo info;
  info.name = function->name;
  for (const ptx::Parameter &parameter : function->parameters)
    info.parameters.push_back({parameter.name, parameter.offset, parameter.size,
                               parameter.alignment});
  info.argumentBytes = function->parameterBytes;
  for (const ptx::Variable &variable : state->ptx->variables)
    if (variable.space == ptx::Space::Shared)
      info.staticSharedBytes =
          llvm::alignTo(info.staticSharedBytes,
                        std::max<uint64_t>(variable.alignment, 1)) +
          variable.size;
  info.requiredBlock = toDim(function->requiredBlock);
  info.maximumBlock = toDim(function->maximumBlock);
  info.requiredCluster = toDim(function->requiredCluster);
  return info;
}

llvm::Expected<std::pair<uint64_t, uint64_t>>
Module::getGlobal(llvm::StringRef name) const {
  auto it = state->ptx->variableIndex.find(name);
  if (it != state->ptx->variableIndex.end()) {
    auto address = state->addresses.find(it->second);
    if (address != state->addresses.end())
      return std::make_pair(address->second,
                            state->ptx->variables[it->second].size);
  }
  return llvm::createStringError("no global variable '" + name + "' in " +
                                 state->ptx->fileName);
}

/// Allocates and fills the variables of a module.
static llvm::Error placeVariables(ModuleState &state, bool trackWrites) {
  auto &variables = state.ptx->variables;
  for (uint32_t i = 0; i < variables.size(); ++i) {
    const ptx::Variable &variable = variables[i];
    if (variable.space != ptx::Space::Global &&
        variable.space != ptx::Space::Const)
      continue;
    if (variable.isExtern)
      return llvm::createStringError("the external variable '" + variable.name +
                                     "' is not defined in " +
                                     state.ptx->fileName);
    llvm::Expected<Allocation *> allocation =
        state.memory->allocate(variable.size, variable.name, trackWrites);
    if (!allocation)
      return allocation.takeError();
    (*allocation)->constant = variable.space == ptx::Space::Const;
    // Global variables without an initializer are zero.
    state.memory->markWritten((*allocation)->base, variable.size);
    if (!variable.initializer.empty())
      memcpy(reinterpret_cast<void *>((*allocation)->base),
             variable.initializer.data(), variable.initializer.size());
    state.addresses[i] = (*allocation)->base;
  }
  for (uint32_t i = 0; i < variables.size(); ++i) {
    auto place = state.addresses.find(i);
    if (place == state.addresses.end())
      continue;
    for (const ptx::Relocation &relocation : variables[i].relocations) {
      uint64_t value = relocation.symbol == ptx::SymbolKind::Function
                           ? codeAddress(relocation.index)
                           : state.addresses.lookup(relocation.index);
      value = (value + static_cast<uint64_t>(relocation.addend)) >>
              relocation.shift;
      memcpy(reinterpret_cast<void *>(place->second + relocation.offset),
             &value, std::min<unsigned>(relocation.size, 8));
    }
  }
  return llvm::Error::success();
}

//===----------------------------------------------------------------------===//
// Device
//===----------------------------------------------------------------------===//

Device::Device(Options options) : state(std::make_unique<DeviceState>()) {
  state->options = std::move(options);
}
Device::~Device() = default;

Options &Device::getOptions() { return state->options; }

llvm::Expected<Module *> Device::loadModule(llvm::StringRef ptx,
                                            llvm::StringRef name) {
  llvm::Expected<std::unique_ptr<ptx::Module>> parsed =
      ptx::parseModule(ptx, name);
  if (!parsed)
    return parsed.takeError();
  auto moduleState = std::make_unique<ModuleState>();
  moduleState->ptx = std::move(*parsed);
  moduleState->memory = &state->memory;
  if (llvm::Error error =
          placeVariables(*moduleState, state->options.checks.uninitialized)) {
    for (auto &entry : moduleState->addresses)
      llvm::consumeError(state->memory.free(entry.second));
    return std::move(error);
  }
  state->modules.push_back(std::make_unique<Module>(std::move(moduleState)));
  return state->modules.back().get();
}

void Device::unloadModule(Module *module) {
  for (size_t i = 0; i < state->modules.size(); ++i) {
    if (state->modules[i].get() != module)
      continue;
    for (auto &entry : module->getState().addresses)
      llvm::consumeError(state->memory.free(entry.second));
    state->modules.erase(state->modules.begin() + i);
    return;
  }
}

llvm::Expected<uint64_t> Device::allocate(uint64_t bytes,
                                          llvm::StringRef name) {
  llvm::Expected<Allocation *> allocation =
      state->memory.allocate(bytes, name, state->options.checks.uninitialized);
  if (!allocation)
    return allocation.takeError();
  return (*allocation)->base;
}

llvm::Error Device::free(uint64_t address) {
  return state->memory.free(address);
}

llvm::Error Device::registerHost(void *host, uint64_t bytes,
                                 llvm::StringRef name) {
  return state->memory.registerHost(reinterpret_cast<uint64_t>(host), bytes,
                                    name);
}

llvm::Error Device::unregisterHost(void *host) {
  return state->memory.unregisterHost(reinterpret_cast<uint64_t>(host));
}

static llvm::Error checkRange(GlobalMemory &memory, uint64_t address,
                              uint64_t bytes, const char *what) {
  if (!bytes || memory.find(address, bytes))
    return llvm::Error::success();
  return llvm::createStringError(llvm::formatv("{0} of {1} bytes at {2:x}: {3}",
                                               what, bytes, address,
                                               memory.describe(address))
                                     .str());
}

llvm::Error Device::copyToDevice(uint64_t device, const void *host,
                                 uint64_t bytes) {
  if (llvm::Error error =
          checkRange(state->memory, device, bytes, "copy to the device"))
    return error;
  if (!bytes)
    return llvm::Error::success();
  memmove(reinterpret_cast<void *>(device), host, bytes);
  state->memory.markWritten(device, bytes);
  return llvm::Error::success();
}

llvm::Error Device::copyFromDevice(void *host, uint64_t device,
                                   uint64_t bytes) {
  if (llvm::Error error =
          checkRange(state->memory, device, bytes, "copy from the device"))
    return error;
  if (bytes)
    memmove(host, reinterpret_cast<const void *>(device), bytes);
  return llvm::Error::success();
}

llvm::Error Device::copyDeviceToDevice(uint64_t to, uint64_t from,
                                       uint64_t bytes) {
  if (llvm::Error error = checkRange(state->memory, from, bytes, "copy from"))
    return error;
  if (llvm::Error error = checkRange(state->memory, to, bytes, "copy to"))
    return error;
  if (!bytes)
    return llvm::Error::success();
  memmove(reinterpret_cast<void *>(to), reinterpret_cast<const void *>(from),
          bytes);
  // What was never written at the source is not written by the copy.
  Allocation *source = state->memory.find(from, bytes);
  Allocation *target = state->memory.find(to, bytes);
  if (!target->written)
    return llvm::Error::success();
  uint8_t *marks = target->written->data() + (to - target->base);
  if (source->written)
    memmove(marks, source->written->data() + (from - source->base), bytes);
  else
    memset(marks, 1, bytes);
  return llvm::Error::success();
}

llvm::Error Device::fill(uint64_t device, uint8_t value, uint64_t bytes) {
  if (llvm::Error error = checkRange(state->memory, device, bytes, "fill"))
    return error;
  if (!bytes)
    return llvm::Error::success();
  memset(reinterpret_cast<void *>(device), value, bytes);
  state->memory.markWritten(device, bytes);
  return llvm::Error::success();
}

bool Device::isDeviceAddress(uint64_t address) const {
  return state->memory.find(address, 1) != nullptr;
}

std::vector<uint8_t> Device::packArguments(const KernelInfo &kernel,
                                           const void *const *values) {
  std::vector<uint8_t> blob(kernel.argumentBytes);
  for (size_t i = 0; i < kernel.parameters.size(); ++i)
    memcpy(blob.data() + kernel.parameters[i].offset, values[i],
           kernel.parameters[i].size);
  return blob;
}

//===----------------------------------------------------------------------===//
// Launch
//===----------------------------------------------------------------------===//

static std::string toText(const Dim3 &dim) {
  return llvm::formatv("({0}, {1}, {2})", dim.x, dim.y, dim.z);
}

static bool isZero(const Dim3 &dim) { return !dim.x && !dim.y && !dim.z; }

/// Checks the shape of a launch and gives the cluster's.
static llvm::Expected<Dim3> checkShape(const KernelInfo &kernel,
                                       const LaunchConfig &config) {
  auto fail = [&](const std::string &message) {
    return llvm::createStringError("launch of '" + kernel.name +
                                   "': " + message);
  };
  const Dim3 &grid = config.grid, &block = config.block;
  if (!grid.volume() || grid.y > 65535 || grid.z > 65535 || grid.x > 0x7fffffff)
    return fail("grid " + toText(grid) +
                "; it is (1, 1, 1) to (2147483647, "
                "65535, 65535)");
  if (!block.volume() || block.volume() > 1024 || block.x > 1024 ||
      block.y > 1024 || block.z > 64)
    return fail("block " + toText(block) +
                "; it has 1 to 1024 threads, at most 64 of them in z");
  auto differs = [](const Dim3 &a, const Dim3 &b) {
    return a.x != b.x || a.y != b.y || a.z != b.z;
  };
  auto ones = [](Dim3 dim) {
    // A directive with fewer numbers leaves the rest at one.
    return Dim3{std::max(dim.x, 1u), std::max(dim.y, 1u), std::max(dim.z, 1u)};
  };
  if (!isZero(kernel.requiredBlock) &&
      differs(ones(kernel.requiredBlock), block))
    return fail("block " + toText(block) + ", but the kernel requires " +
                toText(ones(kernel.requiredBlock)));
  if (!isZero(kernel.maximumBlock) &&
      block.volume() > ones(kernel.maximumBlock).volume())
    return fail("block " + toText(block) + ", but the kernel allows " +
                llvm::Twine(ones(kernel.maximumBlock).volume()).str() +
                " threads");
  Dim3 cluster = config.cluster;
  if (isZero(cluster))
    cluster = isZero(kernel.requiredCluster) ? Dim3{1, 1, 1}
                                             : ones(kernel.requiredCluster);
  cluster = ones(cluster);
  if (!isZero(kernel.requiredCluster) &&
      differs(ones(kernel.requiredCluster), cluster))
    return fail("cluster " + toText(cluster) + ", but the kernel requires " +
                toText(ones(kernel.requiredCluster)));
  if (cluster.volume() > 16)
    return fail("cluster " + toText(cluster) + "; it has at most 16 CTAs");
  if (grid.x % cluster.x || grid.y % cluster.y || grid.z % cluster.z)
    return fail("grid " + toText(grid) + " is not divisible into clusters " +
                toText(cluster));
  if (config.arguments.size() != kernel.argumentBytes)
    return fail(llvm::formatv("{0} bytes of arguments; the kernel takes {1}",
                              config.arguments.size(), kernel.argumentBytes));
  return cluster;
}

/// Shared memory of a CTA on the largest chips, the reserved part included.
static constexpr uint64_t maxSharedBytes = 228 * 1024;

llvm::Expected<Report> Device::launch(Module *module, llvm::StringRef kernel,
                                      const LaunchConfig &config) {
  llvm::Expected<KernelInfo> info = module->getKernel(kernel);
  if (!info)
    return info.takeError();
  llvm::Expected<Dim3> cluster = checkShape(*info, config);
  if (!cluster)
    return cluster.takeError();
  ModuleState &moduleState = module->getState();
  std::unique_ptr<Program> &program = moduleState.programs[kernel];
  if (!program) {
    llvm::Expected<std::unique_ptr<Program>> decoded =
        decodeKernel(*moduleState.ptx, *moduleState.ptx->findFunction(kernel),
                     moduleState.addresses);
    if (!decoded)
      return decoded.takeError();
    program = std::move(*decoded);
  }
  uint64_t shared = program->dynamicSharedBase + config.dynamicSharedBytes;
  if (shared > maxSharedBytes)
    return llvm::createStringError(
        llvm::formatv("launch of '{0}': {1} bytes of shared memory; a CTA has "
                      "at most {2}",
                      kernel, shared - sharedReserved,
                      maxSharedBytes - sharedReserved)
            .str());
  Grid grid(state->memory, state->options, *program, config, *cluster);
  return grid.run();
}

llvm::Expected<std::vector<Report>>
Device::launchUnderEach(llvm::ArrayRef<Schedule> schedules, Module *module,
                        llvm::StringRef kernel, const LaunchConfig &config) {
  std::vector<Report> reports;
  llvm::SaveAndRestore<Schedule> saved(state->options.schedule);
  std::optional<MemoryImage> before, after;
  if (schedules.size() > 1)
    before.emplace(state->memory);
  for (const Schedule &schedule : schedules) {
    if (!reports.empty()) {
      if (!after)
        after.emplace(state->memory);
      before->restore(state->memory);
    }
    state->options.schedule = schedule;
    llvm::Expected<Report> report = launch(module, kernel, config);
    if (!report)
      return report.takeError();
    reports.push_back(std::move(*report));
    if (!reports.back().ok())
      break;
    if (!after)
      continue;
    if (std::string text = after->findDifference(state->memory); !text.empty())
      return llvm::createStringError(
          llvm::formatv("launch of '{0}': under {1} {2} as under {3}", kernel,
                        schedule.toText(), text, schedules.front().toText())
              .str());
  }
  return std::move(reports);
}
