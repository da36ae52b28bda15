//===- Parse.h - Helpers of the parser's tests ------------------*- C++ -*-===//

#ifndef KVQ_TEST_UNIT_EMULATOR_PTX_PARSE_H
#define KVQ_TEST_UNIT_EMULATOR_PTX_PARSE_H

#include "kvq/Emulator/PTX/Module.h"
#include "gtest/gtest.h"

namespace kvq::emu::ptx {

inline std::string withHeader(llvm::StringRef text) {
  return (".version 8.6\n.target sm_100a\n.address_size 64\n" + text).str();
}

/// Parses a module without its header; fails the test if that is an error.
inline std::unique_ptr<Module> parse(llvm::StringRef text) {
  auto module = parseModule(withHeader(text), "test.ptx");
  if (!module) {
    ADD_FAILURE() << toString(module.takeError());
    return nullptr;
  }
  return std::move(*module);
}

/// The message that the parser gives; empty if it gives none.
inline std::string parseError(llvm::StringRef text) {
  auto module = parseModule(withHeader(text), "test.ptx");
  return module ? "" : toString(module.takeError());
}

/// A kernel with some registers around a body.
inline std::string inKernel(llvm::StringRef body) {
  return (".visible .entry k(.param .u64 p) {\n"
          ".reg .pred %p<4>; .reg .b16 %rs<8>; .reg .b32 %r<300>;\n"
          ".reg .b64 %rd<8>; .reg .f32 %f<8>; .reg .f64 %fd<4>;\n" +
          body + "\n}\n")
      .str();
}

/// The first instruction of such a kernel, kept with its module.
struct One {
  explicit One(llvm::StringRef text) : module(parse(inKernel(text))) {}
  explicit operator bool() const { return module != nullptr; }
  const Function &function() const { return module->functions[0]; }
  const Instruction &operator*() const { return function().instructions[0]; }
  const Instruction *operator->() const { return &**this; }
  const Operand &operand(unsigned index) const {
    return (**this).operands[index];
  }
  std::string registerName(const Operand &operand) const {
    return function().registers[operand.index].name;
  }

  std::unique_ptr<Module> module;
};

} // namespace kvq::emu::ptx

#endif // KVQ_TEST_UNIT_EMULATOR_PTX_PARSE_H
