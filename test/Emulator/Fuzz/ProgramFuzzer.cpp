//===- ProgramFuzzer.cpp - Run short random programs ----------------------===//
//
// Each byte string is a program: instructions of many forms, most with operands
// of the kinds they take, some with any. Whatever it does, the launch ends with
// an error, with findings, or with all CTAs finished, and the host is whole.
//
//===----------------------------------------------------------------------===//

#include "kvq/Emulator/Emulator.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include <cstdlib>
#include <cstring>

using namespace kvq::emu;
using llvm::StringRef;

/// A mnemonic and the kinds of its operands: `p` predicate, `h`, `r`, `d`, `q`
/// registers of 16 to 128 bits or values, `g`, `s`, `t`, `b` addresses in
/// global, shared and tensor memory and of an mbarrier, `2` `4` `8` vectors of
/// 32-bit registers, `i` a small number, `L` a label, `D` a matrix descriptor,
/// `I` an instruction descriptor, `m` a tensor map with coordinates, `|` a pair
/// of predicates, `_` a sink.
static const char *const forms[] = {
#include "Forms.inc"
};

static const char *const operands[] = {
    "p%p0 p%p1 p!%p2 p%p3",
    "h%h0 h%h1 h%h2 h7 h-1",
    "r%r0 r%r1 r%r2 r%r3 r%r4 r0 r1 r31 r-1 r0x80000000 r%tid.x r%laneid "
    "r%r1+4",
    "d%d0 d%d1 d%d2 d%d3 d0 d-1 d%d0+64 d%clock64",
    "q%q0 q%q1",
    "g[%d0] g[%d0+16] g[%d0+1020] g[%d1] g[buffer] g[buffer+4] g[%d3]",
    "s[array] s[array+16] s[array+2044] s[%r1] s[%r1+128] s[%r2]",
    "t[%r3] t[%r3+4] t[%r4] t[%r2]",
    "b[bar] b[bar+8] b[array] b[%r1]",
    "2{%r4,%r5} 2{%r5,%r4} 2{_,%r4}",
    "4{%r4,%r5,%r6,%r7} 4{%r7,%r6,%r5,%r4} 4{%r4,%r4,%r4,%r4}",
    "8{%r4,%r5,%r6,%r7,%r8,%r9,%r10,%r11} 8{%r4,%r4,%r4,%r4,%r4,%r4,%r4,%r4}",
    "i0 i1 i2 i4 i8 i16 i32 i64 i255",
    "LL0 LL1 LL2 LL3",
    "D%d2 D%d3 D0x4000008000400040 D0x4000404000400040",
    "I%r2 I0x08040010 I0x08040480 I0x04020010 I0x8020010",
    "m[%d0,{%r0}] m[map,{0,0}] m[map,{%r0,%r1}] m[map,{0,0,0}] m[%d0,{1,2}]",
    "|%p0|%p1 |%p2|%p3 |_|%p1",
    "__",
};

namespace {

/// Takes bytes off the input; zeros behind its end.
class Bytes {
public:
  explicit Bytes(llvm::ArrayRef<uint8_t> bytes) : bytes(bytes) {}
  bool empty() const { return bytes.empty(); }
  unsigned take() {
    if (bytes.empty())
      return 0;
    unsigned value = bytes.front();
    bytes = bytes.drop_front();
    return value;
  }

private:
  llvm::ArrayRef<uint8_t> bytes;
};

/// All operands, for each kind those of it, and the registers among them.
struct OperandTable {
  llvm::SmallVector<StringRef, 128> all;
  llvm::SmallVector<StringRef, 16> ofKind[128], registersOfKind[128];

  OperandTable() {
    for (StringRef line : operands) {
      llvm::SmallVector<StringRef, 16> words;
      line.split(words, ' ');
      for (StringRef word : words) {
        all.push_back(word.drop_front());
        auto kind = static_cast<unsigned>(word[0]);
        StringRef operand = word.drop_front();
        ofKind[kind].push_back(operand);
        bool isRegister = operand.size() == 3 && operand[0] == '%';
        if (isRegister || !StringRef("phrdq").contains(word[0]))
          registersOfKind[kind].push_back(operand);
      }
    }
  }
};

} // namespace

static StringRef pick(llvm::ArrayRef<StringRef> choices, unsigned byte) {
  return choices[byte % choices.size()];
}

static std::string makeProgram(Bytes &input) {
  static const OperandTable table;
  std::string body;
  for (unsigned line = 0; line < 24 && !input.empty(); ++line) {
    unsigned form = input.take() | (input.take() & 7) << 8;
    auto [mnemonic, kinds] =
        StringRef(forms[form % std::size(forms)]).split(' ');
    if (line < 4)
      body += "L" + std::to_string(line) + ": ";
    unsigned choice = input.take();
    // Some instructions are guarded, some have a wrong operand or lack one.
    if (choice % 8 == 1)
      body += "@%p0 ";
    else if (choice % 8 == 2)
      body += "@!%p1 ";
    int wrong = choice % 32 == 5 ? static_cast<int>(input.take() % 8) : -1;
    bool lacks = choice % 64 == 11;
    body += mnemonic;
    for (size_t i = 0; i + lacks < kinds.size(); ++i) {
      auto kind = static_cast<unsigned>(kinds[i]);
      llvm::ArrayRef<StringRef> choices = table.ofKind[kind];
      if (static_cast<int>(i) == wrong)
        choices = table.all;
      else if (i == 0)
        // Most often what is written.
        choices = table.registersOfKind[kind];
      body += i ? ", " : " ";
      body += pick(choices, input.take());
    }
    body += ";\n";
  }
  // Labels that no line has.
  for (unsigned label = 0; label < 4; ++label)
    if (body.find("L" + std::to_string(label) + ":") == std::string::npos)
      body += "L" + std::to_string(label) + ":\n";
  return ".version 9.0\n.target sm_100a\n.address_size 64\n"
         ".global .align 64 .b8 buffer[1024];\n"
         ".global .align 128 .b8 map[128];\n"
         ".shared .align 1024 .b8 array[2048];\n"
         ".shared .align 8 .b64 bar[2];\n.shared .align 4 .b32 slot;\n"
         ".visible .entry k(.param .u64 p)\n{\n"
         ".reg .pred %p<4>;\n.reg .b16 %h<4>;\n.reg .b32 %r<12>;\n"
         ".reg .b64 %d<4>;\n.reg .b128 %q<2>;\n"
         "ld.param.u64 %d0, [p];\nmov.u32 %r0, %tid.x;\nmov.u32 %r1, array;\n"
         "setp.eq.u32 %p0, %r0, 0;\n@%p0 mbarrier.init.shared.b64 [bar], 1;\n"
         "bar.sync 0;\n" +
         body + "ret;\n}\n";
}

static void require(bool condition) {
  if (!condition)
    std::abort();
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  Bytes input(llvm::ArrayRef(data, size));
  unsigned mode = input.take();
  Options options;
  options.maxWarpInstructions = 4000;
  options.threads = 1;
  options.checks = mode & 1 ? Checks::all() : Checks::none();
  const char *const schedules[] = {"eager", "lazy", "random:1", "random:2"};
  options.schedule = llvm::cantFail(Schedule::parse(schedules[mode >> 1 & 3]));
  options.print = [](StringRef) {};
  std::string text = makeProgram(input);
  // For a look at what an input means.
  if (getenv("KVQ_FUZZ_PRINT"))
    fputs(text.c_str(), stderr);

  Device device(options);
  uint64_t buffer = llvm::cantFail(device.allocate(1024, "buffer"));
  llvm::Expected<Module *> module = device.loadModule(text, "fuzz.ptx");
  if (!module) {
    require(!llvm::toString(module.takeError()).empty());
    return 0;
  }
  LaunchConfig config;
  config.grid = {2, 1, 1};
  config.block = {mode & 8 ? 128u : 33u, 1, 1};
  config.cluster = {mode & 16 ? 2u : 1u, 1, 1};
  config.arguments.resize(8);
  memcpy(config.arguments.data(), &buffer, 8);
  llvm::Expected<Report> report = device.launch(*module, "k", config);
  if (report)
    require(report->completed || !report->findings.empty());
  else
    require(!llvm::toString(report.takeError()).empty());
  return 0;
}
