//===- consumer-opt.cpp - An opt tool of a project that uses kvq ----------===//

#include "kvq/InitAllDialects.h"
#include "kvq/InitAllExtensions.h"
#include "kvq/InitAllPasses.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  kvq::registerAllDialects(registry);
  kvq::registerAllExtensions(registry);
  kvq::registerAllPasses();
  return mlir::asMainReturnCode(
      mlir::MlirOptMain(argc, argv, "consumer's optimizer\n", registry));
}
