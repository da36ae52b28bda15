//===- OperandTile.h - Operands of mma.sync in shared memory --------------===//
//
// Rows of f32 values as 16-bit operands. Where a 16-bit type does not hold a
// value to the accuracy that is wanted, the tile holds terms: the rounded
// value, then the rounded residual, and products are summed over the terms.
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_LIB_CONVERSION_KVQTOGPU_OPERANDTILE_H
#define KVQ_LIB_CONVERSION_KVQTOGPU_OPERANDTILE_H

#include "BlockCodec.h"

namespace kvq::kernel {

/// A matrix of `terms` 16-bit values per element.
class OperandTile {
public:
  /// `columns` is rounded up to whole operands, 16. The tile lies at `offset`
  /// in the block's shared memory.
  OperandTile(KernelBuilder &b, int64_t offset, int64_t rows, int64_t columns,
              mlir::FloatType unit, int64_t terms);

  /// Bytes of shared memory that such a tile takes.
  static int64_t getBytes(int64_t rows, int64_t columns, int64_t terms);

  int64_t getRows() const { return rows; }
  /// A multiple of 16.
  int64_t getColumns() const { return columns; }
  mlir::FloatType getUnit() const { return unit; }
  llvm::ArrayRef<SharedTile> terms() const { return tiles; }

  /// Splits values into terms and stores them side by side from `column` on:
  /// 2, or a multiple of 8 values at a multiple of 8.
  void store(KernelBuilder &b, llvm::ArrayRef<F32> values, I32 row,
             I32 column) const;

  /// Decodes a block, without the global scale, and stores it from `column` on,
  /// a multiple of 8.
  void storeBlock(KernelBuilder &b, KVFormatInterface format,
                  const StoredBlock &block, I32 row, I32 column) const;

  /// The A operand of m16n8k16 with rows 0 to 15 and columns k to k + 15 of a
  /// term: vector<4x2>.
  mlir::Value loadA(KernelBuilder &b, int64_t term, I32 k) const;

  /// Two B operands of m16n8k16, vector<2x2> each. Of a tile whose rows are the
  /// columns n of B: n to n + 7 and n + 8 to n + 15, for k to k + 15.
  std::array<mlir::Value, 2> loadBByColumns(KernelBuilder &b, int64_t term,
                                            I32 n, I32 k) const;
  /// The same of a tile whose rows are the rows k of B.
  std::array<mlir::Value, 2> loadBByRows(KernelBuilder &b, int64_t term, I32 k,
                                         I32 n) const;

private:
  llvm::SmallVector<SharedTile, 2> tiles;
  int64_t rows, columns;
  mlir::FloatType unit;
};

} // namespace kvq::kernel

#endif // KVQ_LIB_CONVERSION_KVQTOGPU_OPERANDTILE_H
