//===- kvq-lsp-server.cpp - Language server for kvq modules ---------------===//

#include "kvq/InitAllDialects.h"
#include "kvq/InitAllExtensions.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Tools/mlir-lsp-server/MlirLspServerMain.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  kvq::registerAllDialects(registry);
  kvq::registerAllExtensions(registry);
  return mlir::failed(mlir::MlirLspServerMain(argc, argv, registry));
}
