//===- MachineModelTest.cpp - Machine files and what they bound -----------===//

#include "kvq/Emulator/MachineModel.h"
#include "llvm/Support/raw_ostream.h"
#include "gtest/gtest.h"
#include <cstring>

using namespace kvq::emu;

namespace {

/// A machine with round numbers: two processors at 1 GHz, 8 bytes a clock.
const char *const simple = R"({
  "name": "simple", "processors": 2, "clockGHz": 1,
  "memoryBytesPerSecond": 8e9, "source": "made up",
  "resources": [
    {"name": "issue", "perClock": 4, "source": "made up",
     "uses": {"warpInstructions": 1, "move": -1}},
    {"name": "ALU", "perClock": 2, "source": "made up",
     "uses": {"alu": 1, "alu-pack": 2}},
    {"name": "shared memory", "perClock": 1, "source": "made up",
     "uses": {"sharedWavefronts": 1, "tensorSharedBytes": 0.0078125}}],
  "tensor": [
    {"family": "tcgen05", "kind": "f16", "multiplyAddsPerClock": 4096,
     "minimumClocks": 44, "minimumRows": 128, "source": "made up"}]
})";

Counters someCounters() {
  Counters counters;
  counters.warps.resize(2);
  auto add = [&](unsigned warp, InstructionClass kind, Pipe pipe,
                 uint64_t count) {
    counters.warps[warp].warp[static_cast<unsigned>(kind)] += count;
    counters.warps[warp].pipes[static_cast<unsigned>(pipe)] += count;
  };
  add(0, InstructionClass::Integer, Pipe::Alu, 300);
  add(0, InstructionClass::Conversion, Pipe::AluPack, 50);
  add(1, InstructionClass::Integer, Pipe::Alu, 100);
  add(1, InstructionClass::Move, Pipe::Move, 1000);
  counters.distinctReadBytes = 600;
  counters.distinctWriteBytes = 200;
  counters.globalReadBytes = 1 << 20;
  counters.sharedWavefronts = 90;
  return counters;
}

const MachineEstimate::Row &row(const MachineEstimate &estimate,
                                const std::string &name) {
  for (const MachineEstimate::Row &row : estimate.resources)
    if (row.name == name)
      return row;
  ADD_FAILURE() << "no resource " << name;
  return estimate.resources.front();
}

TEST(MachineModel, BusyClocksAndBound) {
  MachineModel machine = llvm::cantFail(MachineModel::parse(simple, "simple"));
  EXPECT_DOUBLE_EQ(machine.memoryBytesPerClock(), 8);
  Counters counters = someCounters();
  MachineEstimate e = estimate(machine, counters);
  // 800 distinct bytes at 8 a clock.
  EXPECT_DOUBLE_EQ(e.memoryClocks, 100);
  // 450 instructions that are no moves, 4 a clock, on two processors.
  EXPECT_DOUBLE_EQ(row(e, "issue").clocks, 56.25);
  EXPECT_DOUBLE_EQ(row(e, "issue").ofMemory, 0.5625);
  // 400 + 2 * 50 slots, 2 a clock.
  EXPECT_DOUBLE_EQ(row(e, "ALU").clocks, 125);
  EXPECT_DOUBLE_EQ(row(e, "shared memory").clocks, 45);
  EXPECT_EQ(e.bound, "ALU");
  EXPECT_DOUBLE_EQ(e.memoryShare, 0.8);

  // 3 products at the floor, 2 at N/2 clocks; M = 64 takes as long as 128.
  TensorCounts operands;
  operands.sharedBytes = 1280;
  for (unsigned i = 0; i < 3; ++i)
    counters.addTensor({"tcgen05", "f16", 128, 32, 16}, operands);
  counters.addTensor({"tcgen05", "f16", 128, 256, 16}, operands);
  counters.addTensor({"tcgen05", "f16", 64, 256, 16}, operands);
  e = estimate(machine, counters);
  EXPECT_DOUBLE_EQ(row(e, "tensor cores").clocks, (3 * 44 + 2 * 128) / 2.0);
  // Five times 1280 bytes at 128 a wavefront.
  EXPECT_DOUBLE_EQ(row(e, "shared memory").clocks, (90 + 50) / 2.0);
  EXPECT_EQ(e.bound, "tensor cores");
  EXPECT_TRUE(e.unknown.empty());
  counters.addTensor({"mma.sync", "f16", 16, 8, 16}, operands);
  e = estimate(machine, counters);
  ASSERT_EQ(e.unknown.size(), 1u);
  EXPECT_EQ(e.unknown[0], "mma.sync f16");

  std::string text;
  llvm::raw_string_ostream os(text);
  e.print(os);
  EXPECT_NE(text.find("bound: tensor cores, at most 51.5%"), std::string::npos)
      << text;
  EXPECT_NE(text.find("no rate is known for mma.sync f16"), std::string::npos);
  EXPECT_EQ(e.toJSON().getString("bound"), "tensor cores");
  EXPECT_DOUBLE_EQ(*e.toJSON().getNumber("memoryClocks"), 100);
}

TEST(MachineModel, MemoryBound) {
  MachineModel machine = llvm::cantFail(MachineModel::parse(simple, "simple"));
  Counters counters;
  counters.distinctReadBytes = 80;
  MachineEstimate e = estimate(machine, counters);
  EXPECT_EQ(e.bound, "memory");
  EXPECT_DOUBLE_EQ(e.memoryShare, 1);
  // Nothing at all takes no time.
  e = estimate(machine, Counters());
  EXPECT_EQ(e.bound, "memory");
  EXPECT_EQ(e.boundClocks, 0);
  EXPECT_EQ(e.memoryShare, 0);
}

TEST(MachineModel, Builtins) {
  for (llvm::StringRef name : MachineModel::builtins()) {
    MachineModel machine = llvm::cantFail(MachineModel::load(name));
    EXPECT_EQ(machine.name, name);
    EXPECT_FALSE(machine.source.empty());
    for (const auto &resource : machine.resources)
      EXPECT_FALSE(resource.source.empty()) << resource.name;
    for (const auto &rate : machine.tensor)
      EXPECT_FALSE(rate.source.empty()) << rate.kind;
  }
  // The budget of a 128-token NVFP4 tile of K and V at head_dim 128: 18,432
  // bytes are 631 clocks of one B200 processor's share of the memory, in which
  // it issues 2,525 warp instructions, 1,262 of them on the ALU.
  MachineModel b200 = llvm::cantFail(MachineModel::load("b200"));
  double clocks =
      18432 / (b200.memoryBytesPerClock() / double(b200.processors));
  EXPECT_NEAR(clocks, 631, 0.5);
  auto perClock = [&](const char *name) {
    for (const auto &resource : b200.resources)
      if (resource.name == name)
        return resource.perClock;
    return 0.0;
  };
  EXPECT_NEAR(perClock("issue") * clocks, 2525, 2);
  EXPECT_NEAR(perClock("ALU") * clocks, 1262, 1);
}

TEST(MachineModel, BadFilesNameTheField) {
  auto message = [](std::string text, const char *from, const char *to) {
    size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    text.replace(at, strlen(from), to);
    return llvm::toString(MachineModel::parse(text, "f.json").takeError());
  };
  auto expect = [&](const char *from, const char *to, const char *what) {
    std::string text = message(simple, from, to);
    EXPECT_NE(text.find(what), std::string::npos) << text;
  };
  expect("\"processors\": 2", "\"processors\": 0", "processors");
  expect("\"clockGHz\": 1", "\"clockGHz\": -1", "clockGHz");
  expect("\"clockGHz\": 1,", "", "clockGHz");
  expect("8e9", "\"fast\"", "memoryBytesPerSecond");
  expect("\"alu\": 1", "\"uranium\": 1", "no counter of this name");
  expect("\"perClock\": 2", "\"perClock\": 0", "perClock");
  expect("4096", "0", "multiplyAddsPerClock");
  expect("\"tensor\": [", "\"tensor\": ", "f.json");
  std::string text = llvm::toString(MachineModel::load("b100").takeError());
  EXPECT_NE(text.find("none of b200, h200"), std::string::npos) << text;
}

} // namespace
