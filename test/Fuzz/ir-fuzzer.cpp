//===- ir-fuzzer.cpp - Fuzz the parser and the verifiers ------------------===//
//
// Parses text as a module of the dialect, which also verifies it. What parses
// must print, and parse again to the same text.
//
//===----------------------------------------------------------------------===//

#include "kvq/Dialect/KVQ/IR/KVQDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"

using namespace mlir;

static std::string print(ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  module.print(stream);
  return text;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  // Uniqued attributes and types live as long as a context.
  MLIRContext context(MLIRContext::Threading::DISABLED);
  context.loadDialect<kvq::KVQDialect, func::FuncDialect>();
  context.getDiagEngine().registerHandler([](Diagnostic &) {});
  std::string text(reinterpret_cast<const char *>(data), size);
  OwningOpRef<ModuleOp> module =
      parseSourceString<ModuleOp>(text, ParserConfig(&context));
  if (!module)
    return 0;
  std::string printed = print(*module);
  OwningOpRef<ModuleOp> again =
      parseSourceString<ModuleOp>(printed, ParserConfig(&context));
  if (!again || print(*again) != printed)
    abort();
  return 0;
}
