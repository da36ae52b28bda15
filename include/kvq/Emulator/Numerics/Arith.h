//===- Arith.h - Scalar and packed floating-point instructions ------------===//
//
// The floating-point instructions of PTX on register values. A value is the
// bits of its type in the low bits of a uint64_t; packed types hold element 0
// in the lowest bits. Results have zeros above the type's width.
//
// NaN results: f32 0x7fffffff, f16 and bf16 0x7fff. PTX says that f64 carries
// payloads and does not say which: here the first NaN operand, made quiet, or
// 0x7ff8000000000000 where no operand is a NaN.
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_EMULATOR_NUMERICS_ARITH_H
#define KVQ_EMULATOR_NUMERICS_ARITH_H

#include "kvq/Emulator/Numerics/Format.h"

namespace kvq::emu::num {

/// Operand type of a floating-point instruction.
enum class FType : uint8_t { F16, F16x2, BF16, BF16x2, F32, F32x2, F64 };

/// Floating-point instructions. `Approx` forms are the .approx of PTX; the
/// plain ones are IEEE with FpMode::round. RcpApproxFtz and RsqrtApproxFtz are
/// the .approx.ftz.f64 forms.
enum class FOp : uint8_t {
  // One operand.
  Neg,
  Abs,
  Rcp,
  RcpApprox,
  RcpApproxFtz,
  Sqrt,
  SqrtApprox,
  RsqrtApprox,
  RsqrtApproxFtz,
  Sin,
  Cos,
  Lg2,
  Ex2,
  Tanh,
  // Two operands.
  Add,
  Sub,
  Mul,
  Div,
  DivFull,
  DivApprox,
  Min,
  Max,
  CopySign, ///< Sign of the first operand, magnitude of the second.
  // Three operands.
  Fma, ///< fma and the floating-point mad.
  Min3,
  Max3,
};

/// Makes approximate functions wrong by a hash of (seed, operation, operands)
/// within the error that PTX documents for them, so that a kernel that needs
/// more accuracy than is promised shows. The same inputs give the same error.
struct Perturbation {
  uint64_t seed = 0;
};

/// Modifiers of an instruction.
struct FpMode {
  Round round = Round::RN;
  bool ftz = false;     ///< Subnormal f32/f16 inputs and results are zero.
  bool sat = false;     ///< Result clamped to [0, 1], NaN to +0.
  bool relu = false;    ///< fma.relu: negative results +0, NaN canonical.
  bool oob = false;     ///< fma.oob: 0 if an operand is 0xFFFF (OOB NaN).
  bool nan = false;     ///< min/max.NaN: NaN if an operand is NaN.
  bool abs = false;     ///< min/max.abs
  bool xorsign = false; ///< min/max.xorsign.abs
  const Perturbation *perturb = nullptr;
};

using UnaryFn = uint64_t (*)(uint64_t a, const FpMode &mode);
using BinaryFn = uint64_t (*)(uint64_t a, uint64_t b, const FpMode &mode);
using TernaryFn = uint64_t (*)(uint64_t a, uint64_t b, uint64_t c,
                               const FpMode &mode);

/// The function that executes `op` on `type`, or null where PTX has no such
/// instruction. Look it up once per instruction, with the mode that will be
/// passed to it: the answer may be specialized for the mode.
UnaryFn findUnary(FOp op, FType type, const FpMode &mode);
BinaryFn findBinary(FOp op, FType type, const FpMode &mode);
TernaryFn findTernary(FOp op, FType type, const FpMode &mode);

/// Mixed precision: `add/sub{.rnd}{.sat}.f32.{f16,bf16} d, a, c` and
/// `fma.rnd{.sat}.f32.{f16,bf16} d, a, b, c`; a and b have format `narrow`
/// (F16 or BF16), c and the result are f32.
uint64_t addMixed(Format narrow, uint64_t a, uint64_t c, const FpMode &mode);
uint64_t subMixed(Format narrow, uint64_t a, uint64_t c, const FpMode &mode);
uint64_t fmaMixed(Format narrow, uint64_t a, uint64_t b, uint64_t c,
                  const FpMode &mode);

/// The most used instructions, callable by name: round to nearest even, no
/// modifiers.
uint32_t addF32(uint32_t a, uint32_t b);
uint32_t mulF32(uint32_t a, uint32_t b);
uint32_t fmaF32(uint32_t a, uint32_t b, uint32_t c);

/// Comparison operators of set and setp. The `U` forms are true if an operand
/// is NaN; Num is "neither is NaN", Nan "one is".
enum class FCmp : uint8_t {
  EQ,
  NE,
  LT,
  LE,
  GT,
  GE,
  EQU,
  NEU,
  LTU,
  LEU,
  GTU,
  GEU,
  Num,
  Nan,
};

/// Compares scalars of F16, BF16, F32 or F64 (not packed types: compare the
/// halves). With `ftz`, subnormal operands count as zero.
bool compare(FCmp op, FType type, uint64_t a, uint64_t b, bool ftz = false);

/// testp, on F32 and F64.
enum class FTest : uint8_t {
  Finite,
  Infinite,
  Number,
  NotANumber,
  Normal,
  Subnormal,
};
bool testp(FTest op, FType type, uint64_t a);

/// While one is alive, this thread's host floating point has round to nearest,
/// no FTZ, no DAZ and no traps. The functions above need none and give the same
/// bits without it; they are faster with it when the surrounding process
/// changed the flags. Nest freely. On hosts other than x86-64 it does nothing:
/// scalar functions are soft there, matrix products take the state as it is.
class HostFPScope {
public:
  HostFPScope();
  ~HostFPScope();
  HostFPScope(const HostFPScope &) = delete;
  HostFPScope &operator=(const HostFPScope &) = delete;

private:
  uint32_t saved;
};

} // namespace kvq::emu::num

#endif // KVQ_EMULATOR_NUMERICS_ARITH_H
