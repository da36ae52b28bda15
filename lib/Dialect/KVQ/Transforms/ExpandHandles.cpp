//===- ExpandHandles.cpp - Replace cache handles by their parts -----------===//
//
// A 1:N type conversion: a handle becomes (data, scales, global scale), where
// parts that its format lacks are absent. Covers functions and calls, scf and
// cf, selects, and the operations that make and open handles.
//
//===----------------------------------------------------------------------===//

#include "kvq/Dialect/KVQ/IR/KVQOps.h"
#include "kvq/Dialect/KVQ/Transforms/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/ControlFlow/Transforms/StructuralTypeConversions.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Func/Transforms/FuncConversions.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/SCF/Transforms/Patterns.h"
#include "mlir/Transforms/DialectConversion.h"
#include "mlir/Transforms/RegionUtils.h"

namespace kvq {
#define GEN_PASS_DEF_EXPANDHANDLES
#include "kvq/Dialect/KVQ/Transforms/Passes.h.inc"
} // namespace kvq

using namespace mlir;
using namespace kvq;

namespace {

class HandleTypeConverter : public TypeConverter {
public:
  HandleTypeConverter() {
    addConversion([](Type type) { return type; });
    addConversion([](CacheType type, SmallVectorImpl<Type> &parts) {
      parts.push_back(type.getDataType());
      if (MemRefType scales = type.getScalesType())
        parts.push_back(scales);
      if (MemRefType globalScale = type.getGlobalScaleType())
        parts.push_back(globalScale);
      return success();
    });
    // Where a handle is still used it is made from its parts again.
    addSourceMaterialization([](OpBuilder &b, CacheType type, ValueRange parts,
                                Location loc) -> Value {
      KVFormatInterface format = type.getFormat();
      Value data = parts.front(), scales, globalScale;
      if (format.hasBlockScale())
        scales = parts[1];
      if (format.getHasGlobalScale())
        globalScale = parts.back();
      return MakeCacheOp::create(b, loc, type, data, scales, globalScale);
    });
  }
};

struct ExpandMakeCache : public OpConversionPattern<MakeCacheOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(MakeCacheOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    SmallVector<Type> types;
    if (failed(getTypeConverter()->convertType(op.getType(), types)))
      return failure();
    SmallVector<Value> parts;
    for (auto [operand, type] : llvm::zip_equal(adaptor.getOperands(), types))
      parts.push_back(
          operand.getType() == type
              ? operand
              : memref::CastOp::create(rewriter, op.getLoc(), type, operand)
                    .getResult());
    rewriter.replaceOpWithMultiple(op, {ValueRange(parts)});
    return success();
  }
};

/// Whether a handle is made of parts that have the types of an expansion, and
/// is used as a handle only: what materialization gives, which stays.
static bool isMaterialized(MakeCacheOp op, const TypeConverter &converter) {
  SmallVector<Type> types;
  return succeeded(converter.convertType(op.getType(), types)) &&
         TypeRange(types) == op.getOperandTypes() && !op->use_empty() &&
         llvm::all_of(op->getUsers(), [](Operation *user) {
           return isa<KVQDialect>(user->getDialect()) &&
                  !isa<CacheDataOp, CacheScalesOp, CacheGlobalScaleOp>(user);
         });
}

/// Replaces an accessor by the part of its type, which is unique among the
/// parts but for its place: data first, a global scale last.
template <typename Accessor>
struct ExpandAccessor : public OpConversionPattern<Accessor> {
  using OpConversionPattern<Accessor>::OpConversionPattern;
  using OneToNOpAdaptor =
      typename OpConversionPattern<Accessor>::OneToNOpAdaptor;

  LogicalResult
  matchAndRewrite(Accessor op, OneToNOpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    ValueRange parts = adaptor.getCache();
    Value part;
    if constexpr (std::is_same_v<Accessor, CacheDataOp>)
      part = parts.front();
    else if constexpr (std::is_same_v<Accessor, CacheScalesOp>)
      part = parts[1];
    else
      part = parts.back();
    rewriter.replaceOp(op, part);
    return success();
  }
};

struct ExpandSelect : public OpConversionPattern<arith::SelectOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(arith::SelectOp op, OneToNOpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    if (!isa<CacheType>(op.getType()))
      return rewriter.notifyMatchFailure(op, "does not select a handle");
    SmallVector<Value> parts;
    for (auto [onTrue, onFalse] :
         llvm::zip_equal(adaptor.getTrueValue(), adaptor.getFalseValue()))
      parts.push_back(arith::SelectOp::create(rewriter, op.getLoc(),
                                              adaptor.getCondition().front(),
                                              onTrue, onFalse));
    rewriter.replaceOpWithMultiple(op, {ValueRange(parts)});
    return success();
  }
};

struct ExpandHandlesPass
    : public kvq::impl::ExpandHandlesBase<ExpandHandlesPass> {
  void runOnOperation() override;
};

} // namespace

/// Spreads the attributes of handle arguments over the parts and drops those
/// of the kvq dialect, which concern handles only. The upstream signature
/// conversion leaves argument attributes as they are.
static void expandArgumentAttributes(FunctionOpInterface function,
                                     const TypeConverter &converter) {
  ArrayAttr attributes = function.getAllArgAttrs();
  if (!attributes)
    return;
  SmallVector<Attribute> expanded;
  for (auto [type, attribute] :
       llvm::zip_equal(function.getArgumentTypes(), attributes)) {
    NamedAttrList kept(cast<DictionaryAttr>(attribute));
    if (isa<CacheType>(type))
      for (StringRef name :
           {StringRef(KVQDialect::getMayAliasAttrName()),
            StringRef(KVQDialect::getCacheFormatAttrName()),
            StringRef(KVQDialect::getLayerAttrName())})
        kept.erase(name);
    SmallVector<Type> parts;
    if (failed(converter.convertType(type, parts)))
      return;
    expanded.append(parts.size(), kept.getDictionary(function.getContext()));
  }
  // Until the arguments are expanded the counts differ: nothing verifies in
  // between.
  function.setArgAttrsAttr(ArrayAttr::get(function.getContext(), expanded));
}

void ExpandHandlesPass::runOnOperation() {
  ModuleOp module = getOperation();
  MLIRContext *context = &getContext();
  HandleTypeConverter converter;

  for (auto function : module.getOps<FunctionOpInterface>()) {
    for (Type result : function.getResultTypes()) {
      if (!isa<CacheType>(result))
        continue;
      function.emitError() << "function returns a handle of type " << result
                           << "; handles are passed down, not returned";
      return signalPassFailure();
    }
  }

  // No branch converts the arguments of a block that none leads to.
  IRRewriter rewriter(context);
  (void)eraseUnreachableBlocks(rewriter, module->getRegions());

  RewritePatternSet patterns(context);
  ConversionTarget target(*context);
  target.markUnknownOpDynamicallyLegal([](Operation *) { return true; });
  auto hasNoHandles = [](Operation *op) {
    auto isHandle = [](Type type) { return isa<CacheType>(type); };
    return llvm::none_of(op->getOperandTypes(), isHandle) &&
           llvm::none_of(op->getResultTypes(), isHandle);
  };
  target.addIllegalOp<CacheDataOp, CacheGlobalScaleOp, CacheScalesOp>();
  target.addDynamicallyLegalOp<MakeCacheOp>(
      [&](MakeCacheOp op) { return isMaterialized(op, converter); });
  target.addDynamicallyLegalOp<arith::SelectOp>(hasNoHandles);
  target.addDynamicallyLegalOp<func::CallOp>(hasNoHandles);
  target.addDynamicallyLegalOp<func::FuncOp>([&](func::FuncOp op) {
    // The patterns of branches convert the other blocks.
    return converter.isSignatureLegal(op.getFunctionType()) &&
           (op.isExternal() ||
            converter.isLegal(op.getBody().front().getArgumentTypes()));
  });

  patterns
      .add<ExpandAccessor<CacheDataOp>, ExpandAccessor<CacheScalesOp>,
           ExpandAccessor<CacheGlobalScaleOp>, ExpandMakeCache, ExpandSelect>(
          converter, context);
  populateFunctionOpInterfaceTypeConversionPattern<func::FuncOp>(patterns,
                                                                 converter);
  populateCallOpTypeConversionPattern(patterns, converter);
  scf::populateSCFStructuralTypeConversionsAndLegality(converter, patterns,
                                                       target);
  cf::populateCFStructuralTypeConversionsAndLegality(converter, patterns,
                                                     target);

  for (auto function : module.getOps<FunctionOpInterface>())
    expandArgumentAttributes(function, converter);
  if (failed(applyPartialConversion(module, target, std::move(patterns))))
    signalPassFailure();
}
