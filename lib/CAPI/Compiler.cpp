//===- Compiler.cpp - Parse modules and run pipelines from C --------------===//

#include "kvq-c/Compiler.h"
#include "ContextDiagnostics.h"
#include "kvq/InitAllDialects.h"
#include "kvq/InitAllExtensions.h"
#include "kvq/InitAllPasses.h"
#include "mlir/CAPI/IR.h"
#include "mlir/CAPI/Utils.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"

using namespace mlir;
using namespace kvq::capi;

MlirContext kvqContextCreate() {
  // The registry of passes is one for the process.
  static bool passes = [] {
    kvq::registerAllPasses();
    return true;
  }();
  (void)passes;
  DialectRegistry registry;
  kvq::registerAllDialects(registry);
  kvq::registerAllExtensions(registry);
  auto *context = new MLIRContext(registry);
  // A diagnostic has a place; the text of the operation is noise beside it.
  context->printOpOnDiagnostic(false);
  // A type or an attribute may be parsed before any operation of its dialect.
  context->loadAllAvailableDialects();
  return wrap(context);
}

MlirModule kvqModuleParse(MlirContext context, MlirStringRef source,
                          MlirStringRef file, KvqDiagnosticCallback callback,
                          void *userData) {
  DiagnosticSink sink(callback, userData);
  if (mlirContextIsNull(context)) {
    sink.fail("the context is null");
    return {nullptr};
  }
  ContextDiagnostics diagnostics(unwrap(context), sink);
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(
      llvm::MemoryBuffer::getMemBufferCopy(unwrap(source), unwrap(file)),
      llvm::SMLoc());
  return wrap(parseSourceFile<ModuleOp>(sources, ParserConfig(unwrap(context)))
                  .release());
}

/// Adds the passes of a text, with or without the anchor around them. Returns
/// whether that worked; otherwise `errors` says why not.
static LogicalResult addPipeline(OpPassManager &passes, StringRef text,
                                 raw_ostream &errors) {
  StringRef anchor = text.trim();
  if (anchor.empty()) {
    errors << "the pipeline names no pass";
    return failure();
  }
  if (!anchor.starts_with("builtin.module(") && !anchor.starts_with("any("))
    return parsePassPipeline(text, passes, errors);
  FailureOr<OpPassManager> anchored = parsePassPipeline(anchor, errors);
  if (failed(anchored))
    return failure();
  passes = std::move(*anchored);
  return success();
}

/// The parser of pipelines prints each error with the text and a caret below.
/// Returns the messages alone.
static std::string getMessages(StringRef printed) {
  SmallVector<StringRef> lines, messages;
  printed.split(lines, '\n', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
  for (StringRef line : lines) {
    auto [place, message] = line.split("error: ");
    if (!message.empty())
      messages.push_back(message);
    else if (line.starts_with("<Pass-Options-Parser>: "))
      messages.push_back(
          line.drop_front(StringRef("<Pass-Options-Parser>: ").size()));
  }
  if (messages.empty())
    return printed.trim().str();
  return llvm::join(messages, "; ");
}

MlirLogicalResult kvqModuleRunPipeline(MlirModule module,
                                       MlirStringRef pipeline,
                                       KvqDiagnosticCallback callback,
                                       void *userData) {
  DiagnosticSink sink(callback, userData);
  if (mlirModuleIsNull(module))
    return sink.fail("the module is null");
  ModuleOp op = unwrap(module);
  ContextDiagnostics diagnostics(op.getContext(), sink);
  PassManager passes(op.getContext(), ModuleOp::getOperationName());
  std::string printed;
  llvm::raw_string_ostream errors(printed);
  if (failed(addPipeline(passes, unwrap(pipeline), errors)))
    return sink.fail(getMessages(printed));
  return wrap(passes.run(op));
}

MlirLogicalResult kvqModuleVerify(MlirModule module,
                                  KvqDiagnosticCallback callback,
                                  void *userData) {
  DiagnosticSink sink(callback, userData);
  if (mlirModuleIsNull(module))
    return sink.fail("the module is null");
  ModuleOp op = unwrap(module);
  ContextDiagnostics diagnostics(op.getContext(), sink);
  return wrap(verify(op));
}

void kvqModulePrint(MlirModule module, MlirStringCallback callback,
                    void *userData) {
  if (mlirModuleIsNull(module) || !callback)
    return;
  mlir::detail::CallbackOstream stream(callback, userData);
  unwrap(module).print(stream);
}
