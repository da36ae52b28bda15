//===- FormatConversion.cpp - Give caches another format ------------------===//
//
// Types of handles and of the memrefs behind them change first, then the
// operations that saw stored rows: quantization goes before appends and
// dequantization after gathers.
//
//===----------------------------------------------------------------------===//

#include "FormatConversion.h"
#include "CachePools.h"
#include "kvq/Dialect/KVQ/Transforms/Transforms.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace kvq;

/// Whether elements are stored as the floats that they are.
static bool isUnquantized(KVFormatInterface format) {
  return isa<BFloat16Type, Float16Type>(format.getElementType()) &&
         !format.hasBlockScale() && !format.getHasGlobalScale();
}

//===----------------------------------------------------------------------===//
// What is in the way
//===----------------------------------------------------------------------===//

/// Returns the quantize whose results an append writes, or null.
static QuantizeOp getQuantize(AppendOp append) {
  auto quantize = append.getData().getDefiningOp<QuantizeOp>();
  if (!quantize || append.getData() != quantize.getResult(0) ||
      (append.getScales() && (quantize->getNumResults() != 2 ||
                              append.getScales() != quantize.getResult(1))))
    return {};
  return quantize;
}

/// Returns an operation that uses the stored rows that a gather makes other
/// than by decoding them, or null.
static Operation *findRawUse(GatherOp gather) {
  if (gather->getNumResults() == 0)
    return gather;
  for (OpOperand &use : gather->getUses()) {
    auto dequantize = dyn_cast<DequantizeOp>(use.getOwner());
    if (!dequantize || dequantize.getData() != gather.getResult(0) ||
        (dequantize.getScales() &&
         dequantize.getScales() != gather.getResult(1)))
      return use.getOwner();
  }
  return nullptr;
}

std::optional<Report> kvq::findConversionObstacle(const CacheClass &cacheClass,
                                                  KVFormatInterface target) {
  if (cacheClass.external)
    return Report::get<RemarkId::CacheReachesExternal>().at(
        cacheClass.external);
  CacheType type = cacheClass.getType();
  KVFormatInterface format = type.getFormat();
  for (MakeCacheOp make : cacheClass.made)
    if (make.getScales())
      return Report::get<RemarkId::CacheMemRefsScaled>().at(make);
  for (Value value : cacheClass.values)
    for (Operation *user : value.getUsers()) {
      if (isa<CacheDataOp, CacheScalesOp>(user))
        return Report::get<RemarkId::CachePartsUsed>().at(user);
      if (isa<CacheGlobalScaleOp>(user) && !target.getHasGlobalScale())
        return Report::get<RemarkId::CachePartsUsed>().at(user);
      if (isUnquantized(format))
        continue;
      if (auto gather = dyn_cast<GatherOp>(user))
        if (Operation *use = findRawUse(gather))
          return Report::get<RemarkId::CacheRowsUsed>().at(use);
      // Rows that no quantize is seen to make are decoded, with the global
      // scale of the handle, which has to have one still.
      if (auto append = dyn_cast<AppendOp>(user))
        if (!getQuantize(append) &&
            (isa<UndecidedFP4Attr>(format) ||
             !isa<RankedTensorType>(append.getData().getType()) ||
             (format.getHasGlobalScale() && !target.getHasGlobalScale())))
          return Report::get<RemarkId::CacheRowsUsed>().at(user);
    }
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Operations on stored rows
//===----------------------------------------------------------------------===//

namespace {

/// Rewrites the operations on handles of new types.
class RowRewriter {
public:
  explicit RowRewriter(MLIRContext *context) : rewriter(context) {}

  void rewrite(Operation *op, KVFormatInterface oldFormat);

private:
  void rewrite(AppendOp append, KVFormatInterface oldFormat);
  void rewrite(GatherOp gather, KVFormatInterface oldFormat);

  /// The global scale of a handle as an f32, null where it has none.
  Value loadGlobalScale(Location loc, Value handle);

  /// New arrays for rows of the shape of `like`: data, and scales or null. They
  /// are memrefs where `like` is one.
  std::pair<Value, Value> makeArrays(Location loc, Value like,
                                     KVFormatInterface format);

  IRRewriter rewriter;
};

} // namespace

Value RowRewriter::loadGlobalScale(Location loc, Value handle) {
  MemRefType type = cast<CacheType>(handle.getType()).getGlobalScaleType();
  if (!type)
    return {};
  Value memref = CacheGlobalScaleOp::create(rewriter, loc, type, handle);
  return memref::LoadOp::create(rewriter, loc, memref);
}

std::pair<Value, Value> RowRewriter::makeArrays(Location loc, Value like,
                                                KVFormatInterface format) {
  bool isTensor = isa<RankedTensorType>(like.getType());
  SmallVector<OpFoldResult> sizes =
      isTensor ? tensor::getMixedSizes(rewriter, loc, like)
               : memref::getMixedSizes(rewriter, loc, like);
  auto make = [&](Type element) -> Value {
    if (isTensor)
      return tensor::EmptyOp::create(rewriter, loc, sizes, element);
    SmallVector<int64_t> shape;
    SmallVector<Value> dynamic;
    dispatchIndexOpFoldResults(sizes, dynamic, shape);
    return memref::AllocOp::create(rewriter, loc,
                                   MemRefType::get(shape, element), dynamic);
  };
  Value data = make(format.getElementType());
  if (!format.hasBlockScale())
    return {data, Value()};
  SmallVector<int64_t> shape =
      format.getScaleShape(cast<ShapedType>(like.getType()).getShape());
  sizes.back() = rewriter.getIndexAttr(shape.back());
  return {data, make(format.getScaleType())};
}

/// The results of destination-style operations on new arrays.
static SmallVector<Type> getTensorTypes(ArrayRef<Value> outs) {
  SmallVector<Type> types;
  for (Value out : outs)
    if (out && isa<RankedTensorType>(out.getType()))
      types.push_back(out.getType());
  return types;
}

void RowRewriter::rewrite(AppendOp append, KVFormatInterface oldFormat) {
  rewriter.setInsertionPoint(append);
  Location loc = append.getLoc();
  KVFormatInterface format = append.getCache().getType().getFormat();
  Value rows = append.getData();
  Rounding rounding = Rounding::Exact;
  SmallVector<Value> before(
      append.getOperands().take_front(append.getScales() ? 2 : 1));
  if (QuantizeOp quantize = getQuantize(append)) {
    // The values are there: nothing is lost to the old format.
    rows = quantize.getInput();
    rounding = quantize.getRounding();
  } else if (!isUnquantized(oldFormat)) {
    Value values = tensor::EmptyOp::create(
        rewriter, loc, tensor::getMixedSizes(rewriter, loc, rows),
        rewriter.getF32Type());
    Value globalScale = oldFormat.getHasGlobalScale()
                            ? loadGlobalScale(loc, append.getCache())
                            : Value();
    rows =
        DequantizeOp::create(rewriter, loc, values.getType(), rows,
                             append.getScales(), globalScale, values, oldFormat)
            .getResult(0);
  }
  if (!isa<RankedTensorType>(rows.getType())) {
    QuantizeAppendOp::create(rewriter, loc, rows, append.getCache(),
                             append.getSlotMapping(), append.getBlockTable(),
                             append.getPositions(), append.getBatchIndices(),
                             rounding, /*four_over_six=*/false);
  } else {
    auto [data, scales] = makeArrays(loc, rows, format);
    auto quantize = QuantizeOp::create(
        rewriter, loc, getTensorTypes({data, scales}), rows,
        loadGlobalScale(loc, append.getCache()), data, scales, format, rounding,
        /*four_over_six=*/false);
    AppendOp::create(rewriter, loc, quantize.getResult(0),
                     scales ? Value(quantize.getResult(1)) : Value(),
                     append.getCache(), append.getSlotMapping(),
                     append.getBlockTable(), append.getPositions(),
                     append.getBatchIndices());
  }
  rewriter.eraseOp(append);
  eraseDeadProducers(rewriter, before);
}

void RowRewriter::rewrite(GatherOp gather, KVFormatInterface oldFormat) {
  rewriter.setInsertionPoint(gather);
  Location loc = gather.getLoc();
  Value handle = gather.getCache();
  KVFormatInterface format = gather.getCache().getType().getFormat();
  auto [data, scales] = makeArrays(loc, gather.getData(), format);
  auto read = GatherOp::create(rewriter, loc, getTensorTypes({data, scales}),
                               handle, gather.getBlockTable(),
                               gather.getSeqLens(), data, scales);
  bool isTensor = read->getNumResults() != 0;
  Value readData = isTensor ? Value(read.getResult(0)) : data;
  Value readScales = isTensor && scales ? Value(read.getResult(1)) : scales;
  auto decode = [&](Value output) {
    return DequantizeOp::create(rewriter, loc, getTensorTypes({output}),
                                readData, readScales,
                                loadGlobalScale(loc, handle), output, format);
  };
  if (isUnquantized(oldFormat)) {
    rewriter.replaceOp(gather, decode(gather.getData())->getResults());
    return;
  }
  // The operations that decoded the old rows decode the new ones.
  SmallVector<Operation *> users(gather->getUsers());
  llvm::SmallPtrSet<Operation *, 4> seen;
  for (Operation *user : users) {
    if (!seen.insert(user).second)
      continue;
    auto dequantize = cast<DequantizeOp>(user);
    rewriter.setInsertionPoint(dequantize);
    rewriter.replaceOp(dequantize, decode(dequantize.getOutput()));
  }
  rewriter.eraseOp(gather);
}

void RowRewriter::rewrite(Operation *op, KVFormatInterface oldFormat) {
  TypeSwitch<Operation *>(op)
      .Case<AppendOp, GatherOp>([&](auto row) { rewrite(row, oldFormat); })
      .Case([&](QuantizeAppendOp append) {
        if (append.getCache().getType().getFormat() !=
            FormatAttr::getPreset(op->getContext(), "nvfp4"))
          append.setFourOverSix(false);
      })
      .Case([&](DequantAttentionOp attention) {
        // They were chosen for the old formats.
        attention.removeQkAttr();
        attention.removePvAttr();
      });
}

//===----------------------------------------------------------------------===//
// The conversion
//===----------------------------------------------------------------------===//

FailureOr<bool> kvq::parseGlobalScaleOption(ModuleOp module, StringRef text) {
  if (text != "argument" && text != "one")
    return reportError<RemarkId::CacheGlobalScaleUnknown>(module, text);
  return text == "argument";
}

void kvq::updateFunctionTypes(ModuleOp module) {
  module.walk([&](func::FuncOp function) {
    if (!function.isExternal())
      function.setFunctionType(FunctionType::get(
          module.getContext(), function.getBody().front().getArgumentTypes(),
          function.getFunctionType().getResults()));
  });
}

LogicalResult kvq::convertCaches(ModuleOp module,
                                 ArrayRef<FormatConversion> conversions,
                                 bool addGlobalScaleArguments) {
  CachePools pools(module, addGlobalScaleArguments);
  for (const FormatConversion &conversion : conversions)
    for (MakeCacheOp make : conversion.cacheClass->made)
      if (failed(pools.add(make, conversion.newType)))
        return failure();
  if (failed(pools.verify()))
    return failure();

  // From here on nothing fails.
  SmallVector<std::pair<Operation *, KVFormatInterface>> rows;
  llvm::SmallPtrSet<Operation *, 16> seen;
  for (const FormatConversion &conversion : conversions)
    for (Value value : conversion.cacheClass->values) {
      value.setType(conversion.newType);
      for (Operation *user : value.getUsers())
        if (seen.insert(user).second)
          rows.push_back({user, conversion.oldType.getFormat()});
    }
  pools.convert();
  updateFunctionTypes(module);
  RowRewriter rewriter(module.getContext());
  for (auto [op, oldFormat] : rows)
    rewriter.rewrite(op, oldFormat);
  return success();
}
