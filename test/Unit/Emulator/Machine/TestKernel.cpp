//===- TestKernel.cpp - Kernels from a few lines of PTX -------------------===//

#include "TestKernel.h"
#include "llvm/Support/raw_ostream.h"
#include <random>

using namespace kvq::emu;
using namespace kvq::emu::test;

std::string kvq::emu::test::makeModule(unsigned parameters,
                                       const std::string &body,
                                       const std::string &globals) {
  std::string text = ".version 8.7\n.target sm_100a\n.address_size 64\n";
  text += globals;
  text += "\n.visible .entry k(";
  for (unsigned i = 0; i < parameters; ++i)
    text += std::string(i ? ", " : "") + ".param .u64 p" + std::to_string(i);
  text += ")\n{\n";
  text += ".reg .pred %p<8>;\n.reg .b16 %rs<16>;\n.reg .b32 %r<32>;\n"
          ".reg .b64 %rd<32>;\n.reg .f32 %f<16>;\n.reg .f64 %fd<8>;\n";
  for (unsigned i = 0; i < parameters; ++i)
    text += "ld.param.u64 %rd" + std::to_string(i + 1) + ", [p" +
            std::to_string(i) + "];\n";
  text += "mov.u32 %r1, %tid.x;\n";
  return text + body + "\nret;\n}\n";
}

static Report failed(llvm::Error error) {
  ADD_FAILURE() << llvm::toString(std::move(error));
  return Report();
}

Report TestDevice::run(const std::string &ptx, Dim3 grid, Dim3 block,
                       const std::vector<uint64_t> &arguments, uint64_t shared,
                       Dim3 cluster) {
  llvm::Expected<Module *> module = device.loadModule(ptx, "test.ptx");
  if (!module)
    return failed(module.takeError());
  LaunchConfig config;
  config.grid = grid;
  config.block = block;
  config.cluster = cluster;
  config.dynamicSharedBytes = shared;
  config.arguments.resize(arguments.size() * 8);
  if (!arguments.empty())
    memcpy(config.arguments.data(), arguments.data(), config.arguments.size());
  llvm::Expected<Report> report = device.launch(*module, "k", config);
  if (!report)
    return failed(report.takeError());
  return std::move(*report);
}

std::string TestDevice::error(const std::string &ptx, Dim3 grid, Dim3 block,
                              const std::vector<uint64_t> &arguments) {
  llvm::Expected<Module *> module = device.loadModule(ptx, "test.ptx");
  if (!module)
    return llvm::toString(module.takeError());
  LaunchConfig config;
  config.grid = grid;
  config.block = block;
  config.arguments.resize(arguments.size() * 8);
  if (!arguments.empty())
    memcpy(config.arguments.data(), arguments.data(), config.arguments.size());
  llvm::Expected<Report> report = device.launch(*module, "k", config);
  return report ? "" : llvm::toString(report.takeError());
}

bool kvq::emu::test::has(const Report &report, FindingKind kind) {
  for (const Finding &finding : report.findings)
    if (finding.kind == kind)
      return true;
  return false;
}

void kvq::emu::test::expectClean(const Report &report) {
  EXPECT_TRUE(report.completed);
  std::string text;
  llvm::raw_string_ostream os(text);
  report.printFindings(os);
  EXPECT_EQ(text, "");
}

Options kvq::emu::test::checkedOptions(const std::string &schedule) {
  Options options;
  options.checks = Checks::all();
  options.schedule = llvm::cantFail(Schedule::parse(schedule));
  options.maxWarpInstructions = 10000000;
  return options;
}

std::vector<uint64_t>
kvq::emu::test::runInstruction(const std::string &instruction,
                               unsigned resultBits,
                               const std::vector<unsigned> &sourceBits,
                               const std::vector<std::vector<uint64_t>> &rows) {
  static const char *const names[] = {"%x", "%y", "%z", "%w"};
  std::string body = ".reg .b" +
                     std::to_string(resultBits == 1 ? 32 : resultBits) +
                     " %d;\n.reg .pred %q, %s;\n";
  // Row i of thread i: 8-byte operands, one after another.
  body += "mov.u32 %r2, %ctaid.x;\nmov.u32 %r3, %ntid.x;\n"
          "mad.lo.s32 %r1, %r2, %r3, %r1;\n";
  body += "setp.ge.u32 %p1, %r1, " + std::to_string(rows.size()) +
          ";\n@%p1 ret;\nmul.wide.u32 %rd5, %r1, " +
          std::to_string(8 * sourceBits.size()) +
          ";\nadd.s64 %rd5, %rd1, %rd5;\n";
  for (size_t i = 0; i < sourceBits.size(); ++i) {
    std::string bits = std::to_string(sourceBits[i]);
    body += ".reg .b" + bits + " " + names[i] + ";\n";
    body += "ld.global.b" + bits + " " + names[i] + ", [%rd5+" +
            std::to_string(8 * i) + "];\n";
  }
  body += instruction + "\n";
  if (resultBits == 1)
    body += "selp.b32 %d, 1, 0, %q;\n";
  body += "mul.wide.u32 %rd6, %r1, 8;\nadd.s64 %rd6, %rd2, %rd6;\n"
          "mov.b64 %rd7, 0;\nst.global.b64 [%rd6], %rd7;\n"
          "st.global.b" +
          std::to_string(resultBits == 1 ? 32 : resultBits) + " [%rd6], %d;\n";
  std::vector<uint64_t> flat;
  for (const auto &row : rows)
    flat.insert(flat.end(), row.begin(), row.end());
  TestDevice device;
  uint64_t in = device.upload(flat), out = device.allocate(rows.size() * 8);
  uint32_t blocks = static_cast<uint32_t>((rows.size() + 127) / 128);
  Report report =
      device.run(makeModule(2, body), {blocks, 1, 1}, {128, 1, 1}, {in, out});
  expectClean(report);
  return device.download<uint64_t>(out, rows.size());
}

std::vector<uint64_t> kvq::emu::test::interestingValues(unsigned bits,
                                                        unsigned random) {
  uint64_t mask = bits >= 64 ? ~uint64_t(0) : (uint64_t(1) << bits) - 1;
  std::vector<uint64_t> values = {0, 1, 2, 3, mask, mask - 1};
  for (unsigned i : {7u, 8u, 15u, 16u, 23u, 24u, 31u, 32u, bits - 1})
    if (i < bits)
      for (int delta : {-1, 0, 1})
        values.push_back(((uint64_t(1) << i) + delta) & mask);
  std::mt19937_64 generator(bits);
  for (unsigned i = 0; i < random; ++i)
    values.push_back((generator() >> generator() % bits) & mask);
  return values;
}
