//===- TensorBox.h - The geometry of a tensor copy --------------*- C++ -*-===//

#ifndef KVQ_EMULATOR_MACHINE_TENSORBOX_H
#define KVQ_EMULATOR_MACHINE_TENSORBOX_H

#include "kvq/Emulator/Machine/TensorMapLayout.h"
#include "llvm/ADT/ArrayRef.h"
#include <array>
#include <optional>
#include <utility>
#include <vector>

namespace kvq::emu {

/// The geometry of one copy: rows of the innermost dimension.
struct Box {
  TensorMap map;
  std::array<int64_t, 5> start{};
  unsigned rank = 1;
  unsigned bits = 8;
  /// Elements that a row has in shared memory, and its bytes there.
  unsigned rowElements = 0, rowBytes = 0;
  /// Bytes of a row as the transaction count takes them.
  unsigned rowPayload = 0;
  std::array<unsigned, 5> counts{};
  uint64_t rows = 1;
  /// Row indices of gather4 and scatter4.
  std::optional<std::array<int64_t, 4>> picked;
};

/// The box of a map whose first element is at `start`, innermost first.
Box makeBox(const TensorMap &map, llvm::ArrayRef<int64_t> start);

/// Calls body(row, global address of element 0 of the tensor's row) for each
/// row of a box; the address is 0 where the row lies outside.
template <typename Body>
void forRows(const Box &box, Body &&body) {
  std::array<unsigned, 5> index{};
  for (uint64_t row = 0; row < box.rows; ++row) {
    uint64_t address = box.map.globalAddress;
    bool inside = true;
    for (unsigned d = 1; d < box.rank; ++d) {
      int64_t at = box.start[d] + int64_t(index[d]) * box.map.elementStrides[d];
      if (box.picked)
        at = (*box.picked)[row];
      inside &= at >= 0 && at < int64_t(box.map.globalDims[d]);
      address += static_cast<uint64_t>(at) * box.map.globalStrides[d - 1];
    }
    body(row, inside ? address : 0);
    for (unsigned d = 1; d < box.rank && ++index[d] == box.counts[d]; ++d)
      index[d] = 0;
  }
}

/// A byte run of a row that lies inside the tensor: element range [first,
/// last) of the row.
std::pair<unsigned, unsigned> insideElements(const Box &box);

/// Eight bytes of what elements outside of the tensor read as.
uint64_t fillPattern(const TensorMap &map);

/// Copies between a row's elements and packed bytes, sub-byte types included.
/// In-range elements are contiguous in both where the stride is one.
struct RowMover {
  const Box &box;
  std::vector<uint8_t> packed;

  explicit RowMover(const Box &box) : box(box), packed(box.rowPayload) {}

  uint64_t globalByte(uint64_t row, unsigned element) const {
    int64_t at = box.start[0] + int64_t(element) * box.map.elementStrides[0];
    return row + static_cast<uint64_t>(at * int64_t(box.bits) / 8);
  }
};

/// The bytes of the shared row: for padded types 16 elements take 16 bytes.
void spread(const Box &box, const std::vector<uint8_t> &packed,
            std::vector<uint8_t> &row);

} // namespace kvq::emu

#endif // KVQ_EMULATOR_MACHINE_TENSORBOX_H
