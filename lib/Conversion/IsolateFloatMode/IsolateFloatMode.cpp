//===- IsolateFloatMode.cpp - Run code in the default float mode ----------===//

#include "kvq/Conversion/IsolateFloatMode/IsolateFloatMode.h"
#include "mlir/Dialect/LLVMIR/FunctionCallUtils.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/TypeUtilities.h"

namespace kvq {
#define GEN_PASS_DEF_ISOLATEFLOATMODE
#include "kvq/Conversion/Passes.h.inc"
} // namespace kvq

using namespace mlir;

/// Whether an operation's result may depend on the mode. Calls do not count:
/// callees look after themselves.
static bool isFloatArithmetic(Operation &op) {
  if (isa<LLVM::LoadOp, LLVM::StoreOp, LLVM::BitcastOp, LLVM::ConstantOp,
          LLVM::SelectOp, LLVM::ReturnOp, LLVM::BrOp, LLVM::CondBrOp,
          LLVM::CallOp, LLVM::UndefOp, LLVM::PoisonOp, LLVM::InsertValueOp,
          LLVM::ExtractValueOp>(op))
    return false;
  auto isFloat = [](Type type) {
    return isa<FloatType>(getElementTypeOrSelf(type));
  };
  return llvm::any_of(op.getOperandTypes(), isFloat) ||
         llvm::any_of(op.getResultTypes(), isFloat);
}

static bool hasFloatArithmetic(LLVM::LLVMFuncOp function) {
  return function
      ->walk([](Operation *op) {
        return isFloatArithmetic(*op) ? WalkResult::interrupt()
                                      : WalkResult::advance();
      })
      .wasInterrupted();
}

/// A coroutine may go on in another thread, where a mode set before it was
/// suspended does not hold.
static bool isCoroutine(LLVM::LLVMFuncOp function) {
  ArrayAttr attributes = function.getPassthroughAttr();
  return attributes && llvm::any_of(attributes, [](Attribute attribute) {
           auto name = dyn_cast<StringAttr>(attribute);
           return name && name.getValue() == "presplitcoroutine";
         });
}

namespace {

struct IsolateFloatMode
    : public kvq::impl::IsolateFloatModeBase<IsolateFloatMode> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    SmallVector<LLVM::LLVMFuncOp> functions;
    for (auto function : module.getOps<LLVM::LLVMFuncOp>())
      if (!function.isExternal() && !isCoroutine(function) &&
          hasFloatArithmetic(function))
        functions.push_back(function);
    if (functions.empty())
      return;

    OpBuilder b(&getContext());
    auto pointer = LLVM::LLVMPointerType::get(&getContext());
    FailureOr<LLVM::LLVMFuncOp> getMode =
        LLVM::lookupOrCreateFn(b, module, "fegetmode", pointer, b.getI32Type());
    FailureOr<LLVM::LLVMFuncOp> setMode =
        LLVM::lookupOrCreateFn(b, module, "fesetmode", pointer, b.getI32Type());
    if (failed(getMode) || failed(setMode))
      return signalPassFailure();
    SymbolTable symbols(module);
    for (LLVM::LLVMFuncOp function : functions)
      isolate(function, *getMode, *setMode, symbols);
    numIsolated += functions.size();
  }

private:
  static void isolate(LLVM::LLVMFuncOp function, LLVM::LLVMFuncOp getMode,
                      LLVM::LLVMFuncOp setMode, SymbolTable &symbols) {
    OpBuilder b(function.getContext());
    b.setInsertionPointAfter(function);
    Location loc = function.getLoc();
    auto body = LLVM::LLVMFuncOp::create(
        b, loc, (function.getName() + "_in_default_mode").str(),
        function.getFunctionType(), LLVM::Linkage::Internal);
    symbols.insert(body);
    body.setArgAttrsAttr(function.getArgAttrsAttr());
    body.setPassthroughAttr(function.getPassthroughAttr());
    // Only a call keeps arithmetic from moving across a change of the mode.
    body.setNoInline(true);
    body.getBody().takeBody(function.getBody());

    Block *entry = function.addEntryBlock(b);
    b.setInsertionPointToStart(entry);
    auto pointer = LLVM::LLVMPointerType::get(b.getContext());
    auto integer = [&](int64_t value) -> Value {
      return LLVM::ConstantOp::create(b, loc, b.getI64IntegerAttr(value));
    };
    // femode_t has at most 16 bytes: 8 on x86-64, 4 on AArch64.
    Value saved = LLVM::AllocaOp::create(b, loc, pointer, b.getI64Type(),
                                         integer(2), /*alignment=*/16);
    // FE_DFL_MODE is (const femode_t *)-1.
    Value defaultMode = LLVM::IntToPtrOp::create(b, loc, pointer, integer(-1));
    LLVM::CallOp::create(b, loc, getMode, saved);
    LLVM::CallOp::create(b, loc, setMode, defaultMode);
    auto call = LLVM::CallOp::create(b, loc, body, entry->getArguments());
    LLVM::CallOp::create(b, loc, setMode, saved);
    LLVM::ReturnOp::create(b, loc, call.getResults());
  }
};

} // namespace
