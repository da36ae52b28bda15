//===- MatrixMultiply.h - The tensor-core contract and mma.sync -----------===//
//
// What a tensor-core instruction computes here, for every kind and every
// instruction family (mma.sync, wgmma, tcgen05.mma):
//
//   Floating point (f16, bf16, tf32, fp8, fp6, fp4, block-scaled too): the
//   product of two elements, times its two block scales, is exact. The
//   products are added one after another in increasing k to the accumulator,
//   which is a binary64 from the first addition of the instruction to the last.
//   The sum is then rounded once, to nearest even, to the type of D. So the
//   result is exact whenever every partial sum fits 53 bits, whatever the
//   order, and subnormal inputs count. NaN results are canonical.
//
//   f64: a chain of fma in the rounding mode of the instruction, increasing k.
//
//   Integer: exact sum of the products and the accumulator, then wrapped to 32
//   bits, or clamped with satfinite.
//
// PTX leaves order, rounding and subnormals of the floating kinds open, and
// hardware differs from this: it aligns several products to the largest
// exponent, cuts the bits below (more or fewer by generation), and rounds
// toward zero. Compare on exactly representable data, or with a tolerance.
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_EMULATOR_NUMERICS_MATRIXMULTIPLY_H
#define KVQ_EMULATOR_NUMERICS_MATRIXMULTIPLY_H

#include "kvq/Emulator/Numerics/Format.h"
#include "llvm/Support/Error.h"

namespace kvq::emu::num {

/// Element types of A, B, C and D.
enum class MmaType : uint8_t {
  F64,
  F32,
  TF32,
  F16,
  BF16,
  E4M3,
  E5M2,
  E2M3,
  E3M2,
  E2M1,
  S32,
  S8,
  U8,
  S4,
  U4,
  B1,
};

/// acc[m * ldAcc + n] += sum over k of a[m * K + k] * b[k * ldB + n], in the
/// order and precision above. Doubles hold decoded elements, scales included.
/// Needs a HostFPScope, or the default host floating-point state.
void multiplyAccumulate(double *acc, unsigned ldAcc, const double *a,
                        const double *b, unsigned ldB, unsigned M, unsigned N,
                        unsigned K);

/// The same on integers modulo 2^32 (two's complement): for operands of at most
/// 8 bits and K below 2^15 a sum that starts at zero is exact.
void multiplyIntegers(uint32_t *acc, unsigned ldAcc, const uint32_t *a,
                      const uint32_t *b, unsigned ldB, unsigned M, unsigned N,
                      unsigned K);

/// The final rounding of the contract: RN to f32 or f16, NaN canonical.
uint32_t roundAccumulatorF32(double value);
void roundAccumulatorsF32(const double *values, unsigned count, uint32_t *out);
uint16_t roundAccumulatorF16(double value);

/// Decodes `count` elements that are `bits` apart (4, 8, 16 or 32), packed from
/// the low bits of `data` on; 6-bit elements sit in bytes, whose upper two bits
/// are ignored. Exact.
void decodeElements(Format format, const void *data, unsigned bits,
                    unsigned count, double *out);

/// One mma.sync or wmma.mma instruction.
struct MmaSpec {
  uint16_t m = 16, n = 8, k = 16;
  MmaType a = MmaType::F16, b = MmaType::F16;
  MmaType c = MmaType::F32, d = MmaType::F32;
  /// Layouts; only m8n8k4 of f16 may differ from A row, B column.
  bool aCol = false, bRow = false;
  bool satfinite = false;
  Round round = Round::RN; ///< f64 only.
  bool bitAnd = false;     ///< b1: .and.popc instead of .xor.popc.
  /// kind::f8f6f4 and kind::mxf8f6f4: elements of 4 and 6 bits in bytes, E2M1
  /// in bits [5:2]. False for kind::mxf4 and mxf4nvf4, which pack E2M1 densely.
  bool byteContainers = false;
  /// Block scaling: scales per row along K (1, 2, 4), 0 if there is none, and
  /// their format (UE8M0 or UE4M3).
  uint8_t scaleVec = 0;
  Format scaleFormat = Format::UE8M0;
  /// wmma.mma. Its matrices have no layout: `aCol` and `bRow` are for mma.sync.
  bool wmma = false;
};

/// Nothing if PTX has the instruction, else what is wrong with it.
llvm::Error checkMma(const MmaSpec &spec);

/// Operands of mma.sync.
enum class MmaOperand : uint8_t { A, B, C, D };

/// 32-bit registers that each lane holds of an operand (f64 counts as two, the
/// low word first).
unsigned mmaRegisters(const MmaSpec &spec, MmaOperand operand);

/// Where element `index` (PTX's a_i, b_i, c_i) of a lane's fragment lies in its
/// matrix: A is m x k, B is k x n, C and D are m x n. PTX leaves this open for
/// wmma, where several lanes may hold an element.
struct MatrixCoord {
  uint16_t row, col;
};
MatrixCoord mmaCoord(const MmaSpec &spec, MmaOperand operand, unsigned lane,
                     unsigned index);

/// Block scales of mma.sync as its operands give them.
struct MmaScales {
  const uint32_t *aData = nullptr; ///< 32 lanes' scale-a-data.
  const uint32_t *bData = nullptr;
  uint8_t aByte = 0, aThread = 0; ///< {byte-id-a, thread-id-a}
  uint8_t bByte = 0, bThread = 0;
};

/// Executes a legal instruction for a whole warp. Registers are laid out
/// [lane][register]: word r of lane t at index t * mmaRegisters(...) + r. `d`
/// may be `c`. `scales` is used with scaleVec only.
void executeMma(const MmaSpec &spec, const uint32_t *a, const uint32_t *b,
                const uint32_t *c, uint32_t *d,
                const MmaScales *scales = nullptr);

} // namespace kvq::emu::num

#endif // KVQ_EMULATOR_NUMERICS_MATRIXMULTIPLY_H
