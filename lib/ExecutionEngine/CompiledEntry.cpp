//===- CompiledEntry.cpp - A function compiled for this processor ---------===//

#include "kvq/ExecutionEngine/CompiledEntry.h"
#include "RuntimeReports.h"
#include "kvq/ExecutionEngine/DeviceMemory.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/ExecutionEngine/ExecutionEngine.h"
#include "mlir/ExecutionEngine/OptUtils.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/GPU/GPUToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/OpenMP/OpenMPToLLVMIRTranslation.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ExecutionEngine/Orc/JITTargetMachineBuilder.h"
#include "llvm/Support/Errc.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include <chrono>
#include <cstring>

using namespace kvq;
using namespace mlir;

static constexpr llvm::StringLiteral kReportName = "kvq_report";

void kvq::keepOnlyEntry(ModuleOp module, StringRef name) {
  SymbolTable symbols(module);
  llvm::SetVector<Operation *> reached;
  if (Operation *entry = symbols.lookup(name))
    reached.insert(entry);
  auto follow = [&](Operation *from) {
    if (auto uses = SymbolTable::getSymbolUses(from))
      for (const SymbolTable::SymbolUse &use : *uses)
        if (Operation *symbol = symbols.lookup(
                use.getSymbolRef().getRootReference().getValue()))
          reached.insert(symbol);
  };
  // What is no function stays, with what it refers to.
  for (Operation &op : *module.getBody())
    if (!isa<func::FuncOp>(op))
      follow(&op);
  for (size_t i = 0; i != reached.size(); ++i)
    follow(reached[i]);
  for (auto function :
       llvm::make_early_inc_range(module.getOps<func::FuncOp>()))
    if (!reached.contains(function))
      function.erase();
}

void kvq::requestCInterface(ModuleOp module, StringRef name) {
  if (auto function = module.lookupSymbol<func::FuncOp>(name))
    function->setAttr(LLVM::LLVMDialect::getEmitCWrapperAttrName(),
                      UnitAttr::get(module.getContext()));
}

void kvq::registerExecutionEngine(DialectRegistry &registry) {
  registerBuiltinDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
  registerOpenMPDialectTranslation(registry);
  registerGPUDialectTranslation(registry);
}

CompiledEntry::CompiledEntry() = default;
CompiledEntry::CompiledEntry(CompiledEntry &&) = default;
CompiledEntry::~CompiledEntry() = default;

/// Makes `kvq_report` a declaration that our own definition resolves: the
/// body of a weak one could be inlined.
static void replaceReport(ModuleOp module) {
  auto function = module.lookupSymbol<LLVM::LLVMFuncOp>(kReportName);
  if (!function || function.isExternal())
    return;
  function.getBody().getBlocks().clear();
  function.setLinkage(LLVM::Linkage::External);
}

/// Gives the module's constants and variables names that can be looked up, and
/// returns the names with sizes in bytes.
static SmallVector<std::pair<std::string, size_t>>
exportGlobals(ModuleOp module) {
  DataLayout layout(module);
  SmallVector<std::pair<std::string, size_t>> globals;
  for (auto global : module.getOps<LLVM::GlobalOp>()) {
    if (!global.getValueOrNull() && !global.getInitializerBlock())
      continue; // defined elsewhere
    global.setLinkage(LLVM::Linkage::External);
    globals.emplace_back(global.getSymName(),
                         layout.getTypeSize(global.getGlobalType()));
  }
  return globals;
}

llvm::Expected<CompiledEntry> CompiledEntry::create(ModuleOp module,
                                                    EntrySignature signature,
                                                    unsigned optLevel,
                                                    GPURuntime gpuRuntime,
                                                    StringRef gpuLibrary) {
  auto fail = [&](const Twine &what) {
    return llvm::createStringError(llvm::errc::invalid_argument,
                                   "'" + Twine(signature.name) + "': " + what);
  };
  FailureOr<bool> hasStatus = signature.returnsStatus(module);
  if (failed(hasStatus))
    return fail("its lowered form is none that can be called");
  replaceReport(module);

  llvm::InitializeNativeTarget();
  llvm::InitializeNativeTargetAsmPrinter();
  llvm::InitializeNativeTargetAsmParser();
  auto builder = llvm::orc::JITTargetMachineBuilder::detectHost();
  if (!builder)
    return builder.takeError();
  auto codeGenLevel = llvm::CodeGenOpt::getLevel(static_cast<int>(optLevel));
  if (!codeGenLevel)
    return fail("expected an optimization level of 0 to 3, found " +
                Twine(optLevel));
  builder->setCodeGenOptLevel(*codeGenLevel);
  auto machine = builder->createTargetMachine();
  if (!machine)
    return machine.takeError();

  bool hasKernels = gpuRuntime != GPURuntime::None;
  SmallVector<std::pair<std::string, size_t>> globals;
  if (hasKernels)
    globals = exportGlobals(module);
  auto libraries = findRuntimeLibraries(module, gpuRuntime, gpuLibrary);
  if (!libraries)
    return libraries.takeError();
  SmallVector<StringRef> paths(libraries->begin(), libraries->end());
  auto transformer =
      makeOptimizingTransformer(optLevel, /*sizeLevel=*/0, machine->get());
  ExecutionEngineOptions options;
  options.transformer = transformer;
  options.jitCodeGenOptLevel = codeGenLevel;
  options.sharedLibPaths = paths;
  options.enableGDBNotificationListener = false;
  options.enablePerfNotificationListener = false;
  auto engine = ExecutionEngine::create(module, options, std::move(*machine));
  if (!engine)
    return engine.takeError();

  (*engine)->registerSymbols([&](llvm::orc::MangleAndInterner mangle) {
    llvm::orc::SymbolMap symbols;
    auto define = [&](StringRef name, auto *function) {
      symbols[mangle(name)] = llvm::orc::ExecutorSymbolDef(
          llvm::orc::ExecutorAddr::fromPtr(function),
          llvm::JITSymbolFlags::Exported);
    };
    define(kReportName, &RuntimeReports::report);
    if (hasKernels) {
      define("malloc", &DeviceMemory::allocate);
      define("free", &DeviceMemory::release);
    }
    return symbols;
  });
  (*engine)->initialize();
  auto function = (*engine)->lookupPacked("_mlir_ciface_" + signature.name);
  if (!function)
    return fail("its code could not be linked: " +
                llvm::toString(function.takeError()));

  CompiledEntry entry;
  entry.signature = std::move(signature);
  entry.hasStatus = *hasStatus;
  entry.engine = std::move(*engine);
  entry.function = *function;
  if (hasKernels) {
    auto registerHost = entry.engine->lookup("mgpuMemHostRegister");
    auto unregisterHost = entry.engine->lookup("mgpuMemHostUnregister");
    if (!registerHost || !unregisterHost) {
      llvm::Error errors = llvm::joinErrors(registerHost.takeError(),
                                            unregisterHost.takeError());
      return fail("the library that runs kernels lacks a function: " +
                  llvm::toString(std::move(errors)));
    }
    entry.registerHost =
        reinterpret_cast<DeviceMemory::Register>(*registerHost);
    entry.unregisterHost =
        reinterpret_cast<DeviceMemory::Unregister>(*unregisterHost);
  }
  for (auto &[name, size] : globals) {
    llvm::Expected<void *> address = entry.engine->lookup(name);
    if (!address)
      return fail("its constants could not be linked: " +
                  llvm::toString(address.takeError()));
    entry.globals.emplace_back(*address, size);
  }
  return entry;
}

namespace {
/// The structure through which the C interface returns, as words so that it is
/// aligned for all that it may hold.
class ResultArea {
public:
  ResultArea(const EntrySignature &signature, bool hasStatus) {
    size_t size = 0;
    auto add = [&](size_t alignment, size_t bytes) {
      size = llvm::alignTo(size, alignment);
      offsets.push_back(size);
      size += bytes;
    };
    for (const HostType &result : signature.results) {
      if (result.isScalar)
        add(result.elementSize(), result.elementSize());
      else
        add(8, 8 * descriptorSize(result.shape.size()));
    }
    if (hasStatus)
      add(4, 4);
    words.resize(llvm::divideCeil(size, 8));
  }

  char *get(size_t index) {
    return reinterpret_cast<char *>(words.data()) + offsets[index];
  }
  Descriptor getDescriptor(size_t index, size_t rank) {
    Descriptor descriptor(descriptorSize(rank));
    std::memcpy(descriptor.data(), get(index), 8 * descriptor.size());
    return descriptor;
  }
  void *data() { return words.data(); }

private:
  std::vector<int64_t> words;
  SmallVector<size_t> offsets;
};
} // namespace

/// What MLIR stores as the allocated pointer of a memref.global, which must
/// not be freed.
static constexpr int64_t kGlobalPointer = 0xdeadbeef;

llvm::Expected<SmallVector<NpyArray>>
CompiledEntry::call(MutableArrayRef<HostArgument> arguments) {
  auto fail = [&](const Twine &what) {
    return llvm::createStringError(llvm::errc::invalid_argument,
                                   "'" + Twine(signature.name) + "': " + what);
  };
  if (arguments.size() != signature.arguments.size())
    return fail("expected " + Twine(signature.arguments.size()) +
                " arguments, found " + Twine(arguments.size()));

  // The packed interface takes the address of each argument. Descriptors are
  // themselves passed by address. Callees may change neither.
  SmallVector<Descriptor> descriptors;
  descriptors.reserve(arguments.size());
  SmallVector<void *> pointers;
  pointers.reserve(arguments.size() + 1);
  SmallVector<void *> packed;
  ResultArea area(signature, hasStatus);
  void *areaPointer = area.data();
  size_t numResults = signature.results.size() + hasStatus;
  bool isDirect =
      numResults == 1 && (hasStatus || signature.results.front().isScalar);
  if (numResults != 0 && !isDirect)
    packed.push_back(&areaPointer);
  for (auto [index, argument] : llvm::enumerate(arguments)) {
    const HostType &type = signature.arguments[index];
    if (type.isScalar != std::holds_alternative<HostScalar>(argument))
      return fail("expected argument " + Twine(index) + " to be " +
                  (type.isScalar ? "a scalar" : "an array"));
    if (auto *scalar = std::get_if<HostScalar>(&argument)) {
      packed.push_back(scalar->bytes);
      continue;
    }
    descriptors.push_back(std::get<HostBuffer>(argument).descriptor());
    pointers.push_back(descriptors.back().data());
    packed.push_back(&pointers.back());
  }
  if (isDirect)
    packed.push_back(area.data());

  llvm::Error error = [&] {
    RuntimeReports reports;
    std::optional<DeviceMemory> memory;
    if (registerHost) {
      memory.emplace(registerHost, unregisterHost);
      for (HostArgument &argument : arguments)
        if (auto *buffer = std::get_if<HostBuffer>(&argument))
          memory->add(reinterpret_cast<void *>(buffer->descriptor().front()),
                      buffer->sizeInBytes());
      for (auto [address, size] : globals)
        memory->add(address, size);
    }
    auto start = std::chrono::steady_clock::now();
    function(packed.data());
    callSeconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
            .count();
    return reports.takeError();
  }();

  // After a report the results are there, but hold nothing.
  SmallVector<NpyArray> results;
  for (auto [index, type] : llvm::enumerate(signature.results)) {
    if (error)
      break;
    llvm::Expected<NpyArray> result =
        type.isScalar
            ? NpyArray::zeros(type.resultType(), {})
            : readDescriptor(area.getDescriptor(index, type.shape.size()),
                             type.resultType(), type.shape.size());
    if (!result) {
      error = llvm::joinErrors(std::move(error), result.takeError());
      break;
    }
    if (type.isScalar)
      std::memcpy(result->data(), area.get(index), result->sizeInBytes());
    // Only the lowest bit of an i1 in memory has a meaning.
    if (type.element == NpyElement::Bool)
      for (size_t i = 0, e = result->sizeInBytes(); i != e; ++i)
        result->data()[i] &= 1;
    results.push_back(std::move(*result));
  }

  // Results that the function allocated are the caller's to free, once.
  SmallVector<int64_t> borrowed{0, kGlobalPointer};
  for (const HostArgument &argument : arguments)
    if (auto *buffer = std::get_if<HostBuffer>(&argument))
      borrowed.push_back(buffer->descriptor().front());
  for (auto [index, type] : llvm::enumerate(signature.results)) {
    if (type.isScalar)
      continue;
    int64_t allocated = area.getDescriptor(index, type.shape.size()).front();
    if (llvm::is_contained(borrowed, allocated))
      continue;
    borrowed.push_back(allocated);
    std::free(reinterpret_cast<void *>(allocated));
  }
  if (error)
    return std::move(error);

  if (hasStatus) {
    int32_t status;
    std::memcpy(&status, area.get(signature.results.size()), sizeof(status));
    if (status != 0)
      return fail("returned status " + Twine(status) +
                  " without a report of what was wrong");
  }
  return results;
}
