//===- InsertRuntimeChecks.cpp - Check before an operation runs -----------===//
//
// Each operation runs only if the checks of its operands pass, and nothing of
// the dialect runs after one that failed. A function keeps the kind of its
// first error in a local variable and returns it as a last i32 result, which
// callers merge into theirs.
//
//===----------------------------------------------------------------------===//

#include "kvq/Conversion/RuntimeChecks/InsertRuntimeChecks.h"
#include "OperandChecks.h"
#include "kvq/Conversion/RuntimeChecks/RuntimeChecks.h"
#include "kvq/Dialect/KVQ/Analysis/AppendPairs.h"
#include "kvq/Dialect/KVQ/IR/KVQOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Pass/Pass.h"
#include "llvm/ADT/SetVector.h"

namespace kvq {
#define GEN_PASS_DEF_INSERTRUNTIMECHECKS
#include "kvq/Conversion/Passes.h.inc"
} // namespace kvq

using namespace mlir;
using namespace kvq;

/// Whether an operation is guarded by the status of its function.
static bool isGuarded(Operation *op) {
  return isa_and_nonnull<KVQDialect>(op->getDialect()) &&
         !isa<CacheDataOp, CacheScalesOp, CacheGlobalScaleOp, MakeCacheOp>(op);
}

namespace {

/// Adds checks and the status to the functions that need one.
class StatusInserter {
public:
  /// With `device` the operations run on a device.
  StatusInserter(ModuleOp module, bool device)
      : module(module), device(device) {}

  LogicalResult run();

  /// Operations that run only if their checks pass.
  unsigned numGuarded = 0;

private:
  LogicalResult collect();
  LogicalResult checkUses(func::FuncOp function);
  LogicalResult insert(func::FuncOp function);
  Value addErrorWord(func::FuncOp function);
  FailureOr<Value> check(Operation *op, OpBuilder &b, Value status);
  LogicalResult guard(ArrayRef<Operation *> ops, Value status, Value errorWord);
  void mergeCall(func::CallOp call, Value status);

  ModuleOp module;
  bool device;
  /// The functions that return a status.
  llvm::SetVector<func::FuncOp> functions;
};

} // namespace

LogicalResult StatusInserter::collect() {
  for (auto function : module.getOps<func::FuncOp>()) {
    WalkResult result = function.walk([&](Operation *op) {
      if (!isGuarded(op) && !isa<MakeCacheOp>(op))
        return WalkResult::advance();
      for (Value operand : op->getOperands())
        if (isa<TensorType>(operand.getType())) {
          op->emitOpError("has tensor operands; run-time checks are inserted "
                          "after bufferization");
          return WalkResult::interrupt();
        }
      functions.insert(function);
      return WalkResult::advance();
    });
    if (result.wasInterrupted())
      return failure();
  }
  // Callers of a function with a status have one.
  bool changed = true;
  while (changed) {
    changed = false;
    for (auto function : module.getOps<func::FuncOp>()) {
      if (functions.contains(function))
        continue;
      function.walk([&](func::CallOp call) {
        auto callee = module.lookupSymbol<func::FuncOp>(call.getCallee());
        if (callee && functions.contains(callee))
          changed |= functions.insert(function);
      });
    }
  }
  return success();
}

/// Signatures change, so a function may only be called, not referred to.
LogicalResult StatusInserter::checkUses(func::FuncOp function) {
  std::optional<SymbolTable::UseRange> uses =
      SymbolTable::getSymbolUses(function.getOperation(), module);
  if (!uses)
    return success();
  for (SymbolTable::SymbolUse use : *uses)
    if (!isa<func::CallOp>(use.getUser()))
      return use.getUser()->emitOpError()
             << "refers to @" << function.getName()
             << ", which returns a status of its run-time checks; accepted are "
                "direct calls";
  return success();
}

/// Allocates an error word at the entry of a function. Only an asynchronous
/// operation can free it, which buffer deallocation does not accept:
/// convert-kvq-to-gpu inserts it.
Value StatusInserter::addErrorWord(func::FuncOp function) {
  OpBuilder b = OpBuilder::atBlockBegin(&function.front());
  Location loc = function.getLoc();
  StringRef manual = bufferization::BufferizationDialect::kManualDeallocation;
  auto alloc = gpu::AllocOp::create(
      b, loc, MemRefType::get(4, b.getI64Type()), /*asyncToken=*/Type(),
      /*asyncDependencies=*/ValueRange(), /*dynamicSizes=*/ValueRange(),
      /*symbolOperands=*/ValueRange(), /*hostShared=*/true);
  alloc->setAttr("kvq.error_word", b.getUnitAttr());
  alloc->setAttr(manual, b.getUnitAttr());
  Value word = alloc.getMemref();
  Value zero = arith::ConstantIntOp::create(b, loc, 0, 64);
  for (int64_t i = 0; i < 4; ++i)
    memref::StoreOp::create(b, loc, zero, word,
                            Value(arith::ConstantIndexOp::create(b, loc, i)));
  return word;
}

/// Emits the checks of `op` at the builder's place. Returns the status after
/// them, null if there are none.
FailureOr<Value> StatusInserter::check(Operation *op, OpBuilder &b,
                                       Value status) {
  Location loc = op->getLoc();
  OperandChecks checks(module, op, device);
  FailureOr<SmallVector<OperandChecks::Check>> list = checks.collect();
  if (failed(list))
    return failure();
  if (list->empty())
    return Value();
  Value current = memref::LoadOp::create(b, loc, status);
  current = OperandChecks::emit(b, loc, *list, current);
  memref::StoreOp::create(b, loc, current, status);
  return current;
}

/// Lets operations, between which nothing has an effect, run only if the checks
/// of all pass.
LogicalResult StatusInserter::guard(ArrayRef<Operation *> ops, Value status,
                                    Value errorWord) {
  Operation *last = ops.back();
  OpBuilder b(last);
  Location loc = last->getLoc();
  Value current;
  for (Operation *op : ops) {
    FailureOr<Value> checked = check(op, b, status);
    if (failed(checked))
      return failure();
    if (*checked)
      current = *checked;
  }
  if (!current)
    current = memref::LoadOp::create(b, loc, status);
  OperandChecks::guard(b, ops, current);
  numGuarded += ops.size();
  if (!device)
    return success();
  b.setInsertionPointAfter(last);
  func::FuncOp getKind =
      getOrInsertRuntimeCheck(module, "kvq_check_error_word");
  if (!getKind)
    return last->emitOpError()
           << "needs the run-time check @kvq_check_error_word, but the module "
              "has another symbol of this name or of one that it calls";
  Value word = memref::CastOp::create(
      b, loc, getKind.getFunctionType().getInput(0), errorWord);
  Value kind = func::CallOp::create(b, loc, getKind, word).getResult(0);
  memref::StoreOp::create(b, loc, kind, status);
  return success();
}

void StatusInserter::mergeCall(func::CallOp call, Value status) {
  OpBuilder b(call);
  Location loc = call.getLoc();
  // Only a call without results can be left out.
  if (call.getNumResults() == 0) {
    Value current = memref::LoadOp::create(b, loc, status);
    auto branch =
        scf::IfOp::create(b, loc, OperandChecks::isZero(b, loc, current));
    b.setInsertionPointToStart(branch.thenBlock());
  }
  SmallVector<Type> types(call.getResultTypes());
  types.push_back(b.getI32Type());
  auto newCall = func::CallOp::create(b, loc, types, call.getOperands());
  newCall->setAttrs(call->getAttrs());
  Value current = memref::LoadOp::create(b, loc, status);
  Value merged =
      arith::SelectOp::create(b, loc, OperandChecks::isZero(b, loc, current),
                              newCall->getResults().back(), current);
  memref::StoreOp::create(b, loc, merged, status);
  call->replaceAllUsesWith(newCall->getResults().drop_back());
  call->erase();
}

LogicalResult StatusInserter::insert(func::FuncOp function) {
  SmallVector<Operation *> guarded;
  SmallVector<func::CallOp> calls;
  SmallVector<func::ReturnOp> returns;
  function.walk([&](Operation *op) {
    if (isGuarded(op) || isa<MakeCacheOp>(op))
      guarded.push_back(op);
    else if (auto call = dyn_cast<func::CallOp>(op)) {
      auto callee = module.lookupSymbol<func::FuncOp>(call.getCallee());
      if (callee && functions.contains(callee))
        calls.push_back(call);
    } else if (auto ret = dyn_cast<func::ReturnOp>(op)) {
      returns.push_back(ret);
    }
  });

  OpBuilder b = OpBuilder::atBlockBegin(&function.front());
  Location loc = function.getLoc();
  Value status =
      memref::AllocaOp::create(b, loc, MemRefType::get({}, b.getI32Type()));
  memref::StoreOp::create(b, loc, arith::ConstantIntOp::create(b, loc, 0, 32),
                          status);
  Value errorWord;
  if (device && llvm::any_of(guarded, isGuarded))
    errorWord = addErrorWord(function);
  llvm::SmallPtrSet<Operation *, 8> done;
  for (Operation *op : guarded) {
    if (isa<MakeCacheOp>(op)) {
      // A handle has no effect itself: only what uses it is held back.
      b.setInsertionPointAfter(op);
      if (failed(check(op, b, status)))
        return failure();
      continue;
    }
    if (done.contains(op))
      continue;
    SmallVector<Operation *> group{op};
    // Kernels do the appends of both sides of a layer at once.
    if (auto append = dyn_cast<QuantizeAppendOp>(op); append && device)
      if (QuantizeAppendOp partner = findAppendPartner(append)) {
        group.push_back(partner);
        done.insert(partner);
      }
    if (failed(guard(group, status, errorWord)))
      return failure();
  }
  for (func::CallOp call : calls)
    mergeCall(call, status);
  for (func::ReturnOp ret : returns) {
    b.setInsertionPoint(ret);
    Value last = memref::LoadOp::create(b, ret.getLoc(), status);
    ret.getOperandsMutable().append(last);
  }
  (void)function.insertResult(function.getNumResults(), b.getI32Type(),
                              /*resultAttrs=*/{});
  return success();
}

LogicalResult StatusInserter::run() {
  if (failed(collect()))
    return failure();
  for (func::FuncOp function : functions)
    if (failed(checkUses(function)))
      return failure();
  for (func::FuncOp function : functions)
    if (failed(insert(function)))
      return failure();
  return success();
}

namespace {

struct InsertRuntimeChecksPass
    : public kvq::impl::InsertRuntimeChecksBase<InsertRuntimeChecksPass> {
  using InsertRuntimeChecksBase::InsertRuntimeChecksBase;

  void getDependentDialects(DialectRegistry &registry) const override {
    registerRuntimeCheckDialects(registry);
    registry.insert<gpu::GPUDialect>();
  }

  void runOnOperation() override {
    StatusInserter inserter(getOperation(), device);
    if (failed(inserter.run()))
      signalPassFailure();
    numGuarded += inserter.numGuarded;
  }
};

} // namespace
