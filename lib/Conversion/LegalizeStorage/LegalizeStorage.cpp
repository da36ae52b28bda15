//===- LegalizeStorage.cpp - Store low-bit floats in bytes ----------------===//

#include "kvq/Conversion/LegalizeStorage/LegalizeStorage.h"
#include "Patterns.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/Transforms/StructuralTypeConversions.h"
#include "mlir/Dialect/Func/Transforms/FuncConversions.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/Transforms/Patterns.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Transforms/RegionUtils.h"

namespace kvq {
#define GEN_PASS_DEF_LEGALIZESTORAGE
#include "kvq/Conversion/Passes.h.inc"
} // namespace kvq

using namespace mlir;

void kvq::populateLegalizeStoragePatterns(const StorageTypeConverter &converter,
                                          RewritePatternSet &patterns) {
  detail::populateElementPatterns(converter, patterns);
  detail::populateViewPatterns(converter, patterns);
}

namespace {

struct LegalizeStorage : kvq::impl::LegalizeStorageBase<LegalizeStorage> {
  void runOnOperation() override {
    // All of the module is checked before any of it changes, so that errors
    // speak of the operations as they were written.
    bool illegal = false;
    getOperation()->walk([&](Operation *op) {
      std::string why = kvq::explainIllegalStorage(op);
      if (why.empty())
        return;
      op->emitOpError(why);
      illegal = true;
    });
    if (illegal)
      return signalPassFailure();

    // Types of blocks are converted with the branches to them.
    IRRewriter rewriter(&getContext());
    (void)eraseUnreachableBlocks(rewriter, getOperation()->getRegions());

    kvq::StorageTypeConverter converter;
    RewritePatternSet patterns(&getContext());
    kvq::populateLegalizeStoragePatterns(converter, patterns);
    scf::populateSCFStructuralTypeConversions(converter, patterns);
    populateAnyFunctionOpInterfaceTypeConversionPattern(patterns, converter);
    populateCallOpTypeConversionPattern(patterns, converter);
    populateReturnOpTypeConversionPattern(patterns, converter);
    cf::populateCFStructuralTypeConversions(converter, patterns);

    ConversionTarget target(getContext());
    target.markUnknownOpDynamicallyLegal([&](Operation *op) {
      if (auto function = dyn_cast<FunctionOpInterface>(op))
        if (!converter.isLegal(function.getFunctionType()))
          return false;
      if (auto global = dyn_cast<memref::GlobalOp>(op))
        if (!converter.isLegal(global.getType()))
          return false;
      // The patterns of an operation convert its entry blocks, those of a
      // branch the blocks that it goes to.
      return converter.isLegal(op) &&
             llvm::all_of(op->getRegions(), [&](Region &region) {
               return region.empty() ||
                      converter.isLegal(region.front().getArgumentTypes());
             });
    });
    if (failed(applyPartialConversion(getOperation(), target,
                                      std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace
