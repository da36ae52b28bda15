//===- TensorMap.cpp - Tensor maps in 128 bytes ---------------------------===//

#include "kvq/Emulator/Machine/TensorMapLayout.h"
#include "llvm/Support/FormatVariadic.h"
#include <cstring>

using namespace kvq::emu;

unsigned kvq::emu::tensorElementBits(TensorElement element) {
  switch (element) {
  case TensorElement::U8:
    return 8;
  case TensorElement::U16:
  case TensorElement::F16:
  case TensorElement::BF16:
    return 16;
  case TensorElement::U64:
  case TensorElement::S64:
  case TensorElement::F64:
    return 64;
  case TensorElement::B4x16:
  case TensorElement::B4x16P64:
    return 4;
  case TensorElement::B6x16P32:
    return 6;
  default:
    return 32;
  }
}

llvm::Error kvq::emu::checkTensorMap(const TensorMap &map) {
  size_t rank = map.globalDims.size();
  auto fail = [](const std::string &message) {
    return llvm::createStringError("tensor map: " + message);
  };
  if (rank < 1 || rank > 5)
    return fail(llvm::formatv("rank {0}; it is 1 to 5", rank));
  if (map.globalStrides.size() != rank - 1 || map.boxDims.size() != rank ||
      map.elementStrides.size() != rank)
    return fail(llvm::formatv(
        "{0} strides, {1} box and {2} element-stride dimensions for rank {3}",
        map.globalStrides.size(), map.boxDims.size(), map.elementStrides.size(),
        rank));
  unsigned bits = tensorElementBits(map.element);
  bool padded = map.element == TensorElement::B4x16P64 ||
                map.element == TensorElement::B6x16P32;
  uint64_t alignment = padded ? 32 : 16;
  if (map.globalAddress % alignment)
    return fail(llvm::formatv("global address {0:x} is not aligned to {1}",
                              map.globalAddress, alignment));
  for (size_t i = 0; i + 1 < rank; ++i)
    if (map.globalStrides[i] % alignment || map.globalStrides[i] >= uint64_t(1)
                                                                        << 40)
      return fail(llvm::formatv("stride {0} of dimension {1}; it is a "
                                "multiple of {2} below 2^40",
                                map.globalStrides[i], i + 1, alignment));
  for (size_t i = 0; i < rank; ++i) {
    if (map.globalDims[i] == 0 || map.globalDims[i] > uint64_t(1) << 32)
      return fail(llvm::formatv("size {0} of dimension {1}; it is 1 to 2^32",
                                map.globalDims[i], i));
    if (map.boxDims[i] == 0 || map.boxDims[i] > 256)
      return fail(llvm::formatv("box size {0} of dimension {1}; it is 1 to 256",
                                map.boxDims[i], i));
    if (map.elementStrides[i] == 0 || map.elementStrides[i] > 8)
      return fail(llvm::formatv("element stride {0} of dimension {1}; it is 1 "
                                "to 8",
                                map.elementStrides[i], i));
  }
  uint64_t inner = uint64_t(map.boxDims[0]) * bits / 8;
  if (padded && map.boxDims[0] != 128)
    return fail(llvm::formatv("box size {0} of a padded type; it is 128",
                              map.boxDims[0]));
  if (!padded && inner % 16)
    return fail(llvm::formatv("the box's inner dimension has {0} bytes; it is "
                              "a multiple of 16",
                              inner));
  uint64_t limit = map.swizzle == TensorSwizzle::B32    ? 32
                   : map.swizzle == TensorSwizzle::B64  ? 64
                   : map.swizzle == TensorSwizzle::None ? ~uint64_t(0)
                                                        : 128;
  if (padded)
    inner = 128;
  if (inner > limit)
    return fail(llvm::formatv("the box's inner dimension has {0} bytes, and "
                              "its swizzle takes up to {1}",
                              inner, limit));
  return llvm::Error::success();
}

namespace {
/// The bytes: this emulator's own layout, with room for five dimensions.
struct Raw {
  uint32_t magic;
  uint8_t element, swizzle, rank, fillNaN;
  uint64_t address;
  uint32_t dims[5];
  uint16_t box[5];
  uint8_t elementStrides[5];
  uint8_t reserved;
  uint64_t strides[4];
};
static_assert(sizeof(Raw) <= 128, "a tensor map has 128 bytes");
constexpr uint32_t magic = 0x4d54716b;
} // namespace

void kvq::emu::writeTensorMap(const TensorMap &map, void *bytes128) {
  Raw raw = {};
  raw.magic = magic;
  raw.element = static_cast<uint8_t>(map.element);
  raw.swizzle = static_cast<uint8_t>(map.swizzle);
  raw.rank = static_cast<uint8_t>(map.globalDims.size());
  raw.fillNaN = map.fillNaN;
  raw.address = map.globalAddress;
  for (size_t i = 0; i < raw.rank; ++i) {
    raw.dims[i] = static_cast<uint32_t>(map.globalDims[i] - 1);
    raw.box[i] = static_cast<uint16_t>(map.boxDims[i]);
    raw.elementStrides[i] = static_cast<uint8_t>(map.elementStrides[i]);
    if (i + 1 < raw.rank)
      raw.strides[i] = map.globalStrides[i];
  }
  memset(bytes128, 0, 128);
  memcpy(bytes128, &raw, sizeof(raw));
}

llvm::Error kvq::emu::encodeTensorMap(const TensorMap &map, void *bytes128) {
  if (llvm::Error error = checkTensorMap(map))
    return error;
  writeTensorMap(map, bytes128);
  return llvm::Error::success();
}

llvm::Expected<TensorMap> kvq::emu::decodeTensorMap(const void *bytes128) {
  Raw raw;
  memcpy(&raw, bytes128, sizeof(raw));
  if (raw.magic != magic || raw.rank < 1 || raw.rank > 5 || raw.element > 15 ||
      raw.swizzle > 4)
    return llvm::createStringError(
        "these 128 bytes are not a tensor map of the emulator");
  TensorMap map;
  map.element = static_cast<TensorElement>(raw.element);
  map.swizzle = static_cast<TensorSwizzle>(raw.swizzle);
  map.fillNaN = raw.fillNaN;
  map.globalAddress = raw.address;
  for (size_t i = 0; i < raw.rank; ++i) {
    map.globalDims.push_back(uint64_t(raw.dims[i]) + 1);
    map.boxDims.push_back(raw.box[i]);
    map.elementStrides.push_back(raw.elementStrides[i]);
    if (i + 1 < raw.rank)
      map.globalStrides.push_back(raw.strides[i]);
  }
  return map;
}

bool kvq::emu::replaceTensorMapField(void *bytes128, TensorMapField field,
                                     unsigned ordinal, uint64_t value) {
  Raw raw;
  memcpy(&raw, bytes128, sizeof(raw));
  if (raw.magic != magic) {
    raw = {};
    raw.magic = magic;
    raw.rank = 1;
  }
  if (ordinal > 4)
    return false;
  bool legal = true;
  switch (field) {
  case TensorMapField::GlobalAddress:
    raw.address = value;
    break;
  case TensorMapField::Rank:
    legal = value <= 4;
    raw.rank = static_cast<uint8_t>(value + 1);
    break;
  case TensorMapField::BoxDim:
    legal = value >= 1 && value <= 256;
    raw.box[ordinal] = static_cast<uint16_t>(value);
    break;
  case TensorMapField::GlobalDim:
    raw.dims[ordinal] = static_cast<uint32_t>(value - 1);
    break;
  case TensorMapField::GlobalStride:
    legal = ordinal < 4 && value % 16 == 0;
    if (ordinal < 4)
      raw.strides[ordinal] = value;
    break;
  case TensorMapField::ElementStride:
    legal = value >= 1 && value <= 8;
    raw.elementStrides[ordinal] = static_cast<uint8_t>(value);
    break;
  case TensorMapField::Elemtype:
    legal = value <= 15;
    raw.element = static_cast<uint8_t>(value);
    break;
  case TensorMapField::InterleaveLayout:
    legal = value == 0;
    break;
  case TensorMapField::SwizzleMode:
    legal = value <= 3;
    raw.swizzle = static_cast<uint8_t>(value);
    break;
  case TensorMapField::SwizzleAtomicity:
    legal = value <= 1;
    if (value == 1 && raw.swizzle == uint8_t(TensorSwizzle::B128))
      raw.swizzle = static_cast<uint8_t>(TensorSwizzle::B128Atom32);
    break;
  case TensorMapField::FillMode:
    legal = value <= 1;
    raw.fillNaN = static_cast<uint8_t>(value);
    break;
  }
  if (legal)
    memcpy(bytes128, &raw, sizeof(raw));
  return legal;
}
