//===- Emulator.h - Load PTX and run its kernels ----------------*- C++ -*-===//
//
// The public interface of the emulator: a device that holds modules and memory,
// launches kernels, and reports what it found and counted.
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_EMULATOR_EMULATOR_H
#define KVQ_EMULATOR_EMULATOR_H

#include "kvq/Emulator/Report.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace kvq::emu {

/// When asynchronous work (cp.async, bulk copies, tensor-core operations)
/// takes effect, and in which order warps take turns.
enum class ScheduleKind {
  /// At issue; warps take turns in order.
  Eager,
  /// When it is first observed complete, reading its sources only then.
  Lazy,
  /// At any allowed moment, with warps interleaved at random.
  Random
};

struct Schedule {
  ScheduleKind kind = ScheduleKind::Eager;
  /// The seed of `Random`; equal seeds give equal runs.
  uint64_t seed = 0;

  /// Reads `eager`, `lazy` or `random:SEED` (`random` alone means seed 0).
  static llvm::Expected<Schedule> parse(llvm::StringRef text);
  /// Reads a list of them with commas between; one at least.
  static llvm::Expected<std::vector<Schedule>> parseList(llvm::StringRef text);
  /// As `parse` reads it.
  std::string toText() const;
};

/// What is looked for beyond bounds, alignment and deadlock, which always are.
struct Checks {
  /// Reads of bytes that nothing has written.
  bool uninitialized = false;
  /// Conflicting accesses with no happens-before between them.
  bool races = false;
  /// Misuse of barriers, descriptors, tensor memory and `.aligned` forms that
  /// still has a defined effect here.
  bool protocol = false;
  /// tcgen05.fence between the accesses of two threads to tensor memory. The
  /// PTX ISA asks for it, compilers leave it out, and ptxas makes nothing of
  /// it: not part of `all`.
  bool tensorFences = false;
  /// A wait between instructions of one thread on the same tensor memory that
  /// are none of the pairs that the PTX ISA orders (9.7.16.6.2). Libraries
  /// overwrite operands of an earlier product without one: not part of `all`.
  bool tensorPairs = false;

  static Checks all() { return {true, true, true, false, false}; }
  static Checks none() { return {}; }
};

/// Options of a device; they hold for every later launch.
struct Options {
  Schedule schedule;
  Checks checks;
  /// The launch ends with a StepLimit finding after this many warp
  /// instructions; 0 means no limit.
  uint64_t maxWarpInstructions = 0;
  /// The launch ends with an error finding when this many have been recorded.
  unsigned maxFindings = 64;
  /// CTAs that take turns on a thread before another is admitted although none
  /// finished.
  unsigned residentCTAs = 8;
  /// Threads that run CTAs; 0 means as many as the host has. Random schedules,
  /// the race check and kernels with floating-point atomics take one, so that
  /// results and reports are the same for every number.
  unsigned threads = 0;
  /// The seed of errors that approximate functions (ex2, rcp, div.approx, ..)
  /// get, within what PTX documents for each; without it they are correctly
  /// rounded. The same inputs give the same error.
  std::optional<uint64_t> perturb;
  /// Groups of warps that the report counts together.
  std::vector<WarpRole> roles;
  /// Where the text of `vprintf` goes; standard output if empty.
  std::function<void(llvm::StringRef)> print;
  /// Called now and then with the CTAs finished and the CTAs of the grid.
  std::function<void(uint64_t, uint64_t)> progress;
  /// Set by a signal handler to stop the launch at the next instruction.
  const std::atomic<bool> *interrupt = nullptr;
};

/// One parameter of a kernel in its argument blob.
struct KernelParameter {
  std::string name;
  /// Bytes from the start of the blob.
  uint64_t offset = 0;
  uint64_t size = 0;
  uint64_t alignment = 1;
};

/// What a kernel's PTX says about it.
struct KernelInfo {
  std::string name;
  std::vector<KernelParameter> parameters;
  /// Bytes of the argument blob.
  uint64_t argumentBytes = 0;
  /// Bytes of shared memory that the module declares with a size.
  uint64_t staticSharedBytes = 0;
  /// `.reqntid`, `.maxntid`, `.reqnctapercluster`; zeros where absent.
  Dim3 requiredBlock{0, 0, 0};
  Dim3 maximumBlock{0, 0, 0};
  Dim3 requiredCluster{0, 0, 0};
};

struct LaunchConfig {
  Dim3 grid;
  Dim3 block;
  /// Zeros mean what the kernel requires, or a cluster of one.
  Dim3 cluster{0, 0, 0};
  uint64_t dynamicSharedBytes = 0;
  /// Laid out as KernelInfo::parameters say; see Device::packArguments.
  std::vector<uint8_t> arguments;
};

/// Element types of a tensor map, with the numbers of PTX's elemtype field.
enum class TensorElement : uint8_t {
  U8 = 0,
  U16 = 1,
  U32 = 2,
  S32 = 3,
  U64 = 4,
  S64 = 5,
  F16 = 6,
  F32 = 7,
  F32Ftz = 8,
  F64 = 9,
  BF16 = 10,
  TF32 = 11,
  TF32Ftz = 12,
  /// 16 packed 4-bit elements per 8 bytes.
  B4x16 = 13,
  /// 16 packed 4-bit elements, then 8 bytes of padding, in shared memory.
  B4x16P64 = 14,
  /// 16 packed 6-bit elements, then 4 bytes of padding, in shared memory.
  B6x16P32 = 15
};

enum class TensorSwizzle : uint8_t { None, B32, B64, B128, B128Atom32 };

/// The arguments of a tiled tensor map, dimension 0 innermost.
struct TensorMap {
  TensorElement element = TensorElement::U8;
  uint64_t globalAddress = 0;
  /// Elements per dimension; its length is the rank, 1 to 5.
  std::vector<uint64_t> globalDims;
  /// Bytes from one index to the next, of dimensions 1 and up.
  std::vector<uint64_t> globalStrides;
  std::vector<uint32_t> boxDims;
  std::vector<uint32_t> elementStrides;
  TensorSwizzle swizzle = TensorSwizzle::None;
  /// Whether elements outside the tensor read as NaN instead of zero.
  bool fillNaN = false;
};

/// Writes the 128 bytes that kernels take as a `__grid_constant__` tensor map.
/// The bytes have this emulator's own format. Errors name the offending field.
llvm::Error encodeTensorMap(const TensorMap &map, void *bytes128);

/// Reads back what `encodeTensorMap` or `tensormap.replace` wrote.
llvm::Expected<TensorMap> decodeTensorMap(const void *bytes128);

class ModuleState;
class DeviceState;

/// A loaded module; owned by its device.
class Module {
public:
  explicit Module(std::unique_ptr<ModuleState> state);
  ~Module();

  /// Names of the module's kernels in order of definition.
  std::vector<std::string> getKernelNames() const;
  /// The kernel's description, or an error that lists the kernels there are.
  llvm::Expected<KernelInfo> getKernel(llvm::StringRef name) const;
  /// Address and size in bytes of a `.global` or `.const` variable.
  llvm::Expected<std::pair<uint64_t, uint64_t>>
  getGlobal(llvm::StringRef name) const;

  ModuleState &getState() { return *state; }

private:
  std::unique_ptr<ModuleState> state;
};

/// An emulated device. Device addresses are host addresses of the emulator's
/// own allocations, so registered host memory is visible at its own address.
/// Not thread-safe: callers serialize.
class Device {
public:
  explicit Device(Options options = {});
  ~Device();
  Device(const Device &) = delete;
  Device &operator=(const Device &) = delete;

  Options &getOptions();

  /// Parses and links one PTX text; `name` stands for the file in messages.
  llvm::Expected<Module *> loadModule(llvm::StringRef ptx,
                                      llvm::StringRef name = "<ptx>");
  /// Frees a module and its variables.
  void unloadModule(Module *module);

  /// Uninitialized device memory aligned to 256 bytes; `name` stands for it in
  /// findings.
  llvm::Expected<uint64_t> allocate(uint64_t bytes, llvm::StringRef name = "");
  /// Fails on anything that `allocate` did not return.
  llvm::Error free(uint64_t address);
  /// Makes `bytes` at `host` accessible to kernels, as initialized memory.
  llvm::Error registerHost(void *host, uint64_t bytes,
                           llvm::StringRef name = "");
  llvm::Error unregisterHost(void *host);

  /// Copies and fills check that the device range lies in one allocation.
  /// Either side of a copy may be a host address that was never registered:
  /// then use the two functions that name the direction.
  llvm::Error copyToDevice(uint64_t device, const void *host, uint64_t bytes);
  llvm::Error copyFromDevice(void *host, uint64_t device, uint64_t bytes);
  llvm::Error copyDeviceToDevice(uint64_t to, uint64_t from, uint64_t bytes);
  llvm::Error fill(uint64_t device, uint8_t value, uint64_t bytes);
  /// Whether the address lies in device or registered memory.
  bool isDeviceAddress(uint64_t address) const;

  /// Gathers values as a `void **` launch passes them: one pointer per
  /// parameter, sizes from the PTX.
  static std::vector<uint8_t> packArguments(const KernelInfo &kernel,
                                            const void *const *values);

  /// Runs a grid to its end. An error means that the launch was not possible
  /// (no such kernel, bad dimensions, an instruction of the kernel that is not
  /// supported); what goes wrong while it runs is a finding of the report.
  llvm::Expected<Report> launch(Module *module, llvm::StringRef kernel,
                                const LaunchConfig &config);
  /// The same once under each of the schedules, from the same memory, up to the
  /// first report that is not ok. That memory is not, byte for byte, what it
  /// was after the first is an error.
  llvm::Expected<std::vector<Report>>
  launchUnderEach(llvm::ArrayRef<Schedule> schedules, Module *module,
                  llvm::StringRef kernel, const LaunchConfig &config);

private:
  std::unique_ptr<DeviceState> state;
};

} // namespace kvq::emu

#endif // KVQ_EMULATOR_EMULATOR_H
