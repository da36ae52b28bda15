//===- EntrySignature.cpp - What a function of a module takes -------------===//

#include "kvq/ExecutionEngine/EntrySignature.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "llvm/ADT/StringExtras.h"

using namespace kvq;
using namespace mlir;

static func::FuncOp findEntry(ModuleOp module, StringRef name) {
  auto isEntry = [](func::FuncOp function) {
    return function.isPublic() && !function.isExternal();
  };
  auto function =
      dyn_cast_or_null<func::FuncOp>(SymbolTable::lookupSymbolIn(module, name));
  if (function && isEntry(function))
    return function;

  std::string found;
  llvm::ListSeparator comma;
  for (auto other : module.getOps<func::FuncOp>())
    if (isEntry(other))
      found += (StringRef(comma) + "'" + other.getName() + "'").str();
  Operation *at = function ? function.getOperation() : module;
  InFlightDiagnostic error = at->emitError() << "expected a public function '"
                                             << name << "' with a body, found ";
  if (function)
    error << "one that " << (function.isExternal() ? "has none" : "is private");
  else
    error << (found.empty() ? "no such function" : found);
  return {};
}

FailureOr<EntrySignature> EntrySignature::get(ModuleOp module, StringRef name) {
  func::FuncOp function = findEntry(module, name);
  if (!function)
    return failure();
  EntrySignature signature;
  signature.name = name.str();
  auto convert = [&](TypeRange types, StringRef what,
                     SmallVectorImpl<HostType> &converted) -> LogicalResult {
    for (auto [index, type] : llvm::enumerate(types)) {
      llvm::Expected<HostType> host = HostType::get(type);
      if (!host)
        return function.emitError()
               << "'" << name << "' cannot be an entry: " << what << " "
               << index << ": " << llvm::toString(host.takeError());
      converted.push_back(std::move(*host));
    }
    return success();
  };
  if (failed(convert(function.getArgumentTypes(), "argument",
                     signature.arguments)) ||
      failed(convert(function.getResultTypes(), "result", signature.results)))
    return failure();
  return signature;
}

Type EntrySignature::getLoweredType(const HostType &type) {
  MLIRContext *context = type.type.getContext();
  if (type.isScalar) {
    if (isa<Float16Type, Float32Type, Float64Type, BFloat16Type>(type.type))
      return type.type;
    bool isBool = type.element == NpyElement::Bool;
    return IntegerType::get(context, isBool ? 1 : getBitWidth(type.element));
  }
  auto pointer = LLVM::LLVMPointerType::get(context);
  auto word = IntegerType::get(context, 64);
  SmallVector<Type> fields{pointer, pointer, word};
  if (!type.shape.empty()) {
    auto words = LLVM::LLVMArrayType::get(word, type.shape.size());
    fields.append({words, words});
  }
  return LLVM::LLVMStructType::getLiteral(context, fields);
}

FailureOr<bool> EntrySignature::returnsStatus(ModuleOp module) const {
  auto function = module.lookupSymbol<LLVM::LLVMFuncOp>(name);
  if (!function)
    return module.emitError() << "the lowered module has no function '" << name
                              << "' in the LLVM dialect";
  MLIRContext *context = module.getContext();
  auto pack = [&](ArrayRef<Type> types) -> Type {
    if (types.empty())
      return LLVM::LLVMVoidType::get(context);
    if (types.size() == 1)
      return types.front();
    return LLVM::LLVMStructType::getLiteral(context, types);
  };
  SmallVector<Type> types;
  for (const HostType &result : results)
    types.push_back(getLoweredType(result));
  Type found = function.getFunctionType().getReturnType();
  if (found == pack(types))
    return false;
  types.push_back(IntegerType::get(context, 32));
  if (found == pack(types))
    return true;
  return function.emitError()
         << "expected the lowered function to return " << pack(types)
         << ", where the last i32 may be missing, found " << found;
}
