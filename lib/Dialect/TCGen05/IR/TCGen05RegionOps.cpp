//===- TCGen05RegionOps.cpp - Regions, tiles and synchronization ----------===//

#include "kvq/Dialect/TCGen05/IR/TCGen05Ops.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMTypes.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace kvq::tcgen05;

bool kvq::tcgen05::detail::isSharedMemory(Type type) {
  constexpr unsigned sharedSpace = 3;
  if (auto pointer = dyn_cast<LLVM::LLVMPointerType>(type))
    return pointer.getAddressSpace() == sharedSpace;
  auto memref = dyn_cast<MemRefType>(type);
  if (!memref || !memref.getMemorySpace())
    return false;
  if (auto space = dyn_cast<gpu::AddressSpaceAttr>(memref.getMemorySpace()))
    return space.getValue() == gpu::AddressSpace::Workgroup;
  auto number = dyn_cast<IntegerAttr>(memref.getMemorySpace());
  return number && number.getInt() == sharedSpace;
}

/// An address in shared memory has an index for each dimension of a memref and
/// none for a pointer.
static LogicalResult verifyIndices(Operation *op, Type type, size_t indices) {
  auto memref = dyn_cast<MemRefType>(type);
  size_t expected = memref ? memref.getRank() : 0;
  if (indices == expected)
    return success();
  return op->emitOpError() << "takes " << expected << " indices into " << type
                           << ", found " << indices;
}

//===----------------------------------------------------------------------===//
// Allocation
//===----------------------------------------------------------------------===//

static LogicalResult verifyAllocation(Operation *op,
                                      std::optional<int64_t> columns) {
  if (!columns || (*columns >= 32 && *columns <= numWordColumns &&
                   llvm::isPowerOf2_64(*columns)))
    return success();
  return op->emitOpError()
         << "an allocation has 32, 64, 128, 256 or 512 columns, found "
         << *columns;
}

LogicalResult AllocOp::verify() {
  Type type = getSlot().getType();
  if (auto memref = dyn_cast<MemRefType>(type))
    if (!memref.getElementType().isInteger(32))
      return emitOpError() << "the slot of the address is an i32, found "
                           << type;
  if (failed(verifyIndices(*this, type, getIndices().size())))
    return failure();
  return verifyAllocation(*this, getColumns());
}

LogicalResult DeallocOp::verify() {
  return verifyAllocation(*this, getColumns());
}

//===----------------------------------------------------------------------===//
// Regions
//===----------------------------------------------------------------------===//

LogicalResult RegionOp::verify() {
  if (!getColumn())
    return success();
  int64_t column = *getColumn();
  Type type = getResult().getType();
  int64_t alignment = getWordAlignment(type);
  if (column < 0 || column % alignment)
    return emitOpError() << type << " begins at a multiple of " << alignment
                         << " columns, found " << column;
  if (column + getNumWords(type) > numWordColumns)
    return emitOpError() << "columns " << column << " to "
                         << column + getNumWords(type) - 1
                         << " reach beyond the 512 of tensor memory";
  return success();
}

LogicalResult ReleaseOp::verify() {
  auto region = getRegion().getDefiningOp<RegionOp>();
  if (!region)
    return emitOpError()
           << "releases what a kvq_tcgen05.region of the function makes";
  if (region->getBlock() != (*this)->getBlock())
    return emitOpError() << "belongs in the block of the region";
  return success();
}

LogicalResult SliceOp::verify() {
  Type source = getSource().getType(), result = getResult().getType();
  bool dynamic = static_cast<bool>(getColumn());
  if (dynamic == getStaticColumn().has_value())
    return emitOpError() << "takes one column, a value or a number";
  bool alike = false;
  int64_t most, count, perWord;
  if (auto from = dyn_cast<TMemType>(source)) {
    if (from.getPlacement() == Placement::Folded)
      return emitOpError() << "a folded region has no slices, found " << from;
    auto to = dyn_cast<TMemType>(result);
    alike = to && from.withColumns(to.getColumns()) == to;
    most = from.getColumns();
    count = alike ? to.getColumns() : 0;
    perWord = 32 / from.getContainerBits();
  } else {
    auto fromScales = cast<ScalesType>(source);
    auto to = dyn_cast<ScalesType>(result);
    alike = to && to.getRows() == fromScales.getRows() &&
            to.getElementType() == fromScales.getElementType();
    most = fromScales.getColumns();
    count = alike ? to.getColumns() : 0;
    perWord = 4;
  }
  if (!alike)
    return emitOpError() << "a slice differs from its source in the number of "
                            "columns only, found "
                         << source << " and " << result;
  int64_t column = getStaticColumn().value_or(0);
  if (column < 0 || column + count > most)
    return emitOpError() << "columns " << column << " to " << column + count - 1
                         << " are not all among the " << most
                         << " of the source";
  int64_t alignment = getWordAlignment(source);
  if (column % perWord || getWordOf(source, column) % alignment)
    return emitOpError() << "column " << column
                         << " does not begin a multiple of " << alignment
                         << " columns of 32 bits";
  return success();
}

LogicalResult CastOp::verify() {
  Type source = getSource().getType(), result = getResult().getType();
  if (getNumWords(result) > getNumWords(source))
    return emitOpError() << result << " takes " << getNumWords(result)
                         << " columns of 32 bits, the source has "
                         << getNumWords(source);
  std::array<uint32_t, 4> from = getLanes(source), to = getLanes(result);
  for (unsigned quarter = 0; quarter < 4; ++quarter)
    if (to[quarter] & ~from[quarter])
      return emitOpError() << result << " has lanes that " << source
                           << " has not";
  if (getWordAlignment(result) > getWordAlignment(source))
    return emitOpError() << result << " begins at a multiple of "
                         << getWordAlignment(result) << " columns, " << source
                         << " at one of " << getWordAlignment(source);
  return success();
}

//===----------------------------------------------------------------------===//
// Tiles
//===----------------------------------------------------------------------===//

LogicalResult MakeTileOp::verify() {
  auto memref = dyn_cast<MemRefType>(getSource().getType());
  if (!memref)
    return success();
  Type element = memref.getElementType();
  if (!element.isIntOrFloat() || element.getIntOrFloatBitWidth() % 8)
    return emitOpError() << "needs a memref of whole bytes, found " << memref;
  return success();
}

LogicalResult SliceTileOp::verify() {
  TileType from = getSource().getType(), to = getResult().getType();
  LayoutAttr layout = from.getLayout();
  int64_t row = getRow(), column = getColumn();
  if (to.getElementType() != from.getElementType() ||
      to.getLayout().getMajor() != layout.getMajor() ||
      to.getLayout().getSwizzle() != layout.getSwizzle() ||
      to.getLayout().getPadded() != layout.getPadded() ||
      to.getStride() != from.getStride() ||
      to.getLeading() != from.getLeading())
    return emitOpError() << "a part has the elements, the layout and the "
                            "strides of its source, stride = "
                         << from.getStride()
                         << " and leading = " << from.getLeading() << ", found "
                         << from << " and " << to;
  if (row < 0 || column < 0 || row + to.getRows() > from.getRows() ||
      column + to.getColumns() > from.getColumns())
    return emitOpError() << "a part of " << to.getRows() << " by "
                         << to.getColumns() << " at " << row << ", " << column
                         << " is not inside " << from.getRows() << " by "
                         << from.getColumns();
  int64_t bits = from.getContainerBits();
  int64_t pattern = layout.getPatternBytes(), lines = layout.getPatternLines();
  if (layout.isKMajor()) {
    // Inside a pattern the hardware steps by 16 bytes; the exclusive or takes
    // absolute addresses.
    if (row % 8 || column * bits % 128)
      return emitOpError() << "a part of a K-major tile begins at a multiple "
                              "of 8 rows and 16 bytes, found row "
                           << row << " and element " << column << " of " << bits
                           << " bits";
    int64_t begin = column * bits / 8 % pattern;
    int64_t bytes = to.getColumns() * bits / 8;
    if (begin && begin + bytes > pattern)
      return emitOpError() << "a part that begins inside a pattern of "
                           << pattern << " bytes does not reach beyond it";
    return success();
  }
  if (row * bits / 8 % pattern || column % lines)
    return emitOpError() << "a part of an MN-major tile begins at a multiple "
                            "of "
                         << pattern * 8 / bits << " rows and " << lines
                         << " along K, found row " << row << " and element "
                         << column;
  return success();
}

//===----------------------------------------------------------------------===//
// Synchronization
//===----------------------------------------------------------------------===//

LogicalResult CommitOp::verify() {
  Type type = getBarrier().getType();
  if (auto memref = dyn_cast<MemRefType>(type))
    if (!memref.getElementType().isInteger(64))
      return emitOpError() << "an mbarrier is an i64, found " << type;
  return verifyIndices(*this, type, getIndices().size());
}
