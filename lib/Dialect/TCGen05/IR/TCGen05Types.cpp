//===- TCGen05Types.cpp - Types of the kvq_tcgen05 dialect ----------------===//

#include "kvq/Dialect/TCGen05/IR/TCGen05Types.h"
#include "LayoutAssembly.h"
#include "kvq/Dialect/TCGen05/IR/TCGen05Limits.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace kvq::tcgen05;

using EmitError = llvm::function_ref<InFlightDiagnostic()>;

/// Parses `<ROWSxCOLUMNSxTYPE`.
static ParseResult parseShape(AsmParser &parser, int64_t &rows,
                              int64_t &columns, Type &elementType) {
  SmallVector<int64_t> dims;
  if (parser.parseLess())
    return failure();
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseDimensionList(dims, /*allowDynamic=*/false,
                                /*withTrailingX=*/true))
    return failure();
  if (dims.size() != 2)
    return parser.emitError(loc)
           << "expected rows x columns, found " << dims.size() << " dimensions";
  rows = dims[0];
  columns = dims[1];
  return parser.parseType(elementType);
}

static void printShape(AsmPrinter &printer, int64_t rows, int64_t columns,
                       Type elementType) {
  printer << '<' << rows << 'x' << columns << 'x' << elementType;
}

static unsigned bitWidth(Type type) { return type.getIntOrFloatBitWidth(); }

//===----------------------------------------------------------------------===//
// tmem
//===----------------------------------------------------------------------===//

Type TMemType::parse(AsmParser &parser) {
  SMLoc loc = parser.getCurrentLocation();
  int64_t rows, columns, lane = 0;
  Type elementType;
  Packing packing = Packing::Dense;
  Placement placement = Placement::Straight;
  if (parseShape(parser, rows, columns, elementType))
    return {};
  while (succeeded(parser.parseOptionalComma())) {
    SMLoc at = parser.getCurrentLocation();
    StringRef keyword;
    if (parser.parseOptionalKeyword(&keyword)) {
      parser.emitError(at) << "expected byte, word, scattered, folded or lane";
      return {};
    }
    if (keyword == "lane") {
      if (parser.parseEqual() || parser.parseInteger(lane))
        return {};
    } else if (keyword == "byte" || keyword == "word") {
      packing = *symbolizePacking(keyword);
    } else if (keyword == "scattered" || keyword == "folded") {
      placement = *symbolizePlacement(keyword);
    } else {
      parser.emitError(at) << "unknown parameter '" << keyword
                           << "', expected byte, word, scattered, folded or "
                              "lane";
      return {};
    }
  }
  if (parser.parseGreater())
    return {};
  return getChecked([&] { return parser.emitError(loc); }, parser.getContext(),
                    rows, columns, elementType, packing, placement, lane);
}

void TMemType::print(AsmPrinter &printer) const {
  printShape(printer, getRows(), getColumns(), getElementType());
  if (getPacking() != Packing::Dense)
    printer << ", " << stringifyPacking(getPacking());
  if (getPlacement() != Placement::Straight)
    printer << ", " << stringifyPlacement(getPlacement());
  if (getLane())
    printer << ", lane = " << getLane();
  printer << '>';
}

static int64_t containerBits(Type elementType, Packing packing) {
  switch (packing) {
  case Packing::Dense:
    return isa<FloatTF32Type>(elementType) ? 32 : bitWidth(elementType);
  case Packing::Byte:
    return 8;
  case Packing::Word:
    return 32;
  }
  llvm_unreachable("all packings are handled");
}

static LogicalResult verifyPacking(EmitError emitError, Type type,
                                   Packing packing) {
  bool wide = isa<FloatTF32Type>(type) || type.isF32() || type.isInteger(32);
  bool half = type.isF16() || type.isBF16() || type.isInteger(16);
  bool byte = isa<Float8E4M3FNType, Float8E5M2Type>(type) || type.isInteger(8);
  if (!wide && !half && !byte && !isNarrowFloat(type))
    return emitError()
           << "expected elements of f32, tf32, f16, bf16, f8E4M3FN, f8E5M2, "
              "f6E2M3FN, f6E3M2FN, f4E2M1FN or integers of 8, 16 or 32 bits, "
              "found "
           << type;
  if (packing == Packing::Byte && !isNarrowFloat(type))
    return emitError() << "byte packing is for elements of 4 and 6 bits, found "
                       << type;
  if (packing == Packing::Word && !half)
    return emitError() << "word packing is for elements of 16 bits, found "
                       << type;
  if (packing == Packing::Dense && isNarrowFloat(type) && bitWidth(type) == 6)
    return emitError() << "elements of 6 bits need byte packing, found " << type
                       << " without";
  return success();
}

static LogicalResult verifyPlacement(EmitError emitError, int64_t rows,
                                     Placement placement, int64_t lane) {
  switch (placement) {
  case Placement::Straight:
    if (rows % 32 || rows < 32 || rows > numLanes)
      return emitError() << "a region has 32, 64, 96 or 128 rows, found "
                         << rows;
    if (lane % 32 || lane < 0 || lane + rows > numLanes)
      return emitError() << rows
                         << " rows begin at a multiple of 32 lanes and end "
                            "within 128, found lane "
                         << lane;
    return success();
  case Placement::Scattered:
    if (rows != 64)
      return emitError() << "a scattered region has 64 rows, found " << rows;
    if (lane != 0 && lane != 16)
      return emitError()
             << "a scattered region begins at lane 0 or 16, found lane "
             << lane;
    return success();
  case Placement::Folded:
    if (rows != 32 && rows != 64)
      return emitError() << "a folded region has 32 or 64 rows, found " << rows;
    if (lane)
      return emitError() << "a folded region begins at lane 0, found lane "
                         << lane;
    return success();
  }
  llvm_unreachable("all placements are handled");
}

LogicalResult TMemType::verify(EmitError emitError, int64_t rows,
                               int64_t columns, Type elementType,
                               Packing packing, Placement placement,
                               int64_t lane) {
  if (failed(verifyPacking(emitError, elementType, packing)) ||
      failed(verifyPlacement(emitError, rows, placement, lane)))
    return failure();
  int64_t bits = containerBits(elementType, packing);
  int64_t folds = placement == Placement::Folded ? numLanes / rows : 1;
  if (columns <= 0 || columns * bits % (32 * folds))
    return emitError() << "the columns of a region fill words of 32 bits"
                       << (folds > 1 ? " in each fold" : "") << ", found "
                       << columns << " elements of " << bits << " bits";
  int64_t words = columns * bits / (32 * folds);
  if (words > numWordColumns)
    return emitError() << "tensor memory has 512 columns, the region needs "
                       << words;
  return success();
}

int64_t TMemType::getContainerBits() const {
  return containerBits(getElementType(), getPacking());
}

int64_t TMemType::getFolds() const {
  return getPlacement() == Placement::Folded ? numLanes / getRows() : 1;
}

int64_t TMemType::getNumWords() const {
  return getColumns() * getContainerBits() / (32 * getFolds());
}

int64_t TMemType::getWordOf(int64_t column) const {
  return column * getContainerBits() / 32;
}

int64_t TMemType::getWordAlignment() const {
  return getContainerBits() == 32 ? 2 : 4;
}

std::array<uint32_t, 4> TMemType::getLanes() const {
  std::array<uint32_t, 4> lanes = {0, 0, 0, 0};
  for (int64_t quarter = 0; quarter < 4; ++quarter) {
    if (getPlacement() == Placement::Scattered)
      lanes[quarter] = 0xffffu << getLane();
    else if (getPlacement() == Placement::Folded ||
             (32 * quarter >= getLane() &&
              32 * quarter < getLane() + getRows()))
      lanes[quarter] = 0xffffffffu;
  }
  return lanes;
}

TMemType TMemType::withColumns(int64_t columns) const {
  return get(getContext(), getRows(), columns, getElementType(), getPacking(),
             getPlacement(), getLane());
}

//===----------------------------------------------------------------------===//
// scales and scale_tile
//===----------------------------------------------------------------------===//

static LogicalResult verifyScaleType(EmitError emitError, Type type) {
  if (isa<Float8E4M3FNType, Float8E8M0FNUType>(type))
    return success();
  return emitError() << "block scales are f8E4M3FN or f8E8M0FNU, found "
                     << type;
}

template <typename ConcreteType>
static Type parseScales(AsmParser &parser) {
  SMLoc loc = parser.getCurrentLocation();
  int64_t rows, columns;
  Type elementType;
  if (parseShape(parser, rows, columns, elementType) || parser.parseGreater())
    return {};
  return ConcreteType::getChecked([&] { return parser.emitError(loc); },
                                  parser.getContext(), rows, columns,
                                  elementType);
}

Type ScalesType::parse(AsmParser &parser) {
  return parseScales<ScalesType>(parser);
}

void ScalesType::print(AsmPrinter &printer) const {
  printShape(printer, getRows(), getColumns(), getElementType());
  printer << '>';
}

LogicalResult ScalesType::verify(EmitError emitError, int64_t rows,
                                 int64_t columns, Type elementType) {
  if (failed(verifyScaleType(emitError, elementType)))
    return failure();
  if (rows % 32 || rows < 32 || rows > 256)
    return emitError() << "scales have a multiple of 32 rows up to 256, found "
                       << rows;
  if (columns < 1)
    return emitError() << "scales have at least one column, found " << columns;
  int64_t words = llvm::divideCeil(columns, 4) * (rows / 32);
  if (words > numWordColumns)
    return emitError() << "tensor memory has 512 columns, the scales need "
                       << words;
  return success();
}

int64_t ScalesType::getNumWords() const {
  return llvm::divideCeil(getColumns(), 4) * (getRows() / 32);
}

int64_t ScalesType::getWordOf(int64_t column) const {
  return column / 4 * (getRows() / 32);
}

Type ScaleTileType::parse(AsmParser &parser) {
  return parseScales<ScaleTileType>(parser);
}

void ScaleTileType::print(AsmPrinter &printer) const {
  printShape(printer, getRows(), getColumns(), getElementType());
  printer << '>';
}

LogicalResult ScaleTileType::verify(EmitError emitError, int64_t rows,
                                    int64_t columns, Type elementType) {
  if (failed(verifyScaleType(emitError, elementType)))
    return failure();
  if (rows != 128 && rows != 256)
    return emitError() << "a scale tile has 128 or 256 rows, found " << rows;
  if (columns < 4 || columns % 4)
    return emitError() << "a scale tile has a multiple of 4 columns, found "
                       << columns;
  return success();
}

//===----------------------------------------------------------------------===//
// Regions of either type
//===----------------------------------------------------------------------===//

int64_t kvq::tcgen05::getNumWords(Type region) {
  if (auto scales = dyn_cast<ScalesType>(region))
    return scales.getNumWords();
  return cast<TMemType>(region).getNumWords();
}

int64_t kvq::tcgen05::getWordOf(Type region, int64_t column) {
  if (auto scales = dyn_cast<ScalesType>(region))
    return scales.getWordOf(column);
  return cast<TMemType>(region).getWordOf(column);
}

int64_t kvq::tcgen05::getWordAlignment(Type region) {
  if (auto scales = dyn_cast<ScalesType>(region))
    return scales.getWordAlignment();
  return cast<TMemType>(region).getWordAlignment();
}

std::array<uint32_t, 4> kvq::tcgen05::getLanes(Type region) {
  if (auto tmem = dyn_cast<TMemType>(region))
    return tmem.getLanes();
  return {~0u, ~0u, ~0u, ~0u};
}

//===----------------------------------------------------------------------===//
// tile
//===----------------------------------------------------------------------===//

Type TileType::parse(AsmParser &parser) {
  SMLoc loc = parser.getCurrentLocation();
  int64_t rows, columns;
  Type elementType;
  if (parseShape(parser, rows, columns, elementType) || parser.parseComma())
    return {};
  LayoutAttr layout = kvq::tcgen05::detail::parseLayout(parser);
  if (!layout || parser.parseGreater())
    return {};
  return getChecked([&] { return parser.emitError(loc); }, parser.getContext(),
                    rows, columns, elementType, layout);
}

void TileType::print(AsmPrinter &printer) const {
  printShape(printer, getRows(), getColumns(), getElementType());
  printer << ", ";
  kvq::tcgen05::detail::printLayout(printer, getLayout());
  printer << '>';
}

static int64_t tileBits(Type elementType, LayoutAttr layout) {
  if (layout.getPadded())
    return 8;
  return isa<FloatTF32Type>(elementType) ? 32 : bitWidth(elementType);
}

static LogicalResult verifyTileElement(EmitError emitError, Type type,
                                       LayoutAttr layout) {
  bool narrow = isNarrowFloat(type);
  if (!narrow && !type.isF16() && !type.isBF16() && !type.isInteger(8) &&
      !type.isF32() && !type.isInteger(32) &&
      !isa<FloatTF32Type, Float8E4M3FNType, Float8E5M2Type>(type))
    return emitError()
           << "expected elements of tf32, f32, f16, bf16, f8E4M3FN, f8E5M2, "
              "f6E2M3FN, f6E3M2FN, f4E2M1FN or integers of 8 or 32 bits, found "
           << type;
  if (layout.getPadded() && !narrow)
    return emitError() << "padding is for elements of 4 and 6 bits, found "
                       << type;
  if (narrow && bitWidth(type) == 6 && !layout.getPadded())
    return emitError() << "elements of 6 bits are padded in shared memory, "
                          "found "
                       << type << " without";
  if (layout.isKMajor())
    return success();
  if (narrow)
    return emitError() << "elements of 4 and 6 bits are K-major, found " << type
                       << " in an MN-major tile";
  bool wide = tileBits(type, layout) == 32;
  if (wide != (layout.getSwizzle() == Swizzle::B128Atom32))
    return emitError() << "MN-major elements of 32 bits, and only they, have "
                          "swizzle b128_atom32, found "
                       << type << " with "
                       << stringifySwizzle(layout.getSwizzle());
  return success();
}

LogicalResult TileType::verify(EmitError emitError, int64_t rows,
                               int64_t columns, Type elementType,
                               LayoutAttr layout) {
  if (failed(verifyTileElement(emitError, elementType, layout)))
    return failure();
  int64_t bits = tileBits(elementType, layout);
  int64_t pattern = layout.getPatternBytes();
  if (layout.isKMajor()) {
    if (rows != 4 && (rows % 8 || rows < 8 || rows > 256))
      return emitError() << "a K-major tile has 4 rows or a multiple of 8 up "
                            "to 256, found "
                         << rows;
    if (columns <= 0 || columns * bits % 128)
      return emitError() << "a row of a K-major tile is a multiple of 16 "
                            "bytes, found "
                         << columns << " elements of " << bits << " bits";
    int64_t bytes = columns * bits / 8;
    if (bytes > pattern && bytes % pattern)
      return emitError() << "a row of " << bytes
                         << " bytes is no multiple of the " << pattern
                         << " bytes of the swizzle";
  } else {
    if (rows <= 0 || rows > 256 || rows * bits % (8 * pattern))
      return emitError() << "a column of an MN-major tile has at most 256 "
                            "elements and is a multiple of "
                         << pattern << " bytes, found " << rows
                         << " elements of " << bits << " bits";
    int64_t lines = layout.getPatternLines();
    if (columns <= 0 || columns % lines)
      return emitError() << "an MN-major tile has a multiple of " << lines
                         << " along K, found " << columns;
  }
  auto type = get(layout.getContext(), rows, columns, elementType, layout);
  if (type.getStride() >= (1 << 18) || type.getLeading() >= (1 << 18))
    return emitError() << "strides of " << type.getStride() << " and "
                       << type.getLeading()
                       << " bytes do not fit a matrix descriptor";
  return success();
}

int64_t TileType::getContainerBits() const {
  return tileBits(getElementType(), getLayout());
}

int64_t TileType::getStride() const {
  LayoutAttr layout = getLayout();
  if (layout.getStride())
    return layout.getStride();
  // One core matrix of 8 rows by 16 bytes, or one pattern of the swizzle.
  if (layout.getSwizzle() == Swizzle::None)
    return 128;
  return layout.getPatternBytes() * layout.getPatternLines();
}

int64_t TileType::getLeading() const {
  LayoutAttr layout = getLayout();
  if (layout.getLeading())
    return layout.getLeading();
  if (layout.isKMajor())
    return llvm::divideCeil(getRows(), 8) * getStride();
  if (layout.getSwizzle() == Swizzle::None)
    return getRows() * getContainerBits() / 128 * getStride();
  return getColumns() / layout.getPatternLines() * getStride();
}

int64_t TileType::getByteOffset(int64_t row, int64_t column) const {
  LayoutAttr layout = getLayout();
  int64_t pattern = layout.getPatternBytes(), bits = getContainerBits();
  int64_t lines = layout.getPatternLines();
  if (layout.isKMajor()) {
    int64_t byte = column * bits / 8;
    return row % 8 * pattern + row / 8 * getStride() +
           byte / pattern * getLeading() + byte % pattern;
  }
  int64_t byte = row * bits / 8;
  // Stride and leading dimension change roles without a swizzle.
  bool swapped = layout.getSwizzle() == Swizzle::None;
  return byte % pattern +
         byte / pattern * (swapped ? getStride() : getLeading()) +
         column % lines * pattern +
         column / lines * (swapped ? getLeading() : getStride());
}

int64_t TileType::getSizeInBytes() const {
  // Offsets grow with rows and columns, and the last 16 bytes are whole.
  int64_t perChunk = 128 / getContainerBits();
  return getLayout().isKMajor()
             ? getByteOffset(getRows() - 1, getColumns() - perChunk) + 16
             : getByteOffset(getRows() - perChunk, getColumns() - 1) + 16;
}

/// Places the fields of a matrix descriptor (PTX ISA 9.7.16.4.1).
static uint64_t encodeDescriptor(int64_t leading, int64_t stride,
                                 uint64_t swizzle) {
  return uint64_t(leading >> 4) << 16 | uint64_t(stride >> 4) << 32 |
         uint64_t(1) << 46 | swizzle << 61;
}

uint64_t TileType::getDescriptor() const {
  static const uint64_t codes[] = {0, 6, 4, 2, 1};
  LayoutAttr layout = getLayout();
  uint64_t swizzle = codes[static_cast<unsigned>(layout.getSwizzle())];
  // The hardware takes the leading stride of swizzled K-major tiles as 1.
  bool ignored = layout.isKMajor() && swizzle;
  return encodeDescriptor(ignored ? 16 : getLeading(), getStride(), swizzle);
}

uint64_t ScaleTileType::getDescriptor() const {
  // Rows of one 16-byte chunk: there is no leading stride.
  return encodeDescriptor(0, 128, 0);
}
