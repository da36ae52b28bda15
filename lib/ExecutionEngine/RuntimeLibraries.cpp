//===- RuntimeLibraries.cpp - Libraries that compiled code needs ----------===//

#include "kvq/ExecutionEngine/RuntimeLibraries.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/OpenMP/OpenMPDialect.h"
#include "llvm/Support/Errc.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace kvq;
using namespace mlir;

static constexpr StringLiteral kOpenMPLibrary = "libomp.so";

/// Whether translation to LLVM IR will call the OpenMP runtime.
static bool usesOpenMP(ModuleOp module) {
  return module
      ->walk([](Operation *op) {
        return isa_and_nonnull<omp::OpenMPDialect>(op->getDialect())
                   ? WalkResult::interrupt()
                   : WalkResult::advance();
      })
      .wasInterrupted();
}

SmallVector<std::string> kvq::getRuntimeLibraries(ModuleOp module) {
  struct Library {
    StringLiteral prefix;
    StringLiteral name;
  };
  static constexpr Library libraries[] = {
      {"mlirAsyncRuntime", "libmlir_async_runtime.so"},
      {"memrefCopy", "libmlir_c_runner_utils.so"},
      {"_mlir_apfloat_", "libmlir_apfloat_wrappers.so"},
  };
  SmallVector<std::string> names;
  for (auto function : module.getOps<LLVM::LLVMFuncOp>())
    for (const Library &library : libraries)
      if (function.isExternal() &&
          function.getName().starts_with(library.prefix) &&
          !llvm::is_contained(names, library.name))
        names.push_back(library.name.str());
  if (usesOpenMP(module))
    names.push_back(kOpenMPLibrary.str());
  return names;
}

/// Returns the path of the library that runs kernels.
static llvm::Expected<std::string> findGPULibrary(GPURuntime runtime,
                                                  StringRef library) {
  SmallString<128> path(library);
  if (path.empty() && runtime == GPURuntime::Emulator) {
    // Beside the folder of the program, in the build tree and installed.
    static int anchor;
    path = llvm::sys::fs::getMainExecutable(nullptr, &anchor);
    llvm::sys::path::remove_filename(path);
    llvm::sys::path::append(path, "..", "lib", "libkvq_emu_runtime.so");
  } else if (path.empty()) {
    path = KVQ_LLVM_LIBRARY_DIR;
    llvm::sys::path::append(path, "libmlir_cuda_runtime.so");
  }
  if (!llvm::sys::fs::exists(path))
    return llvm::createStringError(
        llvm::errc::no_such_file_or_directory,
        "kernels are run by '" + Twine(path) +
            "', which does not exist; --gpu-runtime=FILE names another");
  return std::string(path);
}

llvm::Expected<SmallVector<std::string>>
kvq::findRuntimeLibraries(ModuleOp module, GPURuntime gpuRuntime,
                          StringRef gpuLibrary) {
  SmallVector<std::string> paths = getRuntimeLibraries(module);
  for (std::string &name : paths) {
    bool isOpenMP = name == kOpenMPLibrary;
    SmallString<128> path(KVQ_LLVM_LIBRARY_DIR);
    llvm::sys::path::append(path, name);
    if (isOpenMP)
      path = StringRef(KVQ_OPENMP_LIBRARY);
    if (!llvm::sys::fs::exists(path))
      return llvm::createStringError(
          llvm::errc::no_such_file_or_directory,
          "the compiled code needs '" +
              (path.empty() ? StringRef(name) : StringRef(path)) + "', which " +
              (path.empty() ? "was not found when kvq was configured "
                              "(KVQ_OPENMP_LIBRARY names it)"
                            : "does not exist") +
              (isOpenMP ? "; --parallel=async needs no OpenMP" : ""));
    name = std::string(path);
  }
  if (gpuRuntime == GPURuntime::None)
    return paths;
  llvm::Expected<std::string> library = findGPULibrary(gpuRuntime, gpuLibrary);
  if (!library)
    return library.takeError();
  paths.push_back(std::move(*library));
  return paths;
}
