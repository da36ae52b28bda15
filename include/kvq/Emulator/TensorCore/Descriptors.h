//===- Descriptors.h - Instruction and matrix descriptors -----------------===//
//
// The bit fields of tcgen05.mma's instruction descriptor (PTX ISA, tables 42 to
// 44) and of shared-memory matrix descriptors (table 40; wgmma's older one).
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_EMULATOR_TENSORCORE_DESCRIPTORS_H
#define KVQ_EMULATOR_TENSORCORE_DESCRIPTORS_H

#include "kvq/Emulator/Numerics/MatrixMultiply.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/Support/Error.h"

namespace kvq::emu::tc {

using num::MmaType;

/// The .kind of tcgen05.mma.
enum class MmaKind : uint8_t {
  F16,
  TF32,
  F8F6F4,
  I8,
  MXF8F6F4,
  MXF4,
  MXF4NVF4
};

/// "kind::f16" and so on.
const char *kindName(MmaKind kind);

/// True for the kinds that take block scales.
inline bool isBlockScaled(MmaKind kind) { return kind >= MmaKind::MXF8F6F4; }

/// A decoded instruction descriptor. M and N are those of the whole
/// instruction, of both CTAs under cta_group::2.
struct InstructionDescriptor {
  MmaKind kind = MmaKind::F16;
  MmaType a = MmaType::F16, b = MmaType::F16, d = MmaType::F32;
  uint16_t m = 0, n = 0, k = 0;
  bool negateA = false, negateB = false;
  bool transposeA = false, transposeB = false; ///< Set: MN-major in memory.
  bool saturate = false;                       ///< kind::i8 only.
  uint8_t wsMaxShift = 0;                      ///< 0, 8, 16 or 32.
  num::Format scaleFormat = num::Format::UE8M0;
  uint8_t sfaId = 0, sfbId = 0; ///< Scale factor data ids.
};

/// Decodes and checks an instruction descriptor: reserved bits, type codes, and
/// the shapes that the kind has (table 39) under `ctaGroup` (1 or 2) and `ws`.
/// Sparse forms and K = 96 are errors. `scaleVec` (1, 2 or 4, for block-scaled
/// kinds) is the instruction's .scale_vec size: block32 of mxf8f6f4 is 1,
/// block32 of the mxf4 kinds 2, block16 4.
llvm::Expected<InstructionDescriptor>
decodeInstruction(uint32_t bits, MmaKind kind, unsigned ctaGroup, bool ws,
                  unsigned scaleVec = 0);

/// Swizzling modes of matrix descriptors: how bits of a byte address are XORed
/// into lower ones.
enum class Swizzle : uint8_t {
  None,
  B32,
  B64,
  B128,
  B128Atom32, ///< 128 bytes with atoms of 32 bytes.
};

/// A decoded shared-memory matrix descriptor; addresses and offsets in bytes.
struct MatrixDescriptor {
  uint32_t start = 0;
  uint32_t leading = 0; ///< Leading-dimension byte offset.
  uint32_t stride = 0;  ///< Stride-dimension byte offset.
  Swizzle swizzle = Swizzle::None;
};

/// Decodes a descriptor of tcgen05.mma and tcgen05.cp. Wrong constant fields,
/// unknown swizzles, a base offset and the absolute leading-dimension mode (of
/// sm_103a) are errors.
llvm::Expected<MatrixDescriptor> decodeMatrix(uint64_t bits);

/// The same for wgmma (sm_90): a swizzle field of two bits, no constants.
llvm::Expected<MatrixDescriptor> decodeMatrixSm90(uint64_t bits);

/// The columns of B that tcgen05.mma.ws takes as zeros, and by how many columns
/// B is shifted: column n of the product uses column n + shift of memory.
struct ZeroColumns {
  llvm::BitVector zero; ///< One bit for each of the N columns.
  unsigned shift = 0;
};

/// Decodes a zero-column mask descriptor (table 45) for a product of `m` rows
/// (32, 64 or 128) and `n` columns. Runs of (skip span + 1) zeroed columns
/// alternate with runs of (use span + 1) used ones, as the document's examples
/// have it; the names in its table are the other way round. Reserved bits and
/// shifts above what `m` allows are errors.
llvm::Expected<ZeroColumns> decodeZeroColumns(uint64_t bits, unsigned m,
                                              unsigned n);

/// The physical byte address for a linear one: an involution.
uint32_t applySwizzle(Swizzle swizzle, uint32_t address);

} // namespace kvq::emu::tc

#endif // KVQ_EMULATOR_TENSORCORE_DESCRIPTORS_H
