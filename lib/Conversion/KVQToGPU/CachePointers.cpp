//===- CachePointers.cpp - A cache's parts inside a kernel ----------------===//

#include "CachePointers.h"
#include "kvq/Dialect/KVQ/IR/KVQScaleLayouts.h"

using namespace mlir;
using namespace kvq;
using namespace kvq::kernel;

std::pair<I32, I32> kvq::kernel::getScalePosition(KernelBuilder &b,
                                                  ScaleLayout layout, I32 row,
                                                  I32 column, I32 columns) {
  auto [atRow, atColumn] =
      emitScalePosition(b, b.getLoc(), layout, row, column, columns);
  return {{b, atRow}, {b, atColumn}};
}

CachePointers::CachePointers(KernelLaunch &kernel, OpBuilder &host,
                             StringRef prefix, TypedValue<CacheType> cache,
                             Access access, int64_t chunk)
    : kernel(&kernel), type(cache.getType()), chunk(chunk) {
  kernel.addCache(prefix, type);
  Location loc = cache.getLoc();
  auto declare = [&](StringRef part, Value memref, Ptr &pointer,
                     SmallVectorImpl<I64> &strides, Access access) {
    std::string name = (prefix + part).str();
    pointer = kernel.pointer(name, memref, access);
    int64_t rank = cast<MemRefType>(memref.getType()).getRank();
    for (int64_t dimension = 0; dimension + 1 < rank; ++dimension)
      strides.push_back(kernel.stride(name, dimension));
  };
  Value data = host.createOrFold<CacheDataOp>(loc, type.getDataType(), cache);
  declare("data", data, dataPointer, dataStrides, access);
  numPages = kernel.size((prefix + "data").str(), 0);
  if (MemRefType scalesType = type.getScalesType())
    declare("scales", host.createOrFold<CacheScalesOp>(loc, scalesType, cache),
            scalesPointer, scalesStrides, access);
  SmallVector<I64> none;
  if (MemRefType scaleType = type.getGlobalScaleType())
    declare("global_scale",
            host.createOrFold<CacheGlobalScaleOp>(loc, scaleType, cache),
            globalScale, none, Access::Read);

  isAligned = areRowsAligned(chunk);
}

Pred CachePointers::areRowsAligned(int64_t count) const {
  SmallVector<I64> addresses(dataStrides);
  addresses.push_back(dataPointer.address());
  return kernel->body().areMultiples(
      addresses, getAccessBytes(getFormat().getElementType(), count));
}

F32 CachePointers::loadGlobalScale() const {
  return globalScale ? kernel->body().loadF32(globalScale) : F32();
}

Row CachePointers::row(I32 page, I32 token, I32 head) const {
  unsigned tokenDim = type.getTokenDim(), headDim = type.getHeadDimIndex();
  Ptr base = dataPointer + (page.extend() * dataStrides[0] +
                            token.extend() * dataStrides[tokenDim] +
                            head.extend() * dataStrides[headDim]);
  KernelBuilder &b = kernel->body();
  Row row{base, getFormat().getElementType(), I64(), isAligned, I32()};
  if (type.getHeadDim() % chunk != 0)
    row.size = b.i32(type.getHeadDim());
  return row;
}

Ptr CachePointers::scale(I32 page, I32 head, I32 row, I32 column) const {
  KernelBuilder &b = kernel->body();
  auto [atRow, atColumn] = getScalePosition(
      b, *type.getScaleLayout(), row, column, b.i32(type.getScaleColumns()));
  int64_t bytes = getFormat().getScaleType().getWidth() / 8;
  return scalesRow(page, head, atRow) + atColumn * bytes;
}

Ptr CachePointers::scalesRow(I32 page, I32 head, I32 row) const {
  return scalesPointer +
         (page.extend() * scalesStrides[0] +
          row.extend() * scalesStrides[type.getTokenDim()] +
          head.extend() * scalesStrides[type.getHeadDimIndex()]);
}

Row CachePointers::scaleRow(I32 page, I32 token, I32 head,
                            int64_t chunk) const {
  assert(*type.getScaleLayout() == ScaleLayout::Linear && "scales in rows");
  KernelBuilder &b = kernel->body();
  FloatType element = getFormat().getScaleType();
  SmallVector<I64> addresses(scalesStrides);
  addresses.push_back(scalesPointer.address());
  Row row{scale(page, head, token, b.i32(0)), element, I64(),
          b.areMultiples(addresses, getAccessBytes(element, chunk)), I32()};
  if (type.getScaleColumns() % chunk != 0)
    row.size = b.i32(type.getScaleColumns());
  return row;
}

Ptr CachePointers::scaleOfElement(I32 page, I32 token, I32 head, I32 d) const {
  int64_t block = getFormat().getBlockSize();
  if (getFormat().getBlockAxis() == BlockAxis::HeadDim)
    return scale(page, head, token, d / block);
  return scale(page, head, token / block, d);
}
