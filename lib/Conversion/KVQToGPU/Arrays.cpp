//===- Arrays.cpp - Memrefs as rows inside a kernel -----------------------===//

#include "Arrays.h"

using namespace mlir;
using namespace kvq;
using namespace kvq::kernel;

Array::Array(KernelLaunch &kernel, StringRef name, Value memref, Access access,
             int64_t chunk)
    : kernel(&kernel), name(name), type(cast<MemRefType>(memref.getType())),
      chunk(chunk) {
  KernelBuilder &b = kernel.body();
  base = kernel.pointer(name, memref, access);
  bool isPacked = type.getElementTypeBitWidth() < 8;
  for (int64_t dimension = 0; dimension < type.getRank(); ++dimension)
    // The innermost stride of packed elements is 1.
    strides.push_back(isPacked && dimension + 1 == type.getRank()
                          ? I64()
                          : kernel.stride(name, dimension));
  auto element = dyn_cast<FloatType>(type.getElementType());
  if (chunk == 1 || !element)
    return;
  if (type.getRank() > 0 && !type.isLastDimUnitStride())
    return;
  SmallVector<I64> addresses(ArrayRef(strides).drop_back());
  addresses.push_back(base.address());
  isAligned = b.areMultiples(addresses, getAccessBytes(element, chunk));
}

Size Array::size(int64_t dimension) const {
  return kernel->size(name, dimension);
}

Ptr Array::advance(ArrayRef<I32> indices) const {
  I64 offset = kernel->body().i64(0);
  for (auto [index, stride] : llvm::zip(indices, strides))
    offset = offset + index.extend() * stride;
  return base + offset;
}

Ptr Array::element(ArrayRef<I32> indices) const {
  assert(int64_t(indices.size()) == getRank() && "one index a dimension");
  return advance(indices);
}

Row Array::row(ArrayRef<I32> indices) const {
  assert(int64_t(indices.size()) == getRank() - 1 && "no innermost index");
  Row row;
  row.base = advance(indices);
  row.element = cast<FloatType>(type.getElementType());
  row.isAligned = isAligned;
  if (!MemRefType(type).isLastDimUnitStride())
    row.step = strides.back();
  int64_t columns = type.getShape().back();
  if (ShapedType::isDynamic(columns) || columns % chunk != 0)
    row.size = size(getRank() - 1).value;
  return row;
}

Items::Items(KernelLaunch &kernel, ArrayRef<Size> sizes)
    : kernel(&kernel), sizes(sizes) {}

void Items::forEach(function_ref<void(ArrayRef<I32>)> body) const {
  choose({}, [&](ArrayRef<I32> indices) {
    body(indices);
    return Values();
  });
}

Values Items::choose(ValueRange others,
                     function_ref<Values(ArrayRef<I32>)> body) const {
  KernelBuilder &b = kernel->body();
  I32 item = b.block() * threads + b.thread();
  I32 count = b.i32(1);
  for (const Size &size : sizes)
    count = count * size.value;
  return chooseOr(b, item.isBelow(count), others, [&] {
    SmallVector<I32> indices(sizes.size());
    I32 rest = item;
    for (size_t i = sizes.size(); i-- > 1;) {
      indices[i] = rest % sizes[i].value;
      rest = rest / sizes[i].value;
    }
    if (!indices.empty())
      indices[0] = rest;
    return body(indices);
  });
}

void Items::launch() const {
  AffineExpr count = kernel->constant(1);
  for (const Size &size : sizes)
    count = count * size.formula;
  kernel->launch(threads, count.ceilDiv(threads));
}

Values kvq::kernel::chooseOr(KernelBuilder &b, Pred condition,
                             ValueRange others, function_ref<Values()> then) {
  if (!others.empty())
    return b.choose(condition, others.getTypes(), then,
                    [&] { return llvm::to_vector(others); });
  b.when(condition, [&] { then(); });
  return {};
}

Size kvq::kernel::getChunks(KernelLaunch &kernel, Size size, int64_t chunk) {
  return {(size.value + (chunk - 1)) / chunk, size.formula.ceilDiv(chunk)};
}

int64_t kvq::kernel::getChunk(KVFormatInterface format) {
  if (format.hasBlockScale() && format.getBlockAxis() == BlockAxis::HeadDim)
    return format.getBlockSize();
  return 16;
}
