//===- TestKernel.h - Kernels from a few lines of PTX -----------*- C++ -*-===//

#ifndef KVQ_TEST_UNIT_EMULATOR_MACHINE_TESTKERNEL_H
#define KVQ_TEST_UNIT_EMULATOR_MACHINE_TESTKERNEL_H

#include "kvq/Emulator/Emulator.h"
#include "gtest/gtest.h"
#include <cstring>
#include <string>
#include <vector>

namespace kvq::emu::test {

/// A module with one kernel `k(.u64 p0, .u64 p1, ...)`: `body` finds the
/// parameters in %rd1, %rd2, ..., %tid.x in %r1, and may use %r2..%r31,
/// %rd5..%rd31, %rs1..%rs15, %f1..%f15, %fd1..%fd7 and %p1..%p7.
std::string makeModule(unsigned parameters, const std::string &body,
                       const std::string &globals = "");

/// A device with buffers.
class TestDevice {
public:
  explicit TestDevice(Options options = {}) : device(std::move(options)) {}

  template <typename T>
  uint64_t upload(const std::vector<T> &values) {
    uint64_t address = allocate(values.size() * sizeof(T));
    EXPECT_FALSE(static_cast<bool>(device.copyToDevice(
        address, values.data(), values.size() * sizeof(T))));
    return address;
  }
  uint64_t allocate(uint64_t bytes) {
    llvm::Expected<uint64_t> address = device.allocate(bytes, "buffer");
    if (!address) {
      ADD_FAILURE() << llvm::toString(address.takeError());
      return 0;
    }
    return *address;
  }
  template <typename T>
  std::vector<T> download(uint64_t address, size_t count) {
    std::vector<T> values(count);
    llvm::Error error =
        device.copyFromDevice(values.data(), address, count * sizeof(T));
    EXPECT_FALSE(static_cast<bool>(error));
    return values;
  }
  /// Loads `ptx` and runs its kernel `k`.
  Report run(const std::string &ptx, Dim3 grid, Dim3 block,
             const std::vector<uint64_t> &arguments, uint64_t shared = 0,
             Dim3 cluster = {0, 0, 0});
  /// The same for a launch that must fail; returns the error's text.
  std::string error(const std::string &ptx, Dim3 grid, Dim3 block,
                    const std::vector<uint64_t> &arguments);

  Device device;
};

/// True if the report has a finding of this kind.
bool has(const Report &report, FindingKind kind);
/// Expects a run to the end with nothing found.
void expectClean(const Report &report);
/// Options with all checks and a step limit that ends a runaway test.
Options checkedOptions(const std::string &schedule = "eager");

/// Runs one instruction on rows of operands and returns its results.
/// `instruction` reads %x, %y, %z and writes %d, declared with `type`-sized
/// registers of `resultBits` and the given source bits.
std::vector<uint64_t>
runInstruction(const std::string &instruction, unsigned resultBits,
               const std::vector<unsigned> &sourceBits,
               const std::vector<std::vector<uint64_t>> &rows);

/// Values with many corners of a type of `bits` bits, then random ones.
std::vector<uint64_t> interestingValues(unsigned bits, unsigned random);

} // namespace kvq::emu::test

#endif // KVQ_TEST_UNIT_EMULATOR_MACHINE_TESTKERNEL_H
