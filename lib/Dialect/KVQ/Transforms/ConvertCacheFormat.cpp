//===- ConvertCacheFormat.cpp - Retarget caches to another format ---------===//
//
// All decisions come first, for each class of handles that have one type:
// nothing is changed if one of them is an error.
//
//===----------------------------------------------------------------------===//

#include "FormatConversion.h"
#include "LayerFormats.h"
#include "kvq/Dialect/KVQ/Transforms/Passes.h"
#include "kvq/Dialect/KVQ/Transforms/Remark.h"
#include "kvq/Dialect/KVQ/Transforms/Transforms.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace kvq {
#define GEN_PASS_DEF_CONVERTCACHEFORMAT
#include "kvq/Dialect/KVQ/Transforms/Passes.h.inc"
} // namespace kvq

using namespace mlir;
using namespace kvq;

namespace {

struct ConvertCacheFormatPass
    : public kvq::impl::ConvertCacheFormatBase<ConvertCacheFormatPass> {
  using ConvertCacheFormatBase::ConvertCacheFormatBase;

  void runOnOperation() override {
    if (failed(convertCacheFormat(getOperation(),
                                  {keyFormat, valueFormat, formatsFile,
                                   globalScale, scaleLayout, strict})))
      signalPassFailure();
  }
};

} // namespace

/// Checks that handles of a class may have a type with another format, and
/// returns it, or null with an error.
static CacheType getConvertedType(const CacheClass &cacheClass,
                                  KVFormatInterface format,
                                  ScaleLayout scaleLayout) {
  Operation *op = cacheClass.getReportOp();
  CacheType type = cacheClass.getType();
  if (cacheClass.isPublic && isa<UndecidedFP4Attr>(format)) {
    reportError<RemarkId::CacheFormatIllegal>(op, Attribute(format))
        << "a public function takes the handle, and its callers cannot see "
           "what is decided; name the format";
    return {};
  }
  if (format.hasBlockScale() && format.getBlockAxis() == BlockAxis::Token) {
    reportError<RemarkId::CacheFormatIllegal>(op, Attribute(format))
        << "blocks lie along the tokens, and rows are written one at a time";
    return {};
  }
  std::optional<ScaleLayout> layout;
  if (format.hasBlockScale())
    layout = cacheClass.isPublic ? ScaleLayout::Linear : scaleLayout;
  return CacheType::getChecked(
      [&] {
        return reportError<RemarkId::CacheFormatIllegal>(op, Attribute(format));
      },
      op->getContext(), type.getSide(), type.getPageSize(), type.getNumHeads(),
      type.getHeadDim(), format, type.getKvLayout(), layout);
}

/// Whether a cache has the format that is asked for, or with fp4 one of those
/// that may be decided.
static bool hasFormat(CacheType type, KVFormatInterface wanted) {
  KVFormatInterface format = type.getFormat();
  return format == wanted ||
         (isa<UndecidedFP4Attr>(wanted) && format.hasBlockScale() &&
          format.getElementType() == wanted.getElementType());
}

/// Collects what is to be converted; fails with an error.
static LogicalResult plan(ModuleOp module,
                          const ConvertCacheFormatOptions &options,
                          ArrayRef<CacheClass> classes,
                          SmallVectorImpl<FormatConversion> &conversions) {
  LayerFormats formats;
  if (failed(formats.parse(module, options.keyFormat, options.valueFormat,
                           options.formatsFile)))
    return failure();
  if (options.scaleLayout != "linear" && options.scaleLayout != "undecided")
    return reportError<RemarkId::CacheScaleLayoutUnknown>(module,
                                                          options.scaleLayout);
  formats.number(classes);
  bool stopped = false;
  for (const CacheClass &cacheClass : classes) {
    FailureOr<KVFormatInterface> format = formats.get(cacheClass);
    if (failed(format))
      return failure();
    CacheType type = cacheClass.getType();
    if (!*format || hasFormat(type, *format))
      continue;
    if (std::optional<Report> obstacle =
            findConversionObstacle(cacheClass, *format)) {
      stopped |=
          failed(obstacle->emit(cacheClass.getReportOp(), options.strict));
      continue;
    }
    CacheType newType = getConvertedType(cacheClass, *format,
                                         options.scaleLayout == "linear"
                                             ? ScaleLayout::Linear
                                             : ScaleLayout::Undecided);
    if (!newType)
      return failure();
    conversions.push_back({&cacheClass, type, newType});
  }
  return failure(stopped);
}

LogicalResult
kvq::convertCacheFormat(ModuleOp module,
                        const ConvertCacheFormatOptions &options) {
  SmallVector<CacheClass> classes = collectCacheClasses(module);
  SmallVector<FormatConversion> conversions;
  FailureOr<bool> addArguments =
      parseGlobalScaleOption(module, options.globalScale);
  if (failed(addArguments) ||
      failed(plan(module, options, classes, conversions)) ||
      failed(convertCaches(module, conversions, *addArguments)))
    return failure();
  for (const FormatConversion &conversion : conversions)
    report<RemarkId::ConvertedCache>(conversion.cacheClass->getReportOp(),
                                     conversion.cacheClass->describe(),
                                     Attribute(conversion.oldType.getFormat()),
                                     Attribute(conversion.newType.getFormat()));
  return success();
}
