//===- TensorProduct.h - One tcgen05.mma under way --------------*- C++ -*-===//

#ifndef KVQ_EMULATOR_MACHINE_TENSORPRODUCT_H
#define KVQ_EMULATOR_MACHINE_TENSORPRODUCT_H

#include "kvq/Emulator/Machine/BulkCopy.h"
#include "kvq/Emulator/TensorCore/TensorMemory.h"
#include <bitset>

namespace kvq::emu {

/// The operands of a tcgen05.mma.
struct TensorProductExtra : OpExtra {
  tc::MmaKind kind = tc::MmaKind::F16;
  unsigned ctaGroup = 1, scaleVec = 0, inputShift = 0;
  bool ws = false, aInTensor = false;
  /// .ashift: row i of A is row i - 1 of the matrix, and row 0 stays.
  bool shiftA = false;
  ExtraAddress d, a, sfa, sfb;
  Operand aDescriptor, bDescriptor, instruction, enable, zeroColumns;
  llvm::SmallVector<Operand, 8> mask;
};

/// Cells of tensor memory as runs of columns of 16 lanes each.
struct TensorFootprint {
  std::array<std::array<std::bitset<tc::tmemColumns>, 8>, 2> cells;

  void add(unsigned cta, unsigned lane, unsigned column) {
    if (lane < tc::tmemLanes && column < tc::tmemColumns)
      cells[cta][lane / 16].set(column);
  }
};

/// One tcgen05.mma with the values that its thread gave.
struct TensorProduct {
  Warp *warp;
  const Op *op;
  unsigned lane;
  const TensorProductExtra *extra;
  tc::InstructionDescriptor instruction;
  uint32_t d = 0, a = 0, sfa = 0, sfb = 0;
  tc::MatrixDescriptor aMatrix, bMatrix;
  /// Columns of B that count as zero, and by how many columns B is shifted;
  /// empty without a mask.
  tc::ZeroColumns zero;
  bool accumulate = false;
  std::array<uint32_t, 8> mask{};
  Stamp stamp;

  void perform() const;
  /// Tells the race check what the product will read and write.
  void noteAccesses() const;

private:
  /// The CTA of the group with this index.
  Cta &cta(unsigned index) const {
    Cta &own = warp->cta;
    return extra->ctaGroup == 1 ? own
                                : *own.cluster.ctas[(own.rank & ~1u) + index];
  }
  /// Checks the cells, and forgets them.
  void report(TensorFootprint &cells, bool write, TensorRole role) const;
  bool fail(FindingKind kind, uint64_t address, const std::string &text) const {
    warp->report(kind, *op, lane, address, text, true);
    return false;
  }
  bool readShared(const tc::MatrixDescriptor &matrix, bool mnMajor,
                  tc::MmaType type, unsigned rows, unsigned ctaIndex,
                  double *out, unsigned rowStride, unsigned kStride) const;
  bool readTensor(Cta &from, unsigned lane, unsigned column,
                  uint32_t &word) const;
  bool readA(double *out) const;
  bool readScales(bool isA, std::vector<double> &scales) const;
};

/// Tells the race check of the cells that a tcgen05.cp fills.
void noteTensorCopy(Warp &warp, const Op &op, unsigned lane, Cta &cta,
                    tc::TmemCell base, tc::CopyShape shape, Stamp stamp);

} // namespace kvq::emu

#endif // KVQ_EMULATOR_MACHINE_TENSORPRODUCT_H
