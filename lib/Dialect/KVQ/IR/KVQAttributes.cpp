//===- KVQAttributes.cpp - Attributes of the kvq dialect ------------------===//

#include "kvq/Dialect/KVQ/IR/KVQAttributes.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace kvq;

//===----------------------------------------------------------------------===//
// FormatAttr
//===----------------------------------------------------------------------===//

static constexpr StringLiteral presetNames[] = {"nvfp4", "mxfp4", "mxfp8",
                                                "fp8",   "bf16",  "f16"};

ArrayRef<StringLiteral> FormatAttr::getPresetNames() { return presetNames; }

FormatAttr FormatAttr::getPreset(MLIRContext *context, StringRef name) {
  Builder b(context);
  auto f4 = Float4E2M1FNType::get(context);
  auto f8 = Float8E4M3FNType::get(context);
  auto e8m0 = Float8E8M0FNUType::get(context);
  if (name == "nvfp4")
    return get(context, f4, f8, 16, /*hasGlobalScale=*/true);
  if (name == "mxfp4")
    return get(context, f4, e8m0, 32, /*hasGlobalScale=*/false);
  if (name == "mxfp8")
    return get(context, f8, e8m0, 32, /*hasGlobalScale=*/false);
  if (name == "fp8")
    return get(context, f8, FloatType(), 0, /*hasGlobalScale=*/true);
  if (name == "bf16")
    return get(context, b.getBF16Type(), FloatType(), 0,
               /*hasGlobalScale=*/false);
  if (name == "f16")
    return get(context, b.getF16Type(), FloatType(), 0,
               /*hasGlobalScale=*/false);
  return {};
}

StringRef FormatAttr::getPresetName() const {
  for (StringRef name : presetNames)
    if (getPreset(getContext(), name) == *this)
      return name;
  return "";
}

static std::string presetList() {
  return llvm::join(FormatAttr::getPresetNames(), ", ");
}

LogicalResult FormatAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                 FloatType elementType, FloatType scaleType,
                                 int64_t blockSize, BlockAxis blockAxis,
                                 bool hasGlobalScale) {
  if (!isa<Float4E2M1FNType, Float8E4M3FNType, BFloat16Type, Float16Type>(
          elementType))
    return emitError() << "format has element type " << elementType
                       << ", accepted are f4E2M1FN, f8E4M3FN, bf16 and f16";
  bool quantized = !isa<BFloat16Type, Float16Type>(elementType);
  if (!scaleType) {
    if (blockSize != 0)
      return emitError() << "format has block = " << blockSize
                         << " but no scale type";
    if (blockAxis != BlockAxis::HeadDim)
      return emitError() << "format has axis = "
                         << stringifyBlockAxis(blockAxis)
                         << " but no block scales";
  } else {
    if (!quantized)
      return emitError() << "format has a block scale on elements of type "
                         << elementType << ", which are stored as they are";
    if (!isa<Float8E4M3FNType, Float8E8M0FNUType>(scaleType))
      return emitError() << "format has scale type " << scaleType
                         << ", accepted are f8E4M3FN and f8E8M0FNU";
    if (blockSize < 2 || blockSize > 256 || !llvm::isPowerOf2_64(blockSize))
      return emitError() << "format has block = " << blockSize
                         << ", accepted are powers of two from 2 to 256";
  }
  if (hasGlobalScale && !quantized)
    return emitError() << "format has a global scale on elements of type "
                       << elementType << ", which are stored as they are";
  return success();
}

/// Parses a keyword or a type that names a format's first parameter.
Attribute FormatAttr::parse(AsmParser &parser, Type) {
  MLIRContext *context = parser.getContext();
  if (parser.parseLess())
    return {};

  SMLoc loc = parser.getCurrentLocation();
  FormatAttr preset;
  StringRef presetName;
  FloatType elementType;
  StringRef keyword;
  Type type;
  // bf16 and f16 are both a type and a preset; the type comes first.
  OptionalParseResult asType = parser.parseOptionalType(type);
  if (asType.has_value()) {
    if (failed(*asType))
      return {};
    elementType = dyn_cast<FloatType>(type);
    if (!elementType) {
      parser.emitError(loc) << "expected a float type or one of "
                            << presetList() << ", found " << type;
      return {};
    }
  } else {
    if (parser.parseKeyword(&keyword))
      return {};
    preset = getPreset(context, keyword);
    if (!preset) {
      parser.emitError(loc) << "unknown format '" << keyword
                            << "', the presets are " << presetList();
      return {};
    }
    presetName = preset.getPresetName();
    elementType = preset.getElementType();
  }

  std::optional<FloatType> scaleType;
  std::optional<int64_t> blockSize;
  std::optional<BlockAxis> blockAxis;
  bool globalScale = false;
  while (succeeded(parser.parseOptionalComma())) {
    SMLoc keyLoc = parser.getCurrentLocation();
    if (parser.parseKeyword(&keyword))
      return {};
    if (keyword == "global_scale") {
      globalScale = true;
      continue;
    }
    if (keyword != "scale" && keyword != "block" && keyword != "axis") {
      parser.emitError(keyLoc)
          << "unknown format parameter '" << keyword
          << "', expected scale, block, axis or global_scale";
      return {};
    }
    StringRef key = keyword;
    if (parser.parseEqual())
      return {};
    if (key == "scale") {
      FloatType value;
      if (parser.parseType(value))
        return {};
      scaleType = value;
    } else if (key == "block") {
      int64_t value;
      if (parser.parseInteger(value))
        return {};
      blockSize = value;
    } else {
      SMLoc valueLoc = parser.getCurrentLocation();
      if (parser.parseKeyword(&keyword))
        return {};
      blockAxis = symbolizeBlockAxis(keyword);
      if (!blockAxis) {
        parser.emitError(valueLoc)
            << "unknown axis '" << keyword << "', expected head_dim or token";
        return {};
      }
    }
  }
  if (parser.parseGreater())
    return {};

  auto emitError = [&] { return parser.emitError(loc); };
  if (!preset)
    return getChecked(emitError, context, elementType,
                      scaleType.value_or(FloatType()), blockSize.value_or(0),
                      blockAxis.value_or(BlockAxis::HeadDim), globalScale);

  // A preset may repeat its parameters, not change them.
  auto mismatch = [&](StringRef key) {
    return emitError() << "preset '" << presetName << "' has " << key << " = ";
  };
  if (scaleType && *scaleType != preset.getScaleType()) {
    InFlightDiagnostic diag = mismatch("scale");
    if (preset.getScaleType())
      diag << preset.getScaleType();
    else
      diag << "none";
    diag << ", found " << *scaleType
         << "; spell other formats out by their element type";
    return {};
  }
  if (blockSize && *blockSize != preset.getBlockSize()) {
    mismatch("block") << preset.getBlockSize() << ", found " << *blockSize
                      << "; spell other formats out by their element type";
    return {};
  }
  if (blockAxis && *blockAxis != preset.getBlockAxis()) {
    mismatch("axis") << stringifyBlockAxis(preset.getBlockAxis()) << ", found "
                     << stringifyBlockAxis(*blockAxis)
                     << "; spell other formats out by their element type";
    return {};
  }
  if (globalScale && !preset.getHasGlobalScale()) {
    emitError() << "preset '" << presetName
                << "' has no global scale; spell other formats out by their "
                   "element type";
    return {};
  }
  return preset;
}

void FormatAttr::print(AsmPrinter &printer) const {
  printer << '<';
  StringRef preset = getPresetName();
  if (!preset.empty()) {
    printer << preset << '>';
    return;
  }
  printer << getElementType();
  if (getScaleType()) {
    printer << ", scale = " << getScaleType() << ", block = " << getBlockSize();
    if (getBlockAxis() != BlockAxis::HeadDim)
      printer << ", axis = " << stringifyBlockAxis(getBlockAxis());
  }
  if (getHasGlobalScale())
    printer << ", global_scale";
  printer << '>';
}

//===----------------------------------------------------------------------===//
// AttentionOptionsAttr
//===----------------------------------------------------------------------===//

LogicalResult
AttentionOptionsAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                             bool causal, int64_t windowLeft,
                             int64_t windowRight, FloatAttr softcap) {
  if (windowLeft < -1)
    return emitError() << "window_left is " << windowLeft
                       << ", expected 0 or more";
  if (windowRight < -1)
    return emitError() << "window_right is " << windowRight
                       << ", expected 0 or more";
  if (softcap) {
    if (!softcap.getType().isF32())
      return emitError() << "softcap is of type " << softcap.getType()
                         << ", expected f32";
    if (!softcap.getValue().isFinite() || softcap.getValueAsDouble() <= 0)
      return emitError() << "softcap is " << softcap.getValueAsDouble()
                         << ", expected a positive finite number";
  }
  return success();
}

Attribute AttentionOptionsAttr::parse(AsmParser &parser, Type) {
  bool causal = false;
  int64_t windowLeft = -1, windowRight = -1;
  FloatAttr softcap;
  SMLoc loc = parser.getCurrentLocation();
  auto parseOption = [&]() -> ParseResult {
    SMLoc keyLoc = parser.getCurrentLocation();
    StringRef key;
    if (parser.parseKeyword(&key))
      return failure();
    if (key == "causal") {
      causal = true;
      return success();
    }
    if (key == "window_left" || key == "window_right") {
      int64_t &value = key == "window_left" ? windowLeft : windowRight;
      SMLoc valueLoc;
      if (parser.parseEqual() || parser.getCurrentLocation(&valueLoc) ||
          parser.parseInteger(value))
        return failure();
      if (value < 0)
        return parser.emitError(valueLoc)
               << key << " is " << value << ", expected 0 or more";
      return success();
    }
    if (key == "softcap") {
      double value;
      if (parser.parseEqual() || parser.parseFloat(value))
        return failure();
      softcap = parser.getBuilder().getF32FloatAttr(value);
      return success();
    }
    return parser.emitError(keyLoc)
           << "unknown attention option '" << key
           << "', expected causal, window_left, window_right or softcap";
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::LessGreater,
                                     parseOption))
    return {};
  return getChecked([&] { return parser.emitError(loc); }, parser.getContext(),
                    causal, windowLeft, windowRight, softcap);
}

void AttentionOptionsAttr::print(AsmPrinter &printer) const {
  printer << '<';
  llvm::ListSeparator separator;
  auto next = [&]() -> AsmPrinter & { return printer << StringRef(separator); };
  if (getCausal())
    next() << "causal";
  if (hasWindowLeft())
    next() << "window_left = " << getWindowLeft();
  if (hasWindowRight())
    next() << "window_right = " << getWindowRight();
  if (getSoftcap()) {
    next() << "softcap = ";
    printer.printAttributeWithoutType(getSoftcap());
  }
  printer << '>';
}

//===----------------------------------------------------------------------===//
// MMAKindAttr
//===----------------------------------------------------------------------===//

LogicalResult MMAKindAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                  MMAUnit unit, int64_t terms) {
  if (unit == MMAUnit::BlockScaled) {
    if (terms < 1 || terms > 3)
      return emitError() << "block_scaled has terms = " << terms
                         << ", accepted are 1 to 3";
  } else if (terms != 0) {
    return emitError() << "terms belong to block_scaled, found terms = "
                       << terms << " on " << stringifyMMAUnit(unit);
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Names of formats
//===----------------------------------------------------------------------===//

KVFormatInterface kvq::getNamedFormat(MLIRContext *context, StringRef name) {
  if (name == UndecidedFP4Attr::getMnemonic())
    return UndecidedFP4Attr::get(context);
  return FormatAttr::getPreset(context, name);
}

StringRef kvq::getFormatName(KVFormatInterface format) {
  if (isa_and_nonnull<UndecidedFP4Attr>(format))
    return UndecidedFP4Attr::getMnemonic();
  auto preset = dyn_cast_or_null<FormatAttr>(format);
  return preset ? preset.getPresetName() : StringRef();
}

std::string kvq::listFormatNames() {
  return presetList() + ", " + UndecidedFP4Attr::getMnemonic().str();
}

//===----------------------------------------------------------------------===//
// Scale layouts
//===----------------------------------------------------------------------===//

ScalePosition kvq::getScalePosition(ScaleLayout layout, int64_t row,
                                    int64_t column, int64_t columns) {
  int64_t offset = 0;
  switch (layout) {
  case ScaleLayout::Undecided:
    llvm_unreachable("an undecided layout has no positions");
  case ScaleLayout::Linear:
    return {row, column};
  case ScaleLayout::Interleaved4:
    offset = row / 4 * 4 * columns + 4 * column + row % 4;
    break;
  case ScaleLayout::Blocked128x4:
    offset = (row / 128 * (columns / 4) + column / 4) * 512 + row % 32 * 16 +
             row % 128 / 32 * 4 + column % 4;
    break;
  }
  return {offset / columns, offset % columns};
}

LogicalResult
kvq::verifyScaleLayout(function_ref<InFlightDiagnostic()> emitError,
                       ScaleLayout layout, int64_t rows, int64_t columns) {
  int64_t rowFactor = 1, columnFactor = 1;
  switch (layout) {
  case ScaleLayout::Undecided:
  case ScaleLayout::Linear:
    return success();
  case ScaleLayout::Interleaved4:
    rowFactor = columnFactor = 4;
    break;
  case ScaleLayout::Blocked128x4:
    rowFactor = 128;
    columnFactor = 4;
    break;
  }
  auto divides = [](int64_t size, int64_t factor) {
    return ShapedType::isDynamic(size) || size % factor == 0;
  };
  if (!divides(rows, rowFactor))
    return emitError() << "scale layout " << stringifyScaleLayout(layout)
                       << " needs a multiple of " << rowFactor
                       << " rows of scales per page, found " << rows;
  if (!divides(columns, columnFactor))
    return emitError() << "scale layout " << stringifyScaleLayout(layout)
                       << " needs a multiple of " << columnFactor
                       << " scales per row, found " << columns;
  return success();
}
