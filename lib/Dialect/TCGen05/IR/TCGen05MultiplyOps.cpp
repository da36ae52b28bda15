//===- TCGen05MultiplyOps.cpp - Verification of matrix products -----------===//
//
// Rules are those of the PTX ISA 9.7.16.2.1 (tables 39 to 41, shapes and
// types), 9.7.16.10.1 (tables 51 to 54, majors) and 9.7.16.10.7 (scales);
// those on N with A in tensor memory are the ones that CUTLASS asserts.
//
//===----------------------------------------------------------------------===//

#include "kvq/Dialect/TCGen05/IR/TCGen05Limits.h"
#include "kvq/Dialect/TCGen05/IR/TCGen05Ops.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace kvq::tcgen05;

//===----------------------------------------------------------------------===//
// What both products have
//===----------------------------------------------------------------------===//

static int64_t rowsOf(Type operand) {
  if (auto tile = dyn_cast<TileType>(operand))
    return tile.getRows();
  return cast<TMemType>(operand).getRows();
}

static int64_t columnsOf(Type operand) {
  if (auto tile = dyn_cast<TileType>(operand))
    return tile.getColumns();
  return cast<TMemType>(operand).getColumns();
}

static Type elementOf(Type operand) {
  if (auto tile = dyn_cast<TileType>(operand))
    return tile.getElementType();
  return cast<TMemType>(operand).getElementType();
}

namespace {

/// A product of either kind of operation.
struct Product {
  Operation *op;
  MMAKind kind;
  Type a;
  TileType b;
  TMemType d;
  int64_t ctaGroup;
  bool weightStationary = false;

  int64_t m() const { return rowsOf(a) * ctaGroup; }
  int64_t n() const { return b.getRows() * ctaGroup; }
  int64_t k() const { return columnsOf(a); }

  LogicalResult verify() const;

private:
  InFlightDiagnostic error() const {
    return op->emitOpError() << stringifyMMAKind(kind) << ": ";
  }
  LogicalResult verifyTypes() const;
  LogicalResult verifyShape() const;
  LogicalResult verifyAccumulator() const;
  LogicalResult verifyTensorA() const;
  LogicalResult verifyTile(StringRef name, TileType tile) const;
};

} // namespace

static StringRef operandTypes(MMAKind kind) {
  switch (kind) {
  case MMAKind::F16:
    return "f16 or bf16";
  case MMAKind::TF32:
    return "tf32";
  case MMAKind::I8:
    return "si8 or ui8";
  case MMAKind::F8F6F4:
  case MMAKind::MXF8F6F4:
    return "f8E4M3FN, f8E5M2, f6E2M3FN, f6E3M2FN or f4E2M1FN";
  case MMAKind::MXF4:
  case MMAKind::MXF4NVF4:
    return "f4E2M1FN";
  }
  llvm_unreachable("all kinds are handled");
}

static StringRef accumulatorTypes(MMAKind kind) {
  switch (kind) {
  case MMAKind::F16:
  case MMAKind::F8F6F4:
    return "f32 or f16";
  case MMAKind::I8:
    return "i32";
  default:
    return "f32";
  }
}

LogicalResult Product::verifyTypes() const {
  Type typeA = elementOf(a), typeB = b.getElementType();
  for (auto [name, type] : {std::pair<StringRef, Type>("A", typeA),
                            std::pair<StringRef, Type>("B", typeB)})
    if (!getOperandCode(kind, type))
      return error() << "elements of " << name << " are " << operandTypes(kind)
                     << ", found " << type;
  if (kind == MMAKind::F16 && typeA != typeB)
    return error() << "A and B have the same elements, found " << typeA
                   << " and " << typeB;
  Type typeD = d.getElementType();
  if (!getAccumulatorCode(kind, typeD))
    return error() << "elements of D are " << accumulatorTypes(kind)
                   << ", found " << typeD;
  if (kind == MMAKind::F16 && typeD.isF16() && !typeA.isF16())
    return error() << "an f16 D needs f16 A and B, found " << typeA;
  if (b.getColumns() != k())
    return error() << "A and B have the same K, found " << k() << " and "
                   << b.getColumns();
  int64_t step = getStepElements(kind);
  if (k() % step)
    return error() << "K is a multiple of " << step << ", found " << k();
  return success();
}

LogicalResult Product::verifyShape() const {
  int64_t rows = m(), columns = n();
  StringRef suffix = ctaGroup == 2 ? " with cta_group = 2" : "";
  if (weightStationary) {
    if (ctaGroup != 1)
      return error() << "a weight-stationary product has cta_group = 1";
    if (rows != 32 && rows != 64 && rows != 128)
      return error() << "M of a weight-stationary product is 32, 64 or 128, "
                        "found "
                     << rows;
    if (columns != 64 && columns != 128 && columns != 256)
      return error() << "N of a weight-stationary product is 64, 128 or 256, "
                        "found "
                     << columns;
    return success();
  }
  if (ctaGroup == 2) {
    if (rows != 128 && rows != 256)
      return error() << "M is 128 or 256" << suffix << ", found " << rows;
  } else if (isBlockScaled(kind) ? rows != 128 : rows != 64 && rows != 128) {
    return error() << "M is " << (isBlockScaled(kind) ? "128" : "64 or 128")
                   << ", found " << rows;
  }
  int64_t step = 8 * ctaGroup;
  if (kind == MMAKind::I8) {
    step = ctaGroup == 2 ? 32 : 16;
    // 8 and 24 are the exceptions.
    if (ctaGroup == 1 && (columns == 8 || columns == 24))
      return success();
  }
  if (columns < step || columns > 256 || columns % step)
    return error() << "N is a multiple of " << step << " up to 256"
                   << (kind == MMAKind::I8 && ctaGroup == 1 ? ", or 8 or 24"
                                                            : "")
                   << suffix << ", found " << columns;
  return success();
}

LogicalResult Product::verifyAccumulator() const {
  if (d.getColumns() != n())
    return error() << "D has N = " << n() << " columns, found "
                   << d.getColumns();
  if (d.getElementType().isF16() && d.getPacking() != Packing::Word)
    return error() << "an f16 D has a column for each element (word), found "
                   << d;
  int64_t rows = rowsOf(a);
  Placement placement = Placement::Straight;
  if (rows != numLanes)
    placement = weightStationary || ctaGroup == 2 ? Placement::Folded
                                                  : Placement::Scattered;
  if (d.getRows() != rows || d.getPlacement() != placement)
    return error() << "D is a " << stringifyPlacement(placement)
                   << " region of " << rows << " rows, found " << d;
  return success();
}

LogicalResult Product::verifyTensorA() const {
  auto region = dyn_cast<TMemType>(a);
  if (!region)
    return success();
  if (weightStationary || ctaGroup == 2) {
    if (region.getRows() != numLanes)
      return error() << "A in tensor memory has 128 rows "
                     << (weightStationary ? "in a weight-stationary product"
                                          : "with cta_group = 2")
                     << ", found " << region.getRows();
  } else if (region.getRows() != numLanes) {
    if (region.getPlacement() != Placement::Scattered ||
        region.getLane() != d.getLane())
      return error() << "A in tensor memory and D have the same lanes, found "
                     << region << " and " << d;
  }
  bool bytes = isNarrowFloat(region.getElementType()) && !isDenseFP4(kind);
  Packing packing = bytes ? Packing::Byte : Packing::Dense;
  if (region.getPacking() != packing)
    return error() << "A in tensor memory has " << stringifyPacking(packing)
                   << " packing, found "
                   << stringifyPacking(region.getPacking());
  if (region.getRows() == numLanes && n() % 16)
    return error() << "N is a multiple of 16 with 128 rows of A in tensor "
                      "memory, found "
                   << n();
  return success();
}

LogicalResult Product::verifyTile(StringRef name, TileType tile) const {
  LayoutAttr layout = tile.getLayout();
  bool narrow = isNarrowFloat(tile.getElementType());
  if (isDenseFP4(kind)) {
    if (layout.getPadded())
      return error() << name << " is not padded, found " << tile;
  } else if (narrow && !layout.getPadded()) {
    return error() << name << " is padded, found " << tile;
  }
  return success();
}

LogicalResult Product::verify() const {
  if (failed(verifyTypes()) || failed(verifyShape()) ||
      failed(verifyAccumulator()) || failed(verifyTensorA()) ||
      failed(verifyTile("B", b)))
    return failure();
  if (auto tile = dyn_cast<TileType>(a))
    if (failed(verifyTile("A", tile)))
      return failure();
  // Table 52 asks for N in steps of 16 where an 8-bit B is MN-major; patterns
  // of at least 16 bytes see to it.
  return success();
}

//===----------------------------------------------------------------------===//
// mma
//===----------------------------------------------------------------------===//

int64_t MMAOp::getM() { return rowsOf(getA().getType()) * getCtaGroup(); }
int64_t MMAOp::getN() { return getB().getType().getRows() * getCtaGroup(); }
int64_t MMAOp::getK() { return columnsOf(getA().getType()); }
int64_t MMAOp::getNumSteps() { return getK() / getStepElements(getKind()); }

LogicalResult MMAOp::verify() {
  MMAKind kind = getKind();
  auto error = [&] { return emitOpError() << stringifyMMAKind(kind) << ": "; };
  if (isBlockScaled(kind))
    return error() << "is a kind of kvq_tcgen05.mma_block_scaled; accepted are "
                      "f16, tf32, f8f6f4 and i8";
  bool ws = getWeightStationary();
  Product product{getOperation(),
                  kind,
                  getA().getType(),
                  getB().getType(),
                  getD().getType(),
                  static_cast<int64_t>(getCtaGroup()),
                  ws};
  if (failed(product.verify()))
    return failure();

  bool integers = kind == MMAKind::I8;
  if (integers && (getNegateA() || getNegateB()))
    return error() << "integers are not negated";
  if (!integers && getSaturate())
    return error() << "saturation is for kind i8";
  if (std::optional<int64_t> scale = getScaleD()) {
    if (kind != MMAKind::F16 && kind != MMAKind::TF32)
      return error() << "scale_d is for kinds f16 and tf32";
    if (ws)
      return error() << "scale_d is not for weight-stationary products";
    if (*scale < 0 || *scale > 15)
      return error() << "scale_d is 0 to 15, found " << *scale;
    if (!getAccumulate())
      return error() << "scale_d needs accumulate";
  }
  if (getShiftA()) {
    if (!isa<TMemType>(getA().getType()))
      return error() << "shift_a needs A in tensor memory";
    if (getM() != 128 && getM() != 256)
      return error() << "shift_a needs M = 128 or 256, found " << getM();
    if (ws)
      return error() << "shift_a is not for weight-stationary products";
    if (getCollector() == Collector::Use || getCollector() == Collector::Fill)
      return error() << "shift_a does not go with the collector's "
                     << stringifyCollector(getCollector());
  }
  if (getDisableLanes()) {
    if (ws)
      return error() << "disable_lanes is not for weight-stationary products";
    int64_t words =
        cast<VectorType>(getDisableLanes().getType()).getNumElements();
    if (words != 4 * static_cast<int64_t>(getCtaGroup()))
      return error() << "disable_lanes has " << 4 * getCtaGroup()
                     << " words, found " << words;
  }
  if (!ws && getZeroColumns())
    return error() << "zero_columns is for weight-stationary products";
  if (!ws && getCollectorB())
    return error() << "collector_b is for weight-stationary products";
  if (getCollectorB().value_or(0) < 0 || getCollectorB().value_or(0) > 3)
    return error() << "collector_b is 0 to 3, found " << *getCollectorB();
  if (std::optional<int64_t> shift = getMaxShift()) {
    if (!getZeroColumns())
      return error() << "max_shift goes with zero_columns";
    int64_t most = getM() == 32 ? 16 : 32;
    if (*shift != 8 && *shift != 16 && *shift != most)
      return error() << "max_shift is 8"
                     << (most == 32 ? ", 16 or 32" : " or 16") << " where M is "
                     << getM() << ", found " << *shift;
  }
  return success();
}

//===----------------------------------------------------------------------===//
// mma_block_scaled
//===----------------------------------------------------------------------===//

int64_t MMABlockScaledOp::getM() {
  return rowsOf(getA().getType()) * getCtaGroup();
}
int64_t MMABlockScaledOp::getN() {
  return getB().getType().getRows() * getCtaGroup();
}
int64_t MMABlockScaledOp::getK() { return columnsOf(getA().getType()); }
int64_t MMABlockScaledOp::getNumSteps() {
  return getK() / getStepElements(getKind());
}

LogicalResult MMABlockScaledOp::verify() {
  MMAKind kind = getKind();
  auto error = [&] { return emitOpError() << stringifyMMAKind(kind) << ": "; };
  if (!isBlockScaled(kind))
    return error() << "is a kind of kvq_tcgen05.mma; accepted are mxf8f6f4, "
                      "mxf4 and mxf4nvf4";
  Product product{getOperation(),   kind,
                  getA().getType(), getB().getType(),
                  getD().getType(), static_cast<int64_t>(getCtaGroup())};
  if (failed(product.verify()))
    return failure();
  int64_t block = getBlock();
  bool blockOk =
      kind == MMAKind::MXF4NVF4 ? block == 16 || block == 32 : block == 32;
  if (!blockOk)
    return error() << "a block has "
                   << (kind == MMAKind::MXF4NVF4 ? "16 or 32" : "32")
                   << " elements, found " << block;
  ScalesType scalesA = getScalesA().getType(), scalesB = getScalesB().getType();
  if (scalesA.getElementType() != scalesB.getElementType())
    return error() << "A and B have the same type of scales, found "
                   << scalesA.getElementType() << " and "
                   << scalesB.getElementType();
  if (!isa<Float8E8M0FNUType>(scalesA.getElementType()) && block != 16)
    return error() << "blocks of 32 have scales of f8E8M0FNU, found "
                   << scalesA.getElementType();
  int64_t perK = getK() / block;
  if (getCtaGroup() == 2 && getM() != 256)
    return error() << "M is 256 with cta_group = 2, found " << getM();
  // Each CTA holds the scales of its own rows of A and of all of N.
  int64_t rows[] = {rowsOf(getA().getType()), (getN() + 31) / 32 * 32};
  std::array<ScalesType, 2> sides = {scalesA, scalesB};
  for (auto [index, type] : llvm::enumerate(sides)) {
    StringRef name = index ? "B" : "A";
    if (type.getColumns() < perK)
      return error() << "a K of " << getK() << " has " << perK << " scales of "
                     << name << ", found " << type.getColumns();
    if (type.getRows() < rows[index])
      return error() << "scales of " << name << " have at least " << rows[index]
                     << " rows, found " << type.getRows();
    // A step's scales begin at an even column.
    int64_t words = llvm::divideCeil(perK, 4);
    if (type.getRows() / 32 % 2 && words > 1)
      return error() << "scales of " << name
                     << " of more than one word along K have a multiple of 64 "
                        "rows, found "
                     << type.getRows();
  }
  return success();
}
