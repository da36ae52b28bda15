//===- KVQPlugin.cpp - kvq as a plugin of mlir-opt ------------------------===//
//
// Entry points for --load-dialect-plugin and --load-pass-plugin of a tool that
// is linked to the shared MLIR library. Such a tool parses its command line
// before it loads a plugin, so passes are named in --pass-pipeline.
//
//===----------------------------------------------------------------------===//

#include "kvq/Conversion/Passes.h"
#include "kvq/Dialect/KVQ/Transforms/Passes.h"
#include "kvq/InitAllDialects.h"
#include "kvq/InitAllExtensions.h"
#include "kvq/Pipelines/Pipelines.h"
#include "kvq/Support/Version.h"
#include "mlir/Tools/Plugins/DialectPlugin.h"
#include "mlir/Tools/Plugins/PassPlugin.h"

// The text of a version is a literal, and so ends with a NUL.

extern "C" LLVM_ATTRIBUTE_WEAK mlir::DialectPluginLibraryInfo
mlirGetDialectPluginInfo() {
  return {MLIR_PLUGIN_API_VERSION, "KVQ", kvq::getVersion().data(),
          [](mlir::DialectRegistry *registry) {
            kvq::registerAllDialects(*registry);
            // The tool has the models of upstream dialects.
            kvq::registerOwnExtensions(*registry);
          }};
}

extern "C" LLVM_ATTRIBUTE_WEAK mlir::PassPluginLibraryInfo
mlirGetPassPluginInfo() {
  return {MLIR_PLUGIN_API_VERSION, "KVQ", kvq::getVersion().data(), [] {
            kvq::registerKVQTransformsPasses();
            kvq::registerKVQConversionPasses();
            kvq::registerPipelines();
          }};
}
