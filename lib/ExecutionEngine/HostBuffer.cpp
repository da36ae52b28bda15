//===- HostBuffer.cpp - Memory behind a tensor or memref argument ---------===//

#include "kvq/ExecutionEngine/HostBuffer.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/Support/MathExtras.h"
#include <cstring>

using namespace kvq;
using namespace mlir;
using llvm::createStringError;

static_assert(sizeof(void *) == 8, "descriptors are words of 64 bits");

/// Calls `copy` with the strided and the dense address of each innermost row.
/// No size is 0.
static void forEachRow(
    ArrayRef<int64_t> sizes, ArrayRef<int64_t> strides, char *strided,
    char *dense, int64_t elementSize,
    llvm::function_ref<void(char *, char *, int64_t count, int64_t stride)>
        copy) {
  if (sizes.empty())
    return copy(strided, dense, 1, elementSize);
  int64_t count = sizes.back();
  int64_t innerStride = strides.back() * elementSize;
  SmallVector<int64_t> index(sizes.size(), 0);
  while (true) {
    copy(strided, dense, count, innerStride);
    dense += count * elementSize;
    size_t dim = sizes.size() - 1;
    for (; dim != 0; --dim) {
      strided += strides[dim - 1] * elementSize;
      if (++index[dim - 1] != sizes[dim - 1])
        break;
      strided -= strides[dim - 1] * sizes[dim - 1] * elementSize;
      index[dim - 1] = 0;
    }
    if (dim == 0)
      return;
  }
}

llvm::Expected<NpyArray> kvq::readDescriptor(ArrayRef<int64_t> descriptor,
                                             NpyType type, size_t rank) {
  ArrayRef<int64_t> sizes = descriptor.slice(3, rank);
  ArrayRef<int64_t> strides = descriptor.slice(3 + rank, rank);
  llvm::Expected<NpyArray> array = NpyArray::zeros(type, sizes);
  if (!array || array->numElements() == 0)
    return array;
  int64_t size = type.size;
  char *from = reinterpret_cast<char *>(descriptor[1]) + descriptor[2] * size;
  forEachRow(sizes, strides, from, array->data(), size,
             [size](char *strided, char *dense, int64_t count, int64_t stride) {
               for (int64_t i = 0; i != count; ++i)
                 std::memcpy(dense + i * size, strided + i * stride, size);
             });
  return array;
}

/// Packs one element per byte to two, the even one in the low nibble.
static llvm::Expected<NpyArray> pack(const NpyArray &unpacked) {
  SmallVector<int64_t> shape(unpacked.shape());
  if (!shape.empty())
    shape.back() /= 2;
  llvm::Expected<NpyArray> packed = NpyArray::zeros({NpyKind::UInt, 1}, shape);
  if (!packed)
    return packed;
  StringRef from = unpacked.rawBytes();
  for (size_t i = 0, e = from.size(); i != e; ++i)
    packed->data()[i / 2] |= (from[i] & 0xf) << (i % 2 * 4);
  return packed;
}

static llvm::Expected<NpyArray> unpack(const NpyArray &packed,
                                       ArrayRef<int64_t> shape) {
  llvm::Expected<NpyArray> unpacked = NpyArray::zeros({NpyKind::Raw, 1}, shape);
  if (!unpacked)
    return unpacked;
  for (size_t i = 0, e = unpacked->sizeInBytes(); i != e; ++i)
    unpacked->data()[i] = (packed.data()[i / 2] >> (i % 2 * 4)) & 0xf;
  return unpacked;
}

/// Fills in the strides and the offset, in stored elements. What the type
/// leaves open becomes what a dense array has. Returns the extent of the buffer
/// in stored elements.
static llvm::Expected<int64_t> resolveLayout(const HostType &type,
                                             ArrayRef<int64_t> sizes,
                                             SmallVectorImpl<int64_t> &strides,
                                             int64_t &offset) {
  size_t rank = sizes.size();
  strides.assign(rank, 1);
  offset = 0;
  if (!type.strides.empty() || type.offset != 0) {
    offset = ShapedType::isDynamic(type.offset) ? 0 : type.offset;
    bool hasUnitStride = type.strides.empty() || type.strides.back() == 1 ||
                         ShapedType::isDynamic(type.strides.back());
    if (type.isPacked && (offset % 2 != 0 || !hasUnitStride))
      return createStringError(
          "a layout of 4-bit elements needs an even offset and an "
          "innermost stride of 1");
    if (type.isPacked)
      offset /= 2;
  }
  bool isEmpty = llvm::is_contained(sizes, 0);
  int64_t dense = 1;
  for (size_t i = rank; i-- != 0;) {
    strides[i] = dense;
    if (!type.strides.empty() && !ShapedType::isDynamic(type.strides[i])) {
      strides[i] = type.strides[i];
      if (type.isPacked && i + 1 != rank) {
        if (strides[i] % 2 != 0)
          return createStringError(
              "a layout of 4-bit elements needs even outer strides, "
              "found " +
              Twine(strides[i]));
        strides[i] /= 2;
      }
    }
    if (strides[i] < 0 || offset < 0)
      return createStringError(
          "a layout with a negative stride or offset cannot be made");
    if (llvm::MulOverflow(strides[i], std::max<int64_t>(sizes[i], 1), dense))
      return createStringError("the layout is too large");
  }
  if (isEmpty)
    return offset;

  // Elements are disjoint if, by rising stride, each dimension steps over all
  // that the smaller ones reach. Layouts that interleave otherwise exist, but
  // nobody writes them.
  SmallVector<size_t> order = llvm::to_vector(llvm::seq<size_t>(0, rank));
  llvm::sort(order, [&](size_t a, size_t b) {
    return std::pair(strides[a], a) < std::pair(strides[b], b);
  });
  int64_t last = 0;
  for (size_t i : order) {
    if (sizes[i] == 1)
      continue;
    if (strides[i] <= last)
      return createStringError(
          "the elements of the layout overlap or interleave");
    int64_t reach;
    if (llvm::MulOverflow(strides[i], sizes[i] - 1, reach) ||
        llvm::AddOverflow(last, reach, last))
      return createStringError("the layout is too large");
  }
  int64_t extent;
  if (llvm::AddOverflow(offset, last + 1, extent))
    return createStringError("the layout is too large");
  return extent;
}

llvm::Expected<HostBuffer> HostBuffer::create(const HostType &type,
                                              NpyArray array) {
  bool isUnpacked = type.acceptsUnpacked(array.type(), array.shape());
  if (!isUnpacked && !type.accepts(array.type(), array.shape()))
    return createStringError("expected " + type.describeAccepted() +
                             ", found " + toString(array.type()) + " " +
                             toString(array.shape()));
  NpyType arrayType = array.type();
  SmallVector<int64_t> arrayShape(array.shape());
  if (isUnpacked) {
    llvm::Expected<NpyArray> packed = pack(array);
    if (!packed)
      return packed.takeError();
    array = std::move(*packed);
  }

  SmallVector<int64_t> sizes(array.shape());
  SmallVector<int64_t> strides;
  int64_t offset;
  llvm::Expected<int64_t> extent = resolveLayout(type, sizes, strides, offset);
  if (!extent)
    return extent.takeError();

  HostBuffer buffer(std::move(array));
  int64_t size = buffer.storage.type().size;
  if (*extent != buffer.storage.numElements() || !type.strides.empty()) {
    llvm::Expected<NpyArray> strided =
        NpyArray::zeros(buffer.storage.type(), {*extent});
    if (!strided)
      return strided.takeError();
    if (buffer.storage.numElements() != 0)
      forEachRow(
          sizes, strides, strided->data() + offset * size,
          buffer.storage.data(), size,
          [size](char *strided, char *dense, int64_t count, int64_t stride) {
            for (int64_t i = 0; i != count; ++i)
              std::memcpy(strided + i * stride, dense + i * size, size);
          });
    buffer.storage = std::move(*strided);
  }
  auto address = reinterpret_cast<int64_t>(buffer.storage.data());
  buffer.words.append({address, address, offset});
  buffer.words.append(sizes);
  buffer.words.append(strides);
  buffer.type = arrayType;
  buffer.shape = std::move(arrayShape);
  buffer.isUnpacked = isUnpacked;
  return buffer;
}

llvm::Expected<NpyArray> HostBuffer::read() const {
  llvm::Expected<NpyArray> stored = readDescriptor(
      words, isUnpacked ? NpyType{NpyKind::UInt, 1} : type, shape.size());
  if (!stored || !isUnpacked)
    return stored;
  return unpack(*stored, shape);
}
