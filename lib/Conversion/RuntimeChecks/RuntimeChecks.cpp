//===- RuntimeChecks.cpp - Functions that check indices at run time -------===//

#include "kvq/Conversion/RuntimeChecks/RuntimeChecks.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Parser/Parser.h"

using namespace mlir;

namespace {

/// The text of Checks.mlir.
constexpr char kChecks[] =
#include "Checks.mlir.inc"
    ;

/// What the checks call; the host or another lowering may define it.
constexpr llvm::StringLiteral kReport = "kvq_report";

/// Marks the functions that come from the library, so that a user's function
/// of the same name is not taken for one of them.
constexpr llvm::StringLiteral kMark = "kvq.runtime_check";

/// `name` and the functions that it reaches by calls, callers first.
SmallVector<func::FuncOp> findReached(SymbolTable &library, StringRef name) {
  SmallVector<func::FuncOp> reached;
  auto add = [&](StringRef callee) {
    auto function = library.lookup<func::FuncOp>(callee);
    if (function && !llvm::is_contained(reached, function))
      reached.push_back(function);
  };
  add(name);
  for (size_t i = 0; i < reached.size(); ++i)
    reached[i].walk([&](func::CallOp call) { add(call.getCallee()); });
  return reached;
}

} // namespace

void kvq::registerRuntimeCheckDialects(DialectRegistry &registry) {
  registry.insert<arith::ArithDialect, bufferization::BufferizationDialect,
                  func::FuncDialect, LLVM::LLVMDialect, memref::MemRefDialect,
                  scf::SCFDialect>();
}

func::FuncOp kvq::getOrInsertRuntimeCheck(ModuleOp module, StringRef name) {
  auto isOurs = [](Operation *op) {
    return isa<func::FuncOp>(op) && op->hasAttr(kMark);
  };
  if (Operation *present = module.lookupSymbol(name))
    return isOurs(present) ? cast<func::FuncOp>(present) : func::FuncOp();

  OwningOpRef<ModuleOp> parsed = parseSourceString<ModuleOp>(
      kChecks, ParserConfig(module.getContext()), "kvq run-time checks");
  assert(parsed && "the library of run-time checks does not parse");
  if (!parsed)
    return {};
  SymbolTable library(*parsed);
  SmallVector<func::FuncOp> reached = findReached(library, name);
  for (func::FuncOp function : reached) {
    if (Operation *present = module.lookupSymbol(function.getName())) {
      auto other = dyn_cast<func::FuncOp>(present);
      bool isReport = other && function.getName() == kReport &&
                      other.getFunctionType() == function.getFunctionType();
      if (!isOurs(present) && !isReport)
        return {};
    }
  }

  auto internal = LLVM::LinkageAttr::get(module.getContext(),
                                         LLVM::linkage::Linkage::Internal);
  func::FuncOp result;
  OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
  for (func::FuncOp function : reached) {
    if (module.lookupSymbol(function.getName()))
      continue;
    auto copy = cast<func::FuncOp>(builder.clone(*function));
    copy->setAttr(kMark, builder.getUnitAttr());
    // Symbols that are private in MLIR are not so in an object file.
    if (copy.isPrivate())
      copy->setAttr("llvm.linkage", internal);
    if (copy.getName() == name)
      result = copy;
  }
  return result;
}
