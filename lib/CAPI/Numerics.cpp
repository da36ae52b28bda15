//===- Numerics.cpp - Quantize and dequantize from C ----------------------===//

#include "kvq-c/Numerics.h"
#include "Diagnostics.h"
#include "kvq/Support/BlockQuantizer.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

using namespace kvq;
using namespace kvq::capi;

static llvm::Error makeError(const llvm::Twine &message) {
  return llvm::createStringError(message);
}

/// Checks what C lets through, and that the format is defined.
static llvm::Expected<BlockFormat> convertFormat(const KvqBlockFormat *format) {
  if (!format)
    return makeError("the format is null");
  BlockFormat result;
  switch (static_cast<int>(format->element)) {
  case KvqElementE2M1:
    result.element = ElementKind::E2M1;
    break;
  case KvqElementE4M3:
    result.element = ElementKind::E4M3;
    break;
  case KvqElementBF16:
    result.element = ElementKind::BF16;
    break;
  case KvqElementF16:
    result.element = ElementKind::F16;
    break;
  default:
    return makeError(llvm::formatv("{0} is no KvqElementKind",
                                   static_cast<int>(format->element)));
  }
  switch (static_cast<int>(format->scale)) {
  case KvqBlockScaleNone:
    result.scale = BlockScaleKind::None;
    break;
  case KvqBlockScaleE4M3:
    result.scale = BlockScaleKind::E4M3;
    break;
  case KvqBlockScaleE8M0:
    result.scale = BlockScaleKind::E8M0;
    break;
  default:
    return makeError(llvm::formatv("{0} is no KvqBlockScaleKind",
                                   static_cast<int>(format->scale)));
  }
  result.blockSize = format->blockSize;
  result.hasGlobalScale = format->hasGlobalScale;
  if (llvm::Error error = result.verify())
    return std::move(error);
  return result;
}

/// Rows must not share a block or a byte: they follow each other as one.
static llvm::Error checkColumns(const BlockFormat &format, size_t columns) {
  if (format.blockSize && columns % format.blockSize)
    return makeError(
        llvm::formatv("a row has a multiple of the block size {0} of elements, "
                      "found {1}",
                      format.blockSize, columns));
  if (columns % 2 && format.getElementBits() == 4)
    return makeError(llvm::formatv("a row of 4-bit elements has an even number "
                                   "of them, found {0}",
                                   columns));
  return llvm::Error::success();
}

MlirLogicalResult kvqBlockFormatGetPreset(MlirStringRef name,
                                          KvqBlockFormat *format) {
  std::optional<BlockFormat> preset = BlockFormat::getPreset(unwrap(name));
  if (!preset || !format)
    return mlirLogicalResultFailure();
  switch (preset->element) {
  case ElementKind::E2M1:
    format->element = KvqElementE2M1;
    break;
  case ElementKind::E4M3:
    format->element = KvqElementE4M3;
    break;
  case ElementKind::BF16:
    format->element = KvqElementBF16;
    break;
  case ElementKind::F16:
    format->element = KvqElementF16;
    break;
  }
  switch (preset->scale) {
  case BlockScaleKind::None:
    format->scale = KvqBlockScaleNone;
    break;
  case BlockScaleKind::E4M3:
    format->scale = KvqBlockScaleE4M3;
    break;
  case BlockScaleKind::E8M0:
    format->scale = KvqBlockScaleE8M0;
    break;
  }
  format->blockSize = preset->blockSize;
  format->hasGlobalScale = preset->hasGlobalScale;
  return mlirLogicalResultSuccess();
}

MlirLogicalResult kvqBlockFormatGetRowBytes(const KvqBlockFormat *format,
                                            size_t columns, size_t *dataBytes,
                                            size_t *scaleBytes,
                                            KvqDiagnosticCallback callback,
                                            void *userData) {
  DiagnosticSink sink(callback, userData);
  llvm::Expected<BlockFormat> converted = convertFormat(format);
  if (!converted)
    return sink.finish(converted.takeError());
  if (llvm::Error error = checkColumns(*converted, columns))
    return sink.finish(std::move(error));
  if (columns > SIZE_MAX / 32)
    return sink.fail("the row is too large to address");
  if (dataBytes)
    *dataBytes = converted->getDataBytes(columns);
  if (scaleBytes)
    *scaleBytes = converted->getScaleBytes(columns);
  return mlirLogicalResultSuccess();
}

/// The format and the number of elements of checked arguments.
static llvm::Expected<std::pair<BlockFormat, size_t>>
checkArguments(const KvqBlockFormat *format, size_t rows, size_t columns,
               const void *values, const void *data, size_t dataBytes,
               const void *scales, size_t scaleBytes) {
  llvm::Expected<BlockFormat> converted = convertFormat(format);
  if (!converted)
    return converted.takeError();
  if (llvm::Error error = checkColumns(*converted, columns))
    return std::move(error);
  bool overflow = false;
  size_t elements = llvm::SaturatingMultiply(rows, columns, &overflow);
  if (overflow || elements > SIZE_MAX / 32)
    return makeError(llvm::formatv("{0} rows of {1} values are too large to "
                                   "address",
                                   rows, columns));
  if ((elements && !values) || (dataBytes && !data) || (scaleBytes && !scales))
    return makeError("a pointer to values, data or scales is null");
  return std::make_pair(*converted, elements);
}

MlirLogicalResult
kvqQuantizeRows(const KvqBlockFormat *format, const float *values, size_t rows,
                size_t columns, float globalScale, bool fourOverSix,
                uint8_t *data, size_t dataBytes, uint8_t *scales,
                size_t scaleBytes, KvqDiagnosticCallback callback,
                void *userData) {
  DiagnosticSink sink(callback, userData);
  auto checked = checkArguments(format, rows, columns, values, data, dataBytes,
                                scales, scaleBytes);
  if (!checked)
    return sink.finish(checked.takeError());
  QuantizeOptions options;
  options.fourOverSix = fourOverSix;
  return sink.finish(
      quantizeRow(checked->first, llvm::ArrayRef(values, checked->second),
                  globalScale, llvm::MutableArrayRef(data, dataBytes),
                  llvm::MutableArrayRef(scales, scaleBytes), options));
}

MlirLogicalResult
kvqDequantizeRows(const KvqBlockFormat *format, const uint8_t *data,
                  size_t dataBytes, const uint8_t *scales, size_t scaleBytes,
                  size_t rows, size_t columns, float globalScale, float *values,
                  KvqDiagnosticCallback callback, void *userData) {
  DiagnosticSink sink(callback, userData);
  auto checked = checkArguments(format, rows, columns, values, data, dataBytes,
                                scales, scaleBytes);
  if (!checked)
    return sink.finish(checked.takeError());
  return sink.finish(
      dequantizeRow(checked->first, llvm::ArrayRef(data, dataBytes),
                    llvm::ArrayRef(scales, scaleBytes), globalScale,
                    llvm::MutableArrayRef(values, checked->second)));
}
