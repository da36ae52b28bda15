//===- kvq-opt.cpp - Run passes and pipelines over a module ---------------===//

#include "kvq/InitAllDialects.h"
#include "kvq/InitAllExtensions.h"
#include "kvq/InitAllPasses.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "llvm/Support/PrettyStackTrace.h"

int main(int argc, char **argv) {
  llvm::setBugReportMsg(
      "Please report this to the kvq project, with the input and the flags.\n");
  mlir::DialectRegistry registry;
  kvq::registerAllDialects(registry);
  kvq::registerAllExtensions(registry);
  kvq::registerAllPasses();
  return mlir::asMainReturnCode(mlir::MlirOptMain(
      argc, argv, "kvq compiler: optimizer and lowering driver\n", registry));
}
