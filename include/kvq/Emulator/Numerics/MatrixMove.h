//===- MatrixMove.h - ldmatrix, stmatrix, movmatrix -----------------------===//

#ifndef KVQ_EMULATOR_NUMERICS_MATRIXMOVE_H
#define KVQ_EMULATOR_NUMERICS_MATRIXMOVE_H

#include "llvm/Support/Error.h"
#include <cstdint>

namespace kvq::emu::num {

/// Shapes of ldmatrix and stmatrix: 8x8 of 16 bits; 16x16 of 8 bits (ldmatrix,
/// transposed); 8x16 of 8 bits from 4 or 6 (ldmatrix); 16x8 of 8 bits
/// (stmatrix, transposed).
enum class MatrixShape : uint8_t { M8N8, M16N16, M8N16, M16N8 };

/// Packing of a row in memory: as it is, 16 6-bit elements in the first 12 of
/// 16 bytes, 16 4-bit elements in the first 8 of 16 bytes. An unpacked element
/// is right-aligned in its byte.
enum class MatrixSource : uint8_t { Plain, B6x16P32, B4x16P64 };

/// One ldmatrix or stmatrix.
struct MatrixMoveSpec {
  MatrixShape shape = MatrixShape::M8N8;
  uint8_t num = 1; ///< 1, 2 or 4.
  bool trans = false;
  MatrixSource source = MatrixSource::Plain;
};

/// Nothing if PTX has the instruction, else what is wrong with it.
llvm::Error checkLdMatrix(const MatrixMoveSpec &spec);
llvm::Error checkStMatrix(const MatrixMoveSpec &spec);

/// Rows that the instruction addresses in shared memory. Lane i gives the
/// address of row i; the addresses of the other lanes are not used. A row is 16
/// bytes for every shape, padding included, and is aligned to that, except
/// M16N8, whose rows (columns of the matrix, transposed) are 16 bytes too.
unsigned matrixRows(const MatrixMoveSpec &spec);
constexpr unsigned matrixRowBytes = 16;

/// Registers per lane.
unsigned matrixRegisters(const MatrixMoveSpec &spec);

/// ldmatrix: `rows` holds matrixRows() rows of 16 bytes; register r of lane t
/// goes to regs[t * matrixRegisters() + r].
void loadMatrix(const MatrixMoveSpec &spec, const uint8_t *rows,
                uint32_t *regs);

/// stmatrix: the inverse.
void storeMatrix(const MatrixMoveSpec &spec, const uint32_t *regs,
                 uint8_t *rows);

/// movmatrix.sync.aligned.m8n8.trans.b16 over the 32 lanes; `out` may be `in`.
void transposeMatrix(const uint32_t *in, uint32_t *out);

} // namespace kvq::emu::num

#endif // KVQ_EMULATOR_NUMERICS_MATRIXMOVE_H
