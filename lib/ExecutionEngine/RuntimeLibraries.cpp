//===- RuntimeLibraries.cpp - Libraries that compiled code needs ----------===//

#include "RuntimeLibraries.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "llvm/Support/Errc.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace kvq;
using namespace mlir;

llvm::Expected<SmallVector<std::string>>
kvq::findRuntimeLibraries(ModuleOp module) {
  struct Library {
    StringLiteral prefix;
    StringLiteral name;
  };
  static constexpr Library libraries[] = {
      {"mlirAsyncRuntime", "libmlir_async_runtime.so"},
      {"memrefCopy", "libmlir_c_runner_utils.so"},
      {"_mlir_apfloat_", "libmlir_apfloat_wrappers.so"},
      {"__kmpc_", "libomp.so"},
      {"omp_", "libomp.so"},
  };
  SmallVector<std::string> paths;
  for (auto function : module.getOps<LLVM::LLVMFuncOp>()) {
    if (!function.isExternal())
      continue;
    for (const Library &library : libraries) {
      if (!function.getName().starts_with(library.prefix))
        continue;
      SmallString<128> path(KVQ_LLVM_LIBRARY_DIR);
      llvm::sys::path::append(path, library.name);
      if (llvm::is_contained(paths, StringRef(path)))
        break;
      if (!llvm::sys::fs::exists(path))
        return llvm::createStringError(
            llvm::errc::no_such_file_or_directory,
            "the compiled code calls '" + function.getName() +
                "', which needs " + path + "; this file does not exist");
      paths.push_back(std::string(path));
      break;
    }
  }
  return paths;
}
