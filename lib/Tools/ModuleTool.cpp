//===- ModuleTool.cpp - Command-line tools over one module ----------------===//

#include "kvq/Tools/ModuleTool.h"
#include "kvq/InitAllDialects.h"
#include "kvq/InitAllExtensions.h"
#include "kvq/Support/Version.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Support/FileUtilities.h"
#include "llvm/Support/PrettyStackTrace.h"

using namespace kvq;
using namespace mlir;
namespace cl = llvm::cl;

namespace {
class DiagnosedError : public llvm::ErrorInfo<DiagnosedError> {
public:
  static char ID;
  void log(raw_ostream &os) const override { os << "diagnosed before"; }
  std::error_code convertToErrorCode() const override {
    return llvm::inconvertibleErrorCode();
  }
};
} // namespace

char DiagnosedError::ID = 0;

llvm::Error kvq::diagnosedError() { return llvm::make_error<DiagnosedError>(); }

int kvq::reportError(llvm::Error error) {
  llvm::handleAllErrors(
      std::move(error), [](const DiagnosedError &) {},
      [](const llvm::ErrorInfoBase &info) {
        llvm::errs() << "error: " << info.message() << '\n';
      });
  return 1;
}

void kvq::parseCommandLine(int argc, char **argv, StringRef tool,
                           cl::OptionCategory &category, StringRef overview) {
  llvm::setBugReportMsg(
      "Please report this to the kvq project, with the input and the flags.\n");
  cl::HideUnrelatedOptions(category);
  cl::SetVersionPrinter([tool = tool.str()](raw_ostream &os) {
    os << tool << ' ' << getVersion() << '\n';
  });
  cl::ParseCommandLineOptions(argc, argv, overview);
}

int kvq::runOnModule(
    StringRef file, DialectRegistry &registry,
    llvm::function_ref<llvm::Error(ModuleOp, llvm::SourceMgr &)> body) {
  std::string message;
  std::unique_ptr<llvm::MemoryBuffer> buffer = openInputFile(file, &message);
  if (!buffer)
    return reportError(llvm::createStringError(Twine(message)));
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(std::move(buffer), llvm::SMLoc());

  registerAllDialects(registry);
  registerAllExtensions(registry);
  MLIRContext context(registry);
  context.printOpOnDiagnostic(false);
  SourceMgrDiagnosticHandler handler(sources, &context);
  OwningOpRef<ModuleOp> module = parseSourceFile<ModuleOp>(sources, &context);
  if (!module)
    return 1;
  if (llvm::Error error = body(*module, sources))
    return reportError(std::move(error));
  return 0;
}
