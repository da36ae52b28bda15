//===- Instruction.h - One decoded PTX instruction --------------*- C++ -*-===//
//
// The in-memory form of an instruction: everything that the text says is an
// enumerator, a dense index or raw bits, so that no run-time work looks at a
// string.
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_EMULATOR_PTX_INSTRUCTION_H
#define KVQ_EMULATOR_PTX_INSTRUCTION_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include <array>
#include <bitset>
#include <cstdint>
#include <optional>

namespace kvq::emu::ptx {

enum class Opcode : uint16_t {
#define KVQ_PTX_OPCODE(enumerator, spelling, operands) enumerator,
#include "kvq/Emulator/PTX/Opcodes.def"
#undef KVQ_PTX_OPCODE
  Invalid
};

enum class Type : uint8_t {
#define KVQ_PTX_TYPE(enumerator, spelling, bits) enumerator,
#include "kvq/Emulator/PTX/Types.def"
#undef KVQ_PTX_TYPE
};

enum class Mod : uint16_t {
#define KVQ_PTX_MODIFIER(enumerator, spelling) enumerator,
#include "kvq/Emulator/PTX/Modifiers.def"
#undef KVQ_PTX_MODIFIER
  Count
};

llvm::StringRef stringify(Opcode opcode);
/// The fewest operands that an instruction has.
unsigned getMinimumOperands(Opcode opcode);
llvm::StringRef stringify(Type type);
llvm::StringRef stringify(Mod modifier);
/// Bits that a value of the type has; 0 for `None`, 1 for predicates.
unsigned getBits(Type type);
/// The size in memory: bits rounded up to whole bytes.
inline unsigned getBytes(Type type) { return (getBits(type) + 7) / 8; }
bool isSignedInteger(Type type);
bool isUnsignedInteger(Type type);
/// `.b8` to `.b128`.
bool isUntyped(Type type);
/// f16, bf16, tf32, f32, f64 and their packed pairs.
bool isFloat(Type type);

enum class Rounding : uint8_t {
  None,
  RN,
  RZ,
  RM,
  RP,
  RNA,
  RNI,
  RZI,
  RMI,
  RPI,
  RS
};

enum class CompareOp : uint8_t {
  None,
  EQ,
  NE,
  LT,
  LE,
  GT,
  GE,
  /// Unsigned forms; `lo`, `ls`, `hi`, `hs` in text.
  LO,
  LS,
  HI,
  HS,
  /// Unordered float forms.
  EQU,
  NEU,
  LTU,
  LEU,
  GTU,
  GEU,
  NUM,
  NAN_
};

enum class Space : uint8_t {
  /// No space in the text: a generic address.
  Generic,
  Global,
  /// `.shared` and `.shared::cta`.
  Shared,
  SharedCluster,
  Local,
  Const,
  /// `.param`; which kind follows from the symbol (`Operand::symbol`).
  Param
};

enum class Order : uint8_t {
  /// Not given; for ld and st this means weak.
  None,
  Weak,
  Relaxed,
  Acquire,
  Release,
  AcqRel,
  SC,
  Volatile,
  MMIO
};

enum class Scope : uint8_t { None, CTA, Cluster, GPU, Sys };

/// The dotted words after the opcode. Words that are common to many
/// instructions are decoded into fields; `list` has every one in text order
/// except types, shapes, vector widths, `L1::`/`L2::` hints.
struct Modifiers {
  /// In text order: `cvt.rn.f16.f32` has {F16, F32}; `mma` has {D, A, B, C} or
  /// {D, A, B, C, scale}.
  llvm::SmallVector<Type, 5> types;
  /// State spaces in text order: destination, source. `cvta.to.global` has
  /// {Global} and the word `To`.
  llvm::SmallVector<Space, 2> spaces;
  llvm::SmallVector<Mod, 6> list;
  std::bitset<static_cast<size_t>(Mod::Count)> words;
  Rounding rounding = Rounding::None;
  CompareOp compare = CompareOp::None;
  Order order = Order::None;
  Scope scope = Scope::None;
  /// 1, or what `.v2`, `.v4`, `.v8` say.
  uint8_t vector = 1;
  /// 0, or N of `.xN` (ldmatrix, stmatrix, tcgen05.ld/st: 1 to 128).
  uint8_t count = 0;
  /// 0, or N of `.Nd`.
  uint8_t dims = 0;
  /// 0, or N of `.cta_group::N`.
  uint8_t ctaGroup = 0;
  bool ftz = false;
  bool sat = false;
  bool satfinite = false;
  bool relu = false;
  bool approx = false;
  /// Set also for `bar.*`, which are aligned by definition.
  bool aligned = false;
  /// `L2::cache_hint`: one more operand (a policy), the last.
  bool cacheHint = false;
  /// Shape `.mMnNkK`; zeros where absent.
  uint16_t m = 0, n = 0, k = 0;

  bool has(Mod word) const { return words.test(static_cast<size_t>(word)); }
  /// The type that operands have; `None` if the instruction names none.
  Type type(unsigned index = 0) const {
    return index < types.size() ? types[index] : Type::None;
  }
  Space space(unsigned index = 0) const {
    return index < spaces.size() ? spaces[index] : Space::Generic;
  }
};

enum class SpecialRegister : uint8_t {
  TidX,
  TidY,
  TidZ,
  NtidX,
  NtidY,
  NtidZ,
  CtaidX,
  CtaidY,
  CtaidZ,
  NctaidX,
  NctaidY,
  NctaidZ,
  LaneId,
  WarpId,
  NwarpId,
  SmId,
  NsmId,
  GridId,
  IsExplicitCluster,
  ClusterIdX,
  ClusterIdY,
  ClusterIdZ,
  NclusterIdX,
  NclusterIdY,
  NclusterIdZ,
  ClusterCtaidX,
  ClusterCtaidY,
  ClusterCtaidZ,
  ClusterNctaidX,
  ClusterNctaidY,
  ClusterNctaidZ,
  ClusterCtarank,
  ClusterNctarank,
  LanemaskEq,
  LanemaskLe,
  LanemaskLt,
  LanemaskGe,
  LanemaskGt,
  Clock,
  ClockHi,
  Clock64,
  GlobalTimer,
  GlobalTimerLo,
  GlobalTimerHi,
  TotalSmemSize,
  AggrSmemSize,
  DynamicSmemSize,
  ReservedSmemOffsetBegin,
  ReservedSmemOffsetEnd,
  ReservedSmemOffsetCap,
  CurrentGraphExec,
  /// `WARP_SZ`.
  WarpSize,
  /// `%pm0`, `%envreg0` and the like: read as zero.
  Zero
};
llvm::StringRef stringify(SpecialRegister reg);

/// What a symbol in an operand stands for; `Operand::index` counts in the list
/// that is named here.
enum class SymbolKind : uint8_t {
  None,
  /// Module::variables: global, const, shared (extern too).
  ModuleVariable,
  /// Function::variables, in `.local` space: a frame slot.
  Local,
  /// Function::variables, in `.param` space: a slot for a call's arguments.
  CallParam,
  /// Function::parameters of the function that the instruction is in.
  Parameter,
  /// Function::results of the function that the instruction is in.
  Result,
  /// Module::functions.
  Function
};

enum class OperandKind : uint8_t {
  /// `index`: register number in the function. `negated` for `!%p`.
  Register,
  /// `bits`: integers as 64-bit two's complement, floats as the bits of the
  /// instruction's type (f32 bits where the type is untyped and narrow).
  Immediate,
  /// A symbol's address as a value (`mov.u64 %rd1, sym+8`): `symbol`, `index`,
  /// `offset`.
  Symbol,
  /// `[base+offset]`. The base is a register (`isRegisterBase`, `index`), a
  /// symbol (`symbol`, `index`) or nothing: then `offset` is the address.
  Address,
  /// `%r1+8` outside of brackets: the value of register `index` plus `offset`.
  Sum,
  /// `[base, {coordinates}]`: as Address, and operands() holds the vector's
  /// elements.
  TensorAddress,
  /// `{a, b, ..}`: operands() has the elements.
  Vector,
  /// `p|q`: operands() has the two.
  Pair,
  /// `special` says which.
  Special,
  /// `_`.
  Sink,
  /// `index`: an instruction of the function (its size at the end).
  Label,
  /// `index`: Function::branchTables.
  BranchTable,
  /// `index`: Module::prototypes.
  Prototype,
  /// `index`: Function::callTargets.
  CallTargets
};

struct Operand {
  OperandKind kind = OperandKind::Sink;
  bool negated = false;
  bool isRegisterBase = false;
  SymbolKind symbol = SymbolKind::None;
  SpecialRegister special = SpecialRegister::Zero;
  /// An immediate that was written as a float.
  bool isFloatLiteral = false;
  uint32_t index = 0;
  /// Elements of Vector, Pair, TensorAddress: `count` of them from `first` in
  /// Function::operandPool.
  uint32_t first = 0;
  uint32_t count = 0;
  union {
    uint64_t bits = 0;
    int64_t offset;
  };

  bool isRegister() const { return kind == OperandKind::Register; }
  bool isImmediate() const { return kind == OperandKind::Immediate; }
  bool isAddress() const {
    return kind == OperandKind::Address || kind == OperandKind::TensorAddress;
  }
};

/// Operands in text order. Behind the last one there are sinks, so that an
/// instruction that lacks an operand is rejected as one with a wrong operand
/// is.
struct OperandList : llvm::SmallVector<Operand, 4> {
  Operand &operator[](size_t index) { return begin()[index]; }
  const Operand &operator[](size_t index) const {
    static const Operand none;
    return index < size() ? begin()[index] : none;
  }
};

/// Operands are in text order. Special cases:
/// * `call`: {Vector results, callee (Symbol Function or Register), Vector
///   arguments, [Prototype or CallTargets]}; results and arguments may be
///   empty; their elements are Symbols (CallParam) or Registers.
/// * `bra`: {Label}; `brx.idx`: {Register, BranchTable}.
/// * `tex` and the like keep what the text has.
struct Instruction {
  Opcode opcode = Opcode::Invalid;
  bool hasGuard = false;
  bool guardNegated = false;
  /// Register of the guard predicate.
  uint32_t guard = 0;
  /// 1-based place in the PTX text.
  uint32_t line = 0;
  uint32_t column = 0;
  Modifiers mods;
  OperandList operands;
  /// The instruction as the text has it, without its guard and semicolon.
  /// Points into the module's buffer.
  llvm::StringRef text;
};

} // namespace kvq::emu::ptx

#endif // KVQ_EMULATOR_PTX_INSTRUCTION_H
