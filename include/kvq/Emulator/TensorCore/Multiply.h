//===- Multiply.h - The arithmetic of one tcgen05.mma ---------------------===//
//
// D = A * B + D on decoded operands, by the contract of
// Numerics/MatrixMultiply.h.
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_EMULATOR_TENSORCORE_MULTIPLY_H
#define KVQ_EMULATOR_TENSORCORE_MULTIPLY_H

#include "kvq/Emulator/TensorCore/Descriptors.h"

namespace kvq::emu::tc {

/// The value of a 32-bit cell of D. An f16 D is in the low half.
double decodeAccumulator(MmaType d, uint32_t cell);

/// The cell for a sum: rounded to nearest even for f32 and f16 (upper half
/// zero), wrapped or, with `saturate`, clamped for s32.
uint32_t encodeAccumulator(MmaType d, double sum, bool saturate);

/// Multiplies row or column `line` scales into an operand: element k of line l
/// (at values[l * lineStride + k * kStride]) by scales[l * scaleVec + chunk],
/// where the K elements make `scaleVec` chunks. Exact.
void applyScales(double *values, unsigned lines, unsigned k,
                 unsigned lineStride, unsigned kStride, const double *scales,
                 unsigned scaleVec);

/// acc[m][n] = A * B + (accumulate ? acc * 2^-inputShift : 0), for `rows` rows
/// and `columns` columns (of this CTA), K from the descriptor: a is [rows][K],
/// b is [K][columns], acc is [rows][columns]. Negates operands as the
/// descriptor says. Encode the sums afterwards.
void multiply(const InstructionDescriptor &instruction, unsigned rows,
              unsigned columns, double *a, const double *b, double *acc,
              bool accumulate, unsigned inputShift = 0);

/// The same for cells side by side.
void decodeAccumulators(MmaType d, const uint32_t *cells, unsigned count,
                        double *sums);
void encodeAccumulators(MmaType d, const double *sums, unsigned count,
                        bool saturate, uint32_t *cells);

} // namespace kvq::emu::tc

#endif // KVQ_EMULATOR_TENSORCORE_MULTIPLY_H
