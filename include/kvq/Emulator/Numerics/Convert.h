//===- Convert.h - The cvt instruction ------------------------------------===//

#ifndef KVQ_EMULATOR_NUMERICS_CONVERT_H
#define KVQ_EMULATOR_NUMERICS_CONVERT_H

#include "kvq/Emulator/Numerics/Format.h"
#include "llvm/Support/Error.h"

namespace kvq::emu::num {

/// Operand types of cvt. S2F6x2 is the fixed-point pair of PTX 9.1.
enum class CvtType : uint8_t {
  U8,
  S8,
  U16,
  S16,
  U32,
  S32,
  U64,
  S64,
  F16,
  BF16,
  F32,
  F64,
  TF32,
  F16x2,
  BF16x2,
  E4M3x2,
  E5M2x2,
  E2M1x2,
  E2M3x2,
  E3M2x2,
  UE8M0x2,
  S2F6x2,
  E4M3x4,
  E5M2x4,
  E2M1x4,
  E2M3x4,
  E3M2x4,
};

/// Rounding modifiers of cvt: floating (RN, RNA, RZ, RM, RP, RS) and integer.
enum class CvtRound : uint8_t {
  None,
  RN,
  RNA,
  RZ,
  RM,
  RP,
  RS,
  RNI,
  RZI,
  RMI,
  RPI
};

/// One cvt instruction.
struct CvtSpec {
  CvtType dst = CvtType::F32;
  CvtType src = CvtType::F32;
  CvtRound round = CvtRound::None;
  bool ftz = false;
  bool sat = false;
  bool satfinite = false;
  bool relu = false;
  bool scaled = false; ///< .scaled::n2::ue8m0, with S2F6x2 only.
};

/// Executes a cvt. `operands` are the source registers in the order of the
/// text: a; a, b for x2 from f32; a, b, e, f for x4; then rbits (RS) or the
/// scale factors (`scaled`). Integers may have garbage above their width. A
/// signed result is sign-extended to 64 bits, anything else zero-extended.
using CvtFn = uint64_t (*)(const CvtSpec &spec, const uint64_t *operands);

/// Number of source registers that `spec` takes.
unsigned cvtOperands(const CvtSpec &spec);

/// Bits of a type's register: 8 for E2M1x2, 16 for E4M3x2, 32 for F16x2.
unsigned cvtTypeBits(CvtType type);

/// The function for a legal cvt, else an error that says what is wrong.
llvm::Expected<CvtFn> findCvt(const CvtSpec &spec);

} // namespace kvq::emu::num

#endif // KVQ_EMULATOR_NUMERICS_CONVERT_H
