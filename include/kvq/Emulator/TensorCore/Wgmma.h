//===- Wgmma.h - Fragments and arithmetic of wgmma.mma_async --------------===//
//
// sm_90a's warpgroup products: D (64 x N) in registers of 128 threads, A in
// registers or shared memory, B in shared memory (decodeMatrixSm90() and
// readOperand()). Of single bits the
// products are counted where both are set. Sparse forms are not described.
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_EMULATOR_TENSORCORE_WGMMA_H
#define KVQ_EMULATOR_TENSORCORE_WGMMA_H

#include "kvq/Emulator/Numerics/MatrixMultiply.h"
#include "llvm/Support/Error.h"

namespace kvq::emu::tc {

constexpr unsigned wgmmaRows = 64;
constexpr unsigned warpgroupThreads = 128;

/// One wgmma.mma_async, m64nNkK.
struct WgmmaSpec {
  num::MmaType a = num::MmaType::F16, b = num::MmaType::F16;
  num::MmaType d = num::MmaType::F32;
  uint16_t n = 8, k = 16;
  bool negateA = false, negateB = false;       ///< imm-scale is -1.
  bool transposeA = false, transposeB = false; ///< imm-trans: MN-major.
  bool satfinite = false;
};

/// Nothing if PTX has the instruction, else what is wrong with it.
llvm::Error checkWgmma(const WgmmaSpec &spec);

/// 32-bit registers of D, and of A in registers, per thread.
unsigned wgmmaRegistersD(const WgmmaSpec &spec);
unsigned wgmmaRegistersA(const WgmmaSpec &spec);

/// Where element `index` of a thread's D (or of A in registers) lies; `thread`
/// counts in the warpgroup.
num::MatrixCoord wgmmaCoordD(const WgmmaSpec &spec, unsigned thread,
                             unsigned index);
num::MatrixCoord wgmmaCoordA(const WgmmaSpec &spec, unsigned thread,
                             unsigned index);

/// Decodes A from registers, [thread][register], to a[64][K].
void decodeWgmmaA(const WgmmaSpec &spec, const uint32_t *registers, double *a);

/// D = A * B + (accumulate ? D : 0) by the contract of MatrixMultiply.h. a is
/// [64][K] and is changed by negation, b is [K][N], `registers` of D are
/// [thread][register], read and written.
void executeWgmma(const WgmmaSpec &spec, double *a, const double *b,
                  bool accumulate, uint32_t *registers);

} // namespace kvq::emu::tc

#endif // KVQ_EMULATOR_TENSORCORE_WGMMA_H
