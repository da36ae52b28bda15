//===- KVQTypes.cpp - Types of the kvq dialect ----------------------------===//

#include "kvq/Dialect/KVQ/IR/KVQTypes.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace kvq;

//===----------------------------------------------------------------------===//
// Assembly
//===----------------------------------------------------------------------===//

/// Parses a keyword of an enumeration of which `names` lists the cases.
template <typename Enum>
static ParseResult parseEnum(AsmParser &parser, StringRef what, Enum &result,
                             std::optional<Enum> (*symbolize)(StringRef),
                             StringRef names) {
  SMLoc loc = parser.getCurrentLocation();
  StringRef keyword;
  if (parser.parseOptionalKeyword(&keyword))
    return parser.emitError(loc) << "expected " << what << ": " << names;
  std::optional<Enum> value = symbolize(keyword);
  if (!value)
    return parser.emitError(loc)
           << "unknown " << what << " '" << keyword << "', expected " << names;
  result = *value;
  return success();
}

/// Parses the name of a format or an attribute that implements
/// KVFormatInterface.
static ParseResult parseFormat(AsmParser &parser, KVFormatInterface &format) {
  SMLoc loc = parser.getCurrentLocation();
  Attribute attribute;
  OptionalParseResult parsed = parser.parseOptionalAttribute(attribute);
  if (parsed.has_value()) {
    if (failed(*parsed))
      return failure();
    // bf16 and f16 read as types.
    if (auto type = dyn_cast<TypeAttr>(attribute)) {
      std::string name;
      llvm::raw_string_ostream(name) << type.getValue();
      attribute = getNamedFormat(parser.getContext(), name);
    }
  } else {
    StringRef keyword;
    if (succeeded(parser.parseOptionalKeyword(&keyword)))
      attribute = getNamedFormat(parser.getContext(), keyword);
  }
  format = dyn_cast_or_null<KVFormatInterface>(attribute);
  if (!format)
    return parser.emitError(loc)
           << "expected a format: one of " << listFormatNames()
           << " or an attribute that implements KVFormatInterface";
  return success();
}

Type CacheType::parse(AsmParser &parser) {
  SMLoc loc = parser.getCurrentLocation();
  Side side;
  KVLayout kvLayout;
  KVFormatInterface format;
  SmallVector<int64_t> dims;
  if (parser.parseLess() ||
      parseEnum(parser, "side", side, symbolizeSide, "key or value") ||
      parser.parseComma())
    return {};
  SMLoc dimsLoc = parser.getCurrentLocation();
  if (parser.parseDimensionList(dims, /*allowDynamic=*/false,
                                /*withTrailingX=*/false))
    return {};
  if (dims.size() != 3) {
    parser.emitError(dimsLoc) << "expected page x heads x head_dim, found "
                              << dims.size() << " dimensions";
    return {};
  }
  if (parser.parseComma() || parseFormat(parser, format) ||
      parser.parseComma() ||
      parseEnum(parser, "page layout", kvLayout, symbolizeKVLayout,
                "NHD or HND"))
    return {};

  std::optional<ScaleLayout> scaleLayout;
  if (succeeded(parser.parseOptionalComma())) {
    scaleLayout = ScaleLayout::Undecided;
    if (failed(parser.parseOptionalQuestion()) &&
        parseEnum(parser, "scale layout", *scaleLayout, symbolizeScaleLayout,
                  "linear, interleaved_4, blocked_128x4 or ?"))
      return {};
  }
  if (parser.parseGreater())
    return {};
  return getChecked([&] { return parser.emitError(loc); }, parser.getContext(),
                    side, dims[0], dims[1], dims[2], format, kvLayout,
                    scaleLayout);
}

void CacheType::print(AsmPrinter &printer) const {
  printer << '<' << stringifySide(getSide()) << ", ";
  printer.printDimensionList({getPageSize(), getNumHeads(), getHeadDim()});
  printer << ", ";
  if (StringRef name = getFormatName(getFormat()); !name.empty())
    printer << name;
  else
    printer << static_cast<Attribute>(getFormat());
  printer << ", " << stringifyKVLayout(getKvLayout());
  if (getScaleLayout()) {
    printer << ", ";
    if (*getScaleLayout() == ScaleLayout::Undecided)
      printer << '?';
    else
      printer << stringifyScaleLayout(*getScaleLayout());
  }
  printer << '>';
}

//===----------------------------------------------------------------------===//
// Verification
//===----------------------------------------------------------------------===//

LogicalResult CacheType::verify(function_ref<InFlightDiagnostic()> emitError,
                                Side side, int64_t pageSize, int64_t numHeads,
                                int64_t headDim, KVFormatInterface format,
                                KVLayout kvLayout,
                                std::optional<ScaleLayout> scaleLayout) {
  if (!format)
    return emitError() << "cache has no format";
  if (pageSize < 1 || numHeads < 1 || headDim < 1)
    return emitError() << "cache has page x heads x head_dim = " << pageSize
                       << "x" << numHeads << "x" << headDim
                       << ", expected sizes of at least 1";
  // Keeps every size of a page far from overflow.
  constexpr int64_t limit = int64_t(1) << 31;
  int64_t bits;
  if (pageSize >= limit || numHeads >= limit || headDim >= limit ||
      llvm::MulOverflow(pageSize * numHeads, headDim * 32, bits))
    return emitError() << "cache has a page too large to address";
  if (format.getElementType().getWidth() == 4 && headDim % 2 != 0)
    return emitError() << "head_dim is " << headDim << ", expected an even one "
                       << "for elements of type " << format.getElementType();

  if (!format.hasBlockScale()) {
    if (scaleLayout)
      return emitError() << "scale layout given for a format without block "
                            "scales";
    return success();
  }
  if (!scaleLayout)
    return emitError() << "format has block scales but no scale layout is "
                          "given, expected linear, interleaved_4, "
                          "blocked_128x4 or ?";
  int64_t block = format.getBlockSize();
  int64_t rows = pageSize, columns = headDim;
  if (format.getBlockAxis() == BlockAxis::HeadDim) {
    if (headDim % block != 0)
      return emitError() << "head_dim is " << headDim
                         << ", expected a multiple of the block size " << block;
    columns = headDim / block;
  } else {
    if (pageSize % block != 0)
      return emitError() << "page size is " << pageSize
                         << ", expected a multiple of the block size " << block
                         << " with blocks along the tokens";
    rows = pageSize / block;
    if (*scaleLayout != ScaleLayout::Linear &&
        *scaleLayout != ScaleLayout::Undecided)
      return emitError() << "scale layout "
                         << stringifyScaleLayout(*scaleLayout)
                         << " with blocks along the tokens, accepted is "
                            "linear";
  }
  if (*scaleLayout == ScaleLayout::Interleaved4 && side != Side::Value)
    return emitError() << "scale layout interleaved_4 is of the value side, "
                          "found side key; accepted are linear and "
                          "blocked_128x4";
  return verifyScaleLayout(emitError, *scaleLayout, rows, columns);
}

bool CacheType::isUndecided() const {
  return getScaleLayout() == ScaleLayout::Undecided ||
         isa<UndecidedFP4Attr>(getFormat());
}

//===----------------------------------------------------------------------===//
// Shapes and sizes
//===----------------------------------------------------------------------===//

/// A page of `rows` by `columns` per head, with the number of pages in front.
static SmallVector<int64_t> getPagedShape(const CacheType &type, int64_t rows,
                                          int64_t columns) {
  SmallVector<int64_t> shape{ShapedType::kDynamic, rows, type.getNumHeads(),
                             columns};
  if (type.getKvLayout() == KVLayout::HND)
    std::swap(shape[1], shape[2]);
  return shape;
}

SmallVector<int64_t> CacheType::getDataShape() const {
  return getPagedShape(*this, getPageSize(), getHeadDim());
}

SmallVector<int64_t> CacheType::getScalesShape() const {
  return getPagedShape(*this, getScaleRows(), getScaleColumns());
}

int64_t CacheType::getScaleColumns() const {
  KVFormatInterface format = getFormat();
  if (!format.hasBlockScale())
    return 0;
  return format.getBlockAxis() == BlockAxis::HeadDim
             ? getHeadDim() / format.getBlockSize()
             : getHeadDim();
}

int64_t CacheType::getScaleRows() const {
  KVFormatInterface format = getFormat();
  if (!format.hasBlockScale())
    return 0;
  return format.getBlockAxis() == BlockAxis::HeadDim
             ? getPageSize()
             : getPageSize() / format.getBlockSize();
}

/// A memref of rank 4 with dynamic outer strides and offset.
static MemRefType getStridedType(ArrayRef<int64_t> shape, Type elementType) {
  SmallVector<int64_t> strides(shape.size(), ShapedType::kDynamic);
  strides.back() = 1;
  return MemRefType::get(shape, elementType,
                         StridedLayoutAttr::get(elementType.getContext(),
                                                ShapedType::kDynamic, strides));
}

MemRefType CacheType::getDataType() const {
  return getStridedType(getDataShape(), getFormat().getElementType());
}

MemRefType CacheType::getScalesType() const {
  if (!getFormat().hasBlockScale())
    return {};
  return getStridedType(getScalesShape(), getFormat().getScaleType());
}

MemRefType CacheType::getGlobalScaleType() const {
  if (!getFormat().getHasGlobalScale())
    return {};
  return MemRefType::get({}, Float32Type::get(getContext()));
}

int64_t CacheType::getBytesPerToken() const {
  return llvm::divideCeil(
      getFormat().getSizeInBits(1, getNumHeads() * getHeadDim()), 8);
}

int64_t CacheType::getBytesPerPage() const {
  return getFormat().getSizeInBits(getPageSize(),
                                   getNumHeads() * getHeadDim()) /
         8;
}
