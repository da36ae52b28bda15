//===- KVQOps.cpp - Verifiers of the operations on caches and rows --------===//

#include "kvq/Dialect/KVQ/IR/KVQOps.h"
#include "OpChecks.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/IR/OpImplementation.h"

using namespace mlir;
using namespace kvq;

#define GET_OP_CLASSES
#include "kvq/Dialect/KVQ/IR/KVQOps.cpp.inc"

//===----------------------------------------------------------------------===//
// Shared checks
//===----------------------------------------------------------------------===//

static LogicalResult checkElementType(Operation *op, StringRef name,
                                      Value value, Type expected,
                                      StringRef meaning) {
  Type found = getShaped(value).getElementType();
  if (found == expected)
    return success();
  return op->emitOpError() << name << " has element type " << found
                           << ", expected " << expected << " (" << meaning
                           << ")";
}

/// Checks that an optional operand is there if and only if a format asks.
static LogicalResult checkPresence(Operation *op, StringRef name, bool found,
                                   bool expected, Attribute format) {
  if (found == expected)
    return success();
  return op->emitOpError() << (expected ? "needs " : "has no place for ")
                           << name << ": the format " << format
                           << (expected ? " has one" : " has none");
}

/// Checks data and scales of logical rows against a format.
static LogicalResult checkParts(Operation *op, KVFormatInterface format,
                                Value data, Value scales,
                                ArrayRef<int64_t> dataShape, StringRef meaning,
                                Value handle = {}) {
  if (failed(checkPresence(op, "scales", bool(scales), format.hasBlockScale(),
                           format)) ||
      failed(checkElementType(op, "data", data, format.getElementType(),
                              "the element type of the format")) ||
      failed(checkShape(op, "data", data, dataShape, meaning, handle)))
    return failure();
  if (!scales)
    return success();
  // A size that the expectation leaves open is the one found on the data.
  SmallVector<int64_t> shape(dataShape);
  for (auto [size, found] : llvm::zip(shape, getShaped(data).getShape()))
    if (ShapedType::isDynamic(size))
      size = found;
  return success(
      succeeded(checkElementType(op, "scales", scales, format.getScaleType(),
                                 "the scale type of the format")) &&
      succeeded(checkShape(op, "scales", scales, format.getScaleShape(shape),
                           "one per block of " +
                               std::to_string(format.getBlockSize()) +
                               " elements of data",
                           handle)));
}

/// Rows are written one at a time, so their blocks cannot lie along tokens.
static LogicalResult checkRowBlocks(Operation *op, KVFormatInterface format) {
  if (!format.hasBlockScale() || format.getBlockAxis() == BlockAxis::HeadDim)
    return success();
  return op->emitOpError() << "handles single rows, found blocks with axis = "
                              "token; accepted is axis = head_dim";
}

static LogicalResult checkFourOverSix(Operation *op, Attribute format,
                                      bool fourOverSix) {
  if (!fourOverSix ||
      format == FormatAttr::getPreset(op->getContext(), "nvfp4"))
    return success();
  return op->emitOpError() << "has four_over_six with the format " << format
                           << ", accepted is #kvq.format<nvfp4>";
}

/// Checks a handle that rows are written to.
static LogicalResult checkAddressing(Operation *op, Value rows,
                                     Value slotMapping, Value positions,
                                     Value blockTable, Value batchIndices) {
  if (!slotMapping && !positions)
    return op->emitOpError("needs slot_mapping, or block_table with positions");
  Value index = slotMapping ? slotMapping : positions;
  if (failed(checkShape(op, slotMapping ? "slot_mapping" : "positions", index,
                        {getShaped(rows).getDimSize(0)}, "one per row")))
    return failure();
  if (positions && !batchIndices &&
      failed(checkShape(op, "positions", positions,
                        {getShaped(blockTable).getDimSize(0)},
                        "one per sequence without batch_indices")))
    return failure();
  return success();
}

//===----------------------------------------------------------------------===//
// QuantizeOp, DequantizeOp
//===----------------------------------------------------------------------===//

MutableOperandRange QuantizeOp::getDpsInitsMutable() {
  unsigned first = getDataMutable().getOperandNumber();
  return MutableOperandRange(getOperation(), first, getScales() ? 2 : 1);
}

/// Checks what quantize and dequantize share.
static LogicalResult checkQuantization(Operation *op, KVFormatInterface format,
                                       Value values, StringRef valuesName,
                                       Value data, Value scales,
                                       Value globalScale) {
  if (failed(checkRowBlocks(op, format)))
    return failure();
  ArrayRef<int64_t> shape = getShaped(values).getShape();
  if (format.hasBlockScale() && !ShapedType::isDynamic(shape.back()) &&
      shape.back() % format.getBlockSize() != 0)
    return op->emitOpError()
           << valuesName << " has " << shape.back()
           << " elements along its innermost axis, expected a multiple of the "
              "block size "
           << format.getBlockSize();
  if (format.getElementType().getWidth() == 4 &&
      !ShapedType::isDynamic(shape.back()) && shape.back() % 2 != 0)
    return op->emitOpError() << valuesName << " has " << shape.back()
                             << " elements along its innermost axis, expected "
                                "an even number";
  return success(
      succeeded(checkPresence(op, "global_scale", bool(globalScale),
                              format.getHasGlobalScale(), format)) &&
      succeeded(checkParts(op, format, data, scales, shape,
                           ("the shape of the " + valuesName).str())) &&
      succeeded(checkResults(cast<DestinationStyleOpInterface>(op))));
}

LogicalResult QuantizeOp::verify() {
  if (failed(checkFourOverSix(*this, getFormat(), getFourOverSix())))
    return failure();
  return checkQuantization(*this, getFormat(), getInput(), "input", getData(),
                           getScales(), getGlobalScale());
}

LogicalResult DequantizeOp::verify() {
  return checkQuantization(*this, getFormat(), getOutput(), "output", getData(),
                           getScales(), getGlobalScale());
}

//===----------------------------------------------------------------------===//
// ConvertScaleLayoutOp
//===----------------------------------------------------------------------===//

LogicalResult ConvertScaleLayoutOp::verify() {
  ShapedType type = getShaped(getInput());
  if (type.getRank() != 4)
    return emitOpError() << "input has rank " << type.getRank()
                         << ", expected 4: [pages, page, heads, S] for NHD, "
                            "[pages, heads, page, S] for HND";
  if (!isa<Float8E4M3FNType, Float8E8M0FNUType>(type.getElementType()))
    return emitOpError() << "input has element type " << type.getElementType()
                         << ", expected f8E4M3FN or f8E8M0FNU";
  if (failed(checkElementType(*this, "output", getOutput(),
                              type.getElementType(), "that of the input")) ||
      failed(checkShape(*this, "output", getOutput(), type.getShape(),
                        "the shape of the input")))
    return failure();
  int64_t rows = type.getDimSize(getKvLayout() == KVLayout::NHD ? 1 : 2);
  int64_t columns = type.getDimSize(3);
  auto emit = [&] { return emitOpError(); };
  for (ScaleLayout layout : {getFrom(), getTo()}) {
    if (layout == ScaleLayout::Undecided)
      return emitOpError("has an undecided layout, expected linear, "
                         "interleaved_4 or blocked_128x4");
    if (failed(verifyScaleLayout(emit, layout, rows, columns)))
      return failure();
  }
  return checkResults(*this);
}

//===----------------------------------------------------------------------===//
// MakeCacheOp and accessors
//===----------------------------------------------------------------------===//

/// Checks a part of a cache: element type, shape and strides.
static LogicalResult checkPart(Operation *op, StringRef name, Value part,
                               Type elementType, ArrayRef<int64_t> shape) {
  auto type = cast<MemRefType>(part.getType());
  if (failed(checkElementType(op, name, part, elementType,
                              "of the cache's format")) ||
      failed(checkShape(op, name, part, shape, "of the cache's type")))
    return failure();
  for (auto [found, expected] :
       llvm::zip(type.getShape().drop_front(), shape.drop_front()))
    if (found != expected)
      return op->emitOpError()
             << name << " has shape " << shapeToString(type.getShape())
             << ", expected static sizes " << shapeToString(shape)
             << " but for the number of pages";

  SmallVector<int64_t> strides;
  int64_t offset;
  if (failed(type.getStridesAndOffset(strides, offset)))
    return op->emitOpError() << name << " of type " << type
                             << " has no strides, expected a strided layout";
  if (strides.back() != 1)
    return op->emitOpError() << name << " has innermost stride "
                             << (ShapedType::isDynamic(strides.back())
                                     ? std::string("?")
                                     : std::to_string(strides.back()))
                             << ", expected 1";
  if (cast<FloatType>(elementType).getWidth() != 4)
    return success();
  // Two elements share a byte: everything but the innermost axis steps bytes.
  auto isOdd = [](int64_t value) {
    return !ShapedType::isDynamic(value) && value % 2 != 0;
  };
  if (isOdd(offset))
    return op->emitOpError() << name << " has offset " << offset
                             << ", expected an even one for 4-bit elements";
  for (auto [dim, stride] : llvm::enumerate(ArrayRef(strides).drop_back()))
    if (isOdd(stride))
      return op->emitOpError()
             << name << " has stride " << stride << " in dimension " << dim
             << ", expected an even one for 4-bit elements";
  return success();
}

LogicalResult MakeCacheOp::verify() {
  CacheType cache = getCache().getType();
  KVFormatInterface format = cache.getFormat();
  if (failed(checkPresence(*this, "scales", bool(getScales()),
                           format.hasBlockScale(), format)) ||
      failed(checkPresence(*this, "global_scale", bool(getGlobalScale()),
                           format.getHasGlobalScale(), format)) ||
      failed(checkPart(*this, "data", getData(), format.getElementType(),
                       cache.getDataShape())))
    return failure();
  if (!getScales())
    return success();
  if (failed(checkPart(*this, "scales", getScales(), format.getScaleType(),
                       cache.getScalesShape())))
    return failure();
  return checkShape(*this, "scales", getScales(),
                    {getShaped(getData()).getDimSize(0), ShapedType::kDynamic,
                     ShapedType::kDynamic, ShapedType::kDynamic},
                    "as many pages as the data");
}

/// Checks the result of an accessor against the part that the type of the
/// handle has.
static LogicalResult checkAccessor(Operation *op, StringRef part, Value cache,
                                   Type expected, Type found) {
  if (!expected)
    return op->emitOpError()
           << "asks for the " << part << " of a handle of type "
           << cache.getType() << ", whose format has none";
  if (expected != found)
    return op->emitOpError()
           << "has result type " << found << ", expected " << expected;
  return success();
}

LogicalResult CacheDataOp::verify() {
  return checkAccessor(*this, "data", getCache(),
                       getCache().getType().getDataType(), getType());
}

LogicalResult CacheScalesOp::verify() {
  return checkAccessor(*this, "block scales", getCache(),
                       getCache().getType().getScalesType(), getType());
}

LogicalResult CacheGlobalScaleOp::verify() {
  return checkAccessor(*this, "global scale", getCache(),
                       getCache().getType().getGlobalScaleType(), getType());
}

//===----------------------------------------------------------------------===//
// AppendOp, QuantizeAppendOp
//===----------------------------------------------------------------------===//

LogicalResult AppendOp::verify() {
  CacheType cache = getCache().getType();
  if (failed(checkRowBlocks(*this, cache.getFormat())) ||
      failed(checkParts(
          *this, cache.getFormat(), getData(), getScales(),
          {ShapedType::kDynamic, cache.getNumHeads(), cache.getHeadDim()},
          "rows x heads x head_dim of the handle", getCache())))
    return failure();
  return checkAddressing(*this, getData(), getSlotMapping(), getPositions(),
                         getBlockTable(), getBatchIndices());
}

SmallVector<Value> AppendOp::getWrittenCaches() { return {getCache()}; }

/// Checks the rotary position embedding of an append.
static LogicalResult checkRope(QuantizeAppendOp op) {
  Value cos = op.getCos(), sin = op.getSin();
  if (!cos && !sin) {
    if (op.getRopeStyle() == RopeStyle::RotateHalf)
      return success();
    return op.emitOpError("has rope_style without rope");
  }
  if (!cos || !sin)
    return op.emitOpError() << "has rope with one table, expected cos and sin";
  CacheType cache = op.getCache().getType();
  if (cache.getSide() != Side::Key)
    return op.emitOpError() << "has rope with a handle of type " << cache
                            << ", accepted are handles of keys";
  int64_t rows = getShaped(op.getInput()).getDimSize(0);
  if (failed(checkShape(op, "cos", cos, {rows, ShapedType::kDynamic},
                        "one row per row of the input")) ||
      failed(checkShape(op, "sin", sin, {rows, getShaped(cos).getDimSize(1)},
                        "one row per row of the input, columns as cos")))
    return failure();
  int64_t most = cache.getHeadDim() / 2;
  for (auto [name, table] : {std::pair("cos", cos), std::pair("sin", sin)})
    if (int64_t pairs = getShaped(table).getDimSize(1);
        pairs < 1 || pairs > most)
      return op.emitOpError()
             << name << " has shape "
             << shapeToString(getShaped(table).getShape())
             << ", expected a static number of columns from 1 to " << most
             << " (pairs of channels of a head)";
  return success();
}

int64_t QuantizeAppendOp::getNumRotated() {
  return getCos() ? 2 * getShaped(getCos()).getDimSize(1) : 0;
}

LogicalResult QuantizeAppendOp::verify() {
  CacheType cache = getCache().getType();
  if (failed(checkRowBlocks(*this, cache.getFormat())) ||
      failed(checkFourOverSix(*this, cache.getFormat(), getFourOverSix())) ||
      failed(checkShape(
          *this, "input", getInput(),
          {ShapedType::kDynamic, cache.getNumHeads(), cache.getHeadDim()},
          "rows x heads x head_dim of the handle", getCache())) ||
      failed(checkRope(*this)))
    return failure();
  return checkAddressing(*this, getInput(), getSlotMapping(), getPositions(),
                         getBlockTable(), getBatchIndices());
}

SmallVector<Value> QuantizeAppendOp::getWrittenCaches() { return {getCache()}; }

std::string kvq::describeUndecided(Operation *op) {
  constexpr StringLiteral scales = "block scales are not decided; "
                                   "kvq-assign-block-scales chooses them";
  constexpr StringLiteral layout = "scale layout is not decided; "
                                   "kvq-assign-block-scales chooses one";
  std::string text;
  llvm::raw_string_ostream stream(text);
  if (auto format = op->getAttrOfType<UndecidedFP4Attr>("format")) {
    stream << "the format is " << format << ", whose " << scales;
    return text;
  }
  for (auto [number, operand] : llvm::enumerate(op->getOperands())) {
    auto cache = dyn_cast<CacheType>(operand.getType());
    if (!cache || !cache.isUndecided())
      continue;
    stream << "operand #" << number << " is of type '" << cache << "', whose "
           << (cache.getScaleLayout() ? layout : scales);
    return text;
  }
  return text;
}

//===----------------------------------------------------------------------===//
// CopyPagesOp
//===----------------------------------------------------------------------===//

LogicalResult CopyPagesOp::verify() {
  return checkShape(*this, "dst_pages", getDstPages(),
                    getShaped(getSrcPages()).getShape(),
                    "one per entry of src_pages");
}

SmallVector<Value> CopyPagesOp::getReadCaches() { return {getSource()}; }

SmallVector<Value> CopyPagesOp::getWrittenCaches() { return {getDest()}; }

//===----------------------------------------------------------------------===//
// GatherOp
//===----------------------------------------------------------------------===//

MutableOperandRange GatherOp::getDpsInitsMutable() {
  unsigned first = getDataMutable().getOperandNumber();
  return MutableOperandRange(getOperation(), first, getScales() ? 2 : 1);
}

SmallVector<Value> GatherOp::getReadCaches() { return {getCache()}; }

LogicalResult GatherOp::verify() {
  CacheType cache = getCache().getType();
  if (failed(checkRowBlocks(*this, cache.getFormat())) ||
      failed(checkParts(
          *this, cache.getFormat(), getData(), getScales(),
          {getShaped(getSeqLens()).getDimSize(0), ShapedType::kDynamic,
           cache.getNumHeads(), cache.getHeadDim()},
          "sequences x L x heads x head_dim of the handle", getCache())))
    return failure();
  return checkResults(*this);
}
