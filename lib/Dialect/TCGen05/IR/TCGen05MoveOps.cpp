//===- TCGen05MoveOps.cpp - Copies, loads and stores ----------------------===//

#include "kvq/Dialect/TCGen05/IR/TCGen05Ops.h"
#include "mlir/IR/Matchers.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace kvq::tcgen05;

//===----------------------------------------------------------------------===//
// Assembly of column positions
//===----------------------------------------------------------------------===//

/// Parses a number or a value.
static ParseResult
parsePosition(OpAsmParser &parser,
              std::optional<OpAsmParser::UnresolvedOperand> &value,
              IntegerAttr &number) {
  OpAsmParser::UnresolvedOperand operand;
  OptionalParseResult parsed = parser.parseOptionalOperand(operand);
  if (parsed.has_value()) {
    value = operand;
    return *parsed;
  }
  int64_t constant;
  if (parser.parseInteger(constant))
    return failure();
  number = parser.getBuilder().getI64IntegerAttr(constant);
  return success();
}

static void printPosition(OpAsmPrinter &printer, Operation *, Value value,
                          IntegerAttr number) {
  if (value)
    printer << value;
  else if (number)
    printer << number.getInt();
}

/// Parses `[position]`, or nothing.
static ParseResult
parseOptionalPosition(OpAsmParser &parser,
                      std::optional<OpAsmParser::UnresolvedOperand> &value,
                      IntegerAttr &number) {
  if (failed(parser.parseOptionalLSquare()))
    return success();
  if (parsePosition(parser, value, number))
    return failure();
  return parser.parseRSquare();
}

static void printOptionalPosition(OpAsmPrinter &printer, Operation *op,
                                  Value value, IntegerAttr number) {
  if (!value && !number)
    return;
  printer << '[';
  printPosition(printer, op, value, number);
  printer << ']';
}

IntegerAttr kvq::tcgen05::detail::getColumnAttr(OpBuilder &builder,
                                                OpFoldResult column) {
  auto number = dyn_cast_or_null<IntegerAttr>(dyn_cast<Attribute>(column));
  return number ? builder.getI64IntegerAttr(number.getInt()) : IntegerAttr();
}

#define GET_OP_CLASSES
#include "kvq/Dialect/TCGen05/IR/TCGen05Ops.cpp.inc"

//===----------------------------------------------------------------------===//
// Loads and stores
//===----------------------------------------------------------------------===//

static int64_t registersOf(VectorType vector) {
  return vector.getNumElements() * vector.getElementTypeBitWidth() / 32;
}

int64_t LoadOp::getNumRegisters() {
  return registersOf(cast<VectorType>(getResult().getType()));
}

int64_t StoreOp::getNumRegisters() {
  return registersOf(cast<VectorType>(getValue().getType()));
}

namespace {

/// A load or a store, to be verified.
struct Access {
  Operation *op;
  AccessShape shape;
  TMemType region;
  VectorType vector;
  Value column, warp;
  std::optional<int64_t> staticColumn, split;
  int64_t lane;
  bool packed;

  LogicalResult verify() const;

private:
  LogicalResult verifyVector() const;
  LogicalResult verifyColumns() const;
  LogicalResult verifyLanes() const;
};

} // namespace

LogicalResult Access::verifyVector() const {
  Type element = vector.getElementType();
  if (vector.isScalable() || vector.getRank() != 1)
    return op->emitOpError()
           << "moves vectors of one dimension, found " << vector;
  bool words = element.isInteger(32);
  if (!words && (element != region.getElementType() ||
                 region.getPacking() == Packing::Byte))
    return op->emitOpError()
           << "moves words of i32"
           << (region.getPacking() == Packing::Byte ? "" : " or the elements")
           << " of " << region << ", found " << vector;
  if (!words && region.getPacking() == Packing::Word && !packed)
    return op->emitOpError() << "moves words of i32 where each element has a "
                                "column, found "
                             << vector;
  if (packed && region.getPacking() != Packing::Word)
    return op->emitOpError()
           << "packs regions with word packing, found " << region;
  int64_t bits = vector.getNumElements() * vector.getElementTypeBitWidth();
  int64_t perCount = shape == AccessShape::S16x256b   ? 4
                     : shape == AccessShape::S16x128b ? 2
                                                      : 1;
  int64_t registers = bits / 32;
  if (bits % 32 || registers < perCount || registers > 128 ||
      !llvm::isPowerOf2_64(registers))
    return op->emitOpError()
           << stringifyAccessShape(shape) << " moves a power of two from "
           << perCount << " to 128 registers, found " << vector;
  return success();
}

LogicalResult Access::verifyColumns() const {
  int64_t registers =
      vector.getNumElements() * vector.getElementTypeBitWidth() / 32;
  int64_t perRegister =
      shape == AccessShape::S32x32b || shape == AccessShape::S16x32bx2 ? 1 : 2;
  int64_t count = registers * perRegister * (packed ? 2 : 1);
  if (column && staticColumn)
    return op->emitOpError() << "takes one column, a value or a number";
  bool twice = shape == AccessShape::S16x32bx2;
  if (twice != split.has_value())
    return op->emitOpError() << "shape_16x32bx2, and only it, has a split";
  if (twice && packed)
    return op->emitOpError() << "shape_16x32bx2 does not pack: what its split "
                                "then counts is not documented";
  if (split.value_or(0) < 0)
    return op->emitOpError() << "the split is not negative, found " << *split;
  int64_t at = staticColumn.value_or(0);
  int64_t perWord = 32 / region.getContainerBits();
  if (at < 0 || at % perWord)
    return op->emitOpError()
           << "column " << at << " does not begin a column of 32 bits";
  int64_t word = region.getWordOf(at);
  if (perRegister == 2 && word % 2)
    return op->emitOpError() << stringifyAccessShape(shape)
                             << " begins at an even column, found " << word;
  if (word + split.value_or(0) + count > region.getNumWords())
    return op->emitOpError()
           << "moves " << count << " columns from " << word + split.value_or(0)
           << " on, the region has " << region.getNumWords();
  return success();
}

LogicalResult Access::verifyLanes() const {
  bool half = shape != AccessShape::S32x32b;
  if (lane != 0 && (!half || lane != 16))
    return op->emitOpError()
           << stringifyAccessShape(shape) << " begins at lane 0"
           << (half ? " or 16" : "") << ", found " << lane;
  if (region.getPlacement() == Placement::Scattered &&
      (!half || lane != region.getLane()))
    return op->emitOpError()
           << "a scattered region at lane " << region.getLane()
           << " takes shapes of 16 lanes at that lane, found "
           << stringifyAccessShape(shape) << " at " << lane;
  bool single =
      region.getPlacement() == Placement::Straight && region.getRows() == 32;
  if (!single && !warp)
    return op->emitOpError()
           << "needs the warp, as the region has lanes of several";
  if (!warp)
    return success();
  APInt index;
  if (!matchPattern(warp, m_ConstantInt(&index)))
    return success();
  int64_t quarter = index.getSExtValue();
  if (quarter < 0 || quarter > 3)
    return op->emitOpError() << "the warp is 0 to 3, found " << quarter;
  if (!region.getLanes()[quarter])
    return op->emitOpError()
           << "warp " << quarter << " reaches lanes " << 32 * quarter << " to "
           << 32 * quarter + 31 << ", of which " << region << " has none";
  return success();
}

LogicalResult Access::verify() const {
  if (failed(verifyVector()) || failed(verifyColumns()))
    return failure();
  return verifyLanes();
}

LogicalResult LoadOp::verify() {
  return Access{getOperation(),
                getShape(),
                getSource().getType(),
                cast<VectorType>(getResult().getType()),
                getColumn(),
                getWarp(),
                getStaticColumn(),
                getSplit(),
                static_cast<int64_t>(getLane()),
                getPack()}
      .verify();
}

LogicalResult StoreOp::verify() {
  return Access{getOperation(),
                getShape(),
                getDest().getType(),
                cast<VectorType>(getValue().getType()),
                getColumn(),
                getWarp(),
                getStaticColumn(),
                getSplit(),
                static_cast<int64_t>(getLane()),
                getUnpack()}
      .verify();
}

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

int64_t CopyOp::getShapeRows() {
  switch (getShape()) {
  case CopyShape::S128x256b:
  case CopyShape::S128x128b:
    return 128;
  case CopyShape::S64x128b:
    return 64;
  case CopyShape::S32x128b:
    return 32;
  case CopyShape::S4x256b:
    return 4;
  }
  llvm_unreachable("all shapes are handled");
}

int64_t CopyOp::getShapeBytes() {
  bool wide =
      getShape() == CopyShape::S128x256b || getShape() == CopyShape::S4x256b;
  return wide ? 32 : 16;
}

LogicalResult CopyOp::verify() {
  StringRef shape = stringifyCopyShape(getShape());
  CopyMulticast multicast = getMulticast();
  bool pairs = multicast == CopyMulticast::Warpx2_02_13 ||
               multicast == CopyMulticast::Warpx2_01_23;
  if (pairs != (getShape() == CopyShape::S64x128b))
    return emitOpError() << "multicast warpx2_02_13 or warpx2_01_23 goes with "
                            "shape_64x128b, found "
                         << stringifyCopyMulticast(multicast) << " with "
                         << shape;
  if ((multicast == CopyMulticast::Warpx4) !=
      (getShape() == CopyShape::S32x128b))
    return emitOpError() << "multicast warpx4 goes with shape_32x128b, found "
                         << stringifyCopyMulticast(multicast) << " with "
                         << shape;
  TileType source = getSource().getType();
  TMemType dest = getDest().getType();
  if (!source.getLayout().isKMajor())
    return emitOpError() << "copies K-major tiles, found " << source;
  if (source.getRows() != getShapeRows())
    return emitOpError() << shape << " copies " << getShapeRows()
                         << " rows, found " << source.getRows();
  int64_t rowBytes = source.getColumns() * source.getContainerBits() / 8;
  if (rowBytes % getShapeBytes())
    return emitOpError() << shape << " copies multiples of " << getShapeBytes()
                         << " bytes of a row, found " << rowBytes;
  bool words = dest.getElementType().isInteger(32);
  Packing packing =
      source.getLayout().getPadded() ? Packing::Byte : Packing::Dense;
  if (!words && (dest.getElementType() != source.getElementType() ||
                 dest.getPacking() != packing))
    return emitOpError() << "copies to words of i32 or elements of "
                         << source.getElementType() << " with "
                         << stringifyPacking(packing) << " packing, found "
                         << dest;
  if (dest.getPlacement() != Placement::Straight || dest.getRows() != numLanes)
    return emitOpError() << "copies to regions of 128 lanes, found " << dest;
  if (dest.getNumWords() * 4 < rowBytes)
    return emitOpError() << "copies " << rowBytes / 4
                         << " columns, the region has " << dest.getNumWords();
  if (getShape() == CopyShape::S128x256b && dest.getWordAlignment() % 4)
    return emitOpError() << "shape_128x256b copies to a multiple of 4 columns, "
                         << dest << " begins at one of "
                         << dest.getWordAlignment();
  return success();
}

LogicalResult CopyScalesOp::verify() {
  ScaleTileType source = getSource().getType();
  ScalesType dest = getDest().getType();
  if (source.getRows() != dest.getRows() ||
      source.getColumns() != dest.getColumns() ||
      source.getElementType() != dest.getElementType())
    return emitOpError() << "copies scales of one shape and type, found "
                         << source << " and " << dest;
  return success();
}

LogicalResult ShiftOp::verify() {
  TMemType region = getRegion().getType();
  if (region.getNumWords() != 8)
    return emitOpError() << "shifts rows of 32 bytes, found a region of "
                         << region.getNumWords() * 4;
  // The shape is 31x256b (PTX ISA 9.7.16.2.3): the lanes of one warp.
  if (region.getPlacement() != Placement::Straight || region.getRows() != 32)
    return emitOpError() << "shifts regions of 32 lanes, found " << region;
  return success();
}
