//===- module-fuzzer.cpp - Fuzz the parser and the verifiers --------------===//
//
// Text or bytecode is parsed and verified. What is valid must print, and what
// it prints as must be valid, too.
//
// libMLIR itself is not instrumented: crashes of upstream's parser that do not
// involve the dialect may turn up.
//
//===----------------------------------------------------------------------===//

#include "kvq/Dialect/KVQ/IR/KVQDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"

using namespace mlir;

static OwningOpRef<ModuleOp> parse(StringRef text, MLIRContext &context) {
  ScopedDiagnosticHandler quiet(&context, [](Diagnostic &) {});
  return parseSourceString<ModuleOp>(text, &context);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  // A fresh context for each input, as types and attributes stay in one.
  static const DialectRegistry registry = [] {
    DialectRegistry made;
    made.insert<arith::ArithDialect, func::FuncDialect, kvq::KVQDialect>();
    return made;
  }();
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  std::string text(reinterpret_cast<const char *>(data), size);
  OwningOpRef<ModuleOp> module = parse(text, context);
  if (!module)
    return 0;
  std::string printed;
  llvm::raw_string_ostream(printed) << *module;
  if (!parse(printed, context))
    abort();
  return 0;
}
