//===- TensorMaps.cpp - Descriptors of tensor copies ----------------------===//

#include "Runtime.h"
#include "llvm/ADT/ArrayRef.h"
#include <cstring>

using namespace kvq::emu;

namespace {
struct ElementType {
  TensorElement element;
  /// Bytes of an element; 0 for the packed types, which a memref cannot hold.
  unsigned bytes;
};
} // namespace

/// By the numbers of the CUDA driver's CUtensorMapDataType.
static constexpr ElementType elementTypes[] = {
    {TensorElement::U8, 1},       {TensorElement::U16, 2},
    {TensorElement::U32, 4},      {TensorElement::S32, 4},
    {TensorElement::U64, 8},      {TensorElement::S64, 8},
    {TensorElement::F16, 2},      {TensorElement::F32, 4},
    {TensorElement::F64, 8},      {TensorElement::BF16, 2},
    {TensorElement::F32Ftz, 4},   {TensorElement::TF32, 4},
    {TensorElement::TF32Ftz, 4},  {TensorElement::B4x16, 0},
    {TensorElement::B4x16P64, 0}, {TensorElement::B6x16P32, 0}};

static ElementType getElementType(const char *function, uint32_t number) {
  if (number >= std::size(elementTypes))
    failCall(function, "unknown element type " + llvm::Twine(number));
  return elementTypes[number];
}

/// Fills in what both functions take in the driver's numbers, and encodes.
static void encode(const char *function, TensorMap &map, uint32_t interleave,
                   uint32_t swizzle, uint32_t fill, void *bytes) {
  if (interleave != 0)
    failCall(function, "interleaved tensor maps are not supported");
  if (swizzle > 4)
    failCall(function, "unknown swizzle " + llvm::Twine(swizzle));
  map.swizzle = static_cast<TensorSwizzle>(swizzle);
  map.fillNaN = fill != 0;
  checkCall(function, encodeTensorMap(map, bytes));
}

extern "C" {

void mgpuTensorMapEncodeTiled(void *tensorMap, uint32_t type, uint32_t rank,
                              void *address, const uint64_t *globalDims,
                              const uint64_t *globalStrides,
                              const uint32_t *boxDims,
                              const uint32_t *elementStrides,
                              uint32_t interleave, uint32_t swizzle,
                              uint32_t l2Promotion, uint32_t fill) {
  constexpr const char *name = "mgpuTensorMapEncodeTiled";
  if (rank < 1 || rank > 5)
    failCall(name, "a tensor map has rank 1 to 5, not " + llvm::Twine(rank));
  TensorMap map;
  map.element = getElementType(name, type).element;
  map.globalAddress = reinterpret_cast<uintptr_t>(address);
  map.globalDims.assign(globalDims, globalDims + rank);
  map.globalStrides.assign(globalStrides, globalStrides + rank - 1);
  map.boxDims.assign(boxDims, boxDims + rank);
  map.elementStrides.assign(elementStrides, elementStrides + rank);
  encode(name, map, interleave, swizzle, fill, tensorMap);
}

/// Returns the address of a tensor map in device memory for a memref, whose
/// last dimension becomes the map's first.
void *mgpuTensorMapEncodeTiledMemref(int64_t rank, void *rankedDescriptor,
                                     uint32_t type, uint32_t interleave,
                                     uint32_t swizzle, uint32_t l2Promotion,
                                     uint32_t fill, int64_t *boxDims) {
  constexpr const char *name = "mgpuTensorMapEncodeTiledMemref";
  if (rank < 1 || rank > 5)
    failCall(name, "a tensor map has rank 1 to 5, not " + llvm::Twine(rank));
  ElementType element = getElementType(name, type);
  if (element.bytes == 0)
    failCall(name, "a memref cannot hold packed elements");
  auto *descriptor = static_cast<MemRefDescriptor *>(rankedDescriptor);
  llvm::ArrayRef<int64_t> sizes(descriptor->sizesAndStrides, rank);
  llvm::ArrayRef<int64_t> strides(descriptor->sizesAndStrides + rank, rank);
  TensorMap map;
  map.element = element.element;
  map.globalAddress = reinterpret_cast<uintptr_t>(descriptor->aligned) +
                      descriptor->offset * element.bytes;
  for (int64_t i = rank - 1; i >= 0; --i) {
    map.globalDims.push_back(sizes[i]);
    map.boxDims.push_back(boxDims[i]);
    map.elementStrides.push_back(1);
    if (i < rank - 1)
      map.globalStrides.push_back(strides[i] * element.bytes);
  }
  uint8_t bytes[128];
  encode(name, map, interleave, swizzle, fill, bytes);
  Runtime &runtime = Runtime::get();
  std::lock_guard<std::mutex> lock(runtime.mutex);
  llvm::Expected<uint64_t> address =
      runtime.device->allocate(sizeof(bytes), "tensor map");
  if (!address)
    failCall(name, toString(address.takeError()));
  checkCall(name, runtime.device->copyToDevice(*address, bytes, sizeof(bytes)));
  return reinterpret_cast<void *>(static_cast<uintptr_t>(*address));
}

} // extern "C"
