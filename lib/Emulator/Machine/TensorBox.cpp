//===- TensorBox.cpp - The geometry of a tensor copy ----------------------===//

#include "kvq/Emulator/Machine/TensorBox.h"
#include "kvq/Emulator/Machine/BulkCopy.h"
#include <algorithm>
#include <cstring>

using namespace kvq::emu;

uint64_t kvq::emu::swizzleAddress(TensorSwizzle swizzle, uint64_t address) {
  switch (swizzle) {
  case TensorSwizzle::None:
    return address;
  case TensorSwizzle::B32:
    return address ^ (address >> 7 & 1) << 4;
  case TensorSwizzle::B64:
    return address ^ (address >> 7 & 3) << 4;
  case TensorSwizzle::B128:
    return address ^ (address >> 7 & 7) << 4;
  case TensorSwizzle::B128Atom32:
    return address ^ (address >> 7 & 3) << 5;
  }
  return address;
}

Box kvq::emu::makeBox(const TensorMap &map, llvm::ArrayRef<int64_t> start) {
  Box box;
  box.map = map;
  box.rank = static_cast<unsigned>(map.globalDims.size());
  box.bits = tensorElementBits(map.element);
  for (unsigned d = 0; d < box.rank; ++d) {
    box.start[d] = start[d];
    box.counts[d] =
        (map.boxDims[d] + map.elementStrides[d] - 1) / map.elementStrides[d];
    if (d)
      box.rows *= box.counts[d];
  }
  box.rowElements = box.counts[0];
  box.rowPayload = box.rowElements * box.bits / 8;
  bool padded = map.element == TensorElement::B4x16P64 ||
                map.element == TensorElement::B6x16P32;
  box.rowBytes = padded ? box.rowElements : box.rowPayload;
  return box;
}

std::pair<unsigned, unsigned> kvq::emu::insideElements(const Box &box) {
  int64_t size = static_cast<int64_t>(box.map.globalDims[0]);
  int64_t stride = box.map.elementStrides[0];
  int64_t first = box.start[0] >= 0 ? 0 : (-box.start[0] + stride - 1) / stride;
  int64_t last =
      box.start[0] >= size ? 0 : (size - box.start[0] + stride - 1) / stride;
  first = std::min<int64_t>(first, box.rowElements);
  last = std::clamp<int64_t>(last, first, box.rowElements);
  return {static_cast<unsigned>(first), static_cast<unsigned>(last)};
}

uint64_t kvq::emu::fillPattern(const TensorMap &map) {
  if (!map.fillNaN)
    return 0;
  switch (map.element) {
  case TensorElement::F16:
    return 0x7fff7fff7fff7fffull;
  case TensorElement::BF16:
    return 0x7fff7fff7fff7fffull;
  case TensorElement::F64:
    return 0x7fffffffffffffffull;
  case TensorElement::F32:
  case TensorElement::F32Ftz:
  case TensorElement::TF32:
  case TensorElement::TF32Ftz:
    return 0x7fffffff7fffffffull;
  default:
    return 0;
  }
}

void kvq::emu::spread(const Box &box, const std::vector<uint8_t> &packed,
                      std::vector<uint8_t> &row) {
  if (box.rowBytes == box.rowPayload) {
    row = packed;
    return;
  }
  // Padding is undefined: something that is no small number.
  row.assign(box.rowBytes, 0xa5);
  unsigned used = box.bits * 2;
  for (unsigned group = 0; group * 16 < box.rowBytes; ++group)
    memcpy(row.data() + group * 16, packed.data() + group * used, used);
}
