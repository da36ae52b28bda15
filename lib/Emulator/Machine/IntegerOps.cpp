//===- IntegerOps.cpp - Integer arithmetic --------------------------------===//

#include "kvq/Emulator/Machine/Decoder.h"
#include "kvq/Emulator/Machine/Lanes.h"
#include "llvm/ADT/bit.h"
#include "llvm/Support/MathExtras.h"
#include <limits>

using namespace kvq::emu;
using ptx::Mod;
using ptx::Opcode;
using ptx::Type;

__extension__ typedef __int128 Int128;
__extension__ typedef unsigned __int128 UInt128;

namespace {

template <typename T>
using Unsigned = std::make_unsigned_t<T>;

/// The type that products of T are exact in.
template <typename T>
using Wide = std::conditional_t<
    sizeof(T) == 8, std::conditional_t<std::is_signed_v<T>, Int128, UInt128>,
    std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>>;

template <typename T>
struct Add {
  static uint64_t apply(uint64_t a, uint64_t b) {
    return bitsOf(Unsigned<T>(Unsigned<T>(a) + Unsigned<T>(b)));
  }
};
template <typename T>
struct Sub {
  static uint64_t apply(uint64_t a, uint64_t b) {
    return bitsOf(Unsigned<T>(Unsigned<T>(a) - Unsigned<T>(b)));
  }
};
uint64_t saturate32(int64_t value) {
  return bitsOf(static_cast<int32_t>(
      std::clamp<int64_t>(value, std::numeric_limits<int32_t>::min(),
                          std::numeric_limits<int32_t>::max())));
}
uint64_t addSat(uint64_t a, uint64_t b) {
  return saturate32(int64_t(int32_t(a)) + int32_t(b));
}
uint64_t subSat(uint64_t a, uint64_t b) {
  return saturate32(int64_t(int32_t(a)) - int32_t(b));
}
template <typename T>
struct MulLo {
  static uint64_t apply(uint64_t a, uint64_t b) {
    return bitsOf(Unsigned<T>(uint64_t(Unsigned<T>(a)) * Unsigned<T>(b)));
  }
};
template <typename T>
struct MulHi {
  static uint64_t apply(uint64_t a, uint64_t b) {
    return bitsOf(
        Unsigned<T>((Wide<T>(T(a)) * Wide<T>(T(b))) >> (8 * sizeof(T))));
  }
};
/// 16 and 32 bit operands; the result has twice the bits.
template <typename T>
struct MulWide {
  static uint64_t apply(uint64_t a, uint64_t b) {
    uint64_t product = static_cast<uint64_t>(Wide<T>(T(a)) * Wide<T>(T(b)));
    return lowBits(product, 16 * sizeof(T));
  }
};
template <typename T>
struct MadLo {
  static uint64_t apply(uint64_t a, uint64_t b, uint64_t c) {
    return bitsOf(Unsigned<T>(uint64_t(Unsigned<T>(a)) * Unsigned<T>(b) + c));
  }
};
template <typename T>
struct MadHi {
  static uint64_t apply(uint64_t a, uint64_t b, uint64_t c) {
    return bitsOf(Unsigned<T>(MulHi<T>::apply(a, b) + c));
  }
};
template <typename T>
struct MadWide {
  static uint64_t apply(uint64_t a, uint64_t b, uint64_t c) {
    return lowBits(MulWide<T>::apply(a, b) + c, 16 * sizeof(T));
  }
};
uint64_t madHiSat(uint64_t a, uint64_t b, uint64_t c) {
  return saturate32(((int64_t(int32_t(a)) * int32_t(b)) >> 32) + int32_t(c));
}
/// Division by zero gives all ones, and a remainder of the dividend, as the
/// hardware does; PTX leaves both open. The one overflow wraps.
template <typename T>
struct Div {
  static uint64_t apply(uint64_t a, uint64_t b) {
    T x = T(a), y = T(b);
    if (y == 0)
      return bitsOf(Unsigned<T>(~Unsigned<T>(0)));
    if (std::is_signed_v<T> && y == T(-1))
      return bitsOf(Unsigned<T>(0 - Unsigned<T>(x)));
    return bitsOf(T(x / y));
  }
};
template <typename T>
struct Rem {
  static uint64_t apply(uint64_t a, uint64_t b) {
    T x = T(a), y = T(b);
    if (y == 0)
      return bitsOf(x);
    if (std::is_signed_v<T> && y == T(-1))
      return 0;
    return bitsOf(T(x % y));
  }
};
template <typename T>
struct Min {
  static uint64_t apply(uint64_t a, uint64_t b) {
    return bitsOf(std::min(T(a), T(b)));
  }
};
template <typename T>
struct Max {
  static uint64_t apply(uint64_t a, uint64_t b) {
    return bitsOf(std::max(T(a), T(b)));
  }
};
template <typename T>
struct MinRelu {
  static uint64_t apply(uint64_t a, uint64_t b) {
    return bitsOf(std::max(T(0), std::min(T(a), T(b))));
  }
};
template <typename T>
struct MaxRelu {
  static uint64_t apply(uint64_t a, uint64_t b) {
    return bitsOf(std::max(T(0), std::max(T(a), T(b))));
  }
};
template <typename T>
struct Abs {
  static uint64_t apply(uint64_t a) {
    Unsigned<T> x = Unsigned<T>(a);
    return bitsOf(Unsigned<T>(T(a) < 0 ? 0 - x : x));
  }
};
template <typename T>
struct Neg {
  static uint64_t apply(uint64_t a) {
    return bitsOf(Unsigned<T>(0 - Unsigned<T>(a)));
  }
};
template <typename T>
struct Sad {
  static uint64_t apply(uint64_t a, uint64_t b, uint64_t c) {
    Unsigned<T> difference = T(a) < T(b) ? Unsigned<T>(b) - Unsigned<T>(a)
                                         : Unsigned<T>(a) - Unsigned<T>(b);
    return bitsOf(Unsigned<T>(c + difference));
  }
};
/// The same operation on both halves of a word.
template <uint64_t (*F)(uint64_t, uint64_t)>
uint64_t pair16(uint64_t a, uint64_t b) {
  return F(a & 0xffff, b & 0xffff) | F(a >> 16 & 0xffff, b >> 16 & 0xffff)
                                         << 16;
}

template <typename T>
int64_t take24(uint64_t a) {
  return std::is_signed_v<T> ? int64_t(signExtend(a & 0xffffff, 24))
                             : int64_t(a & 0xffffff);
}
template <typename T>
struct Mul24Lo {
  static uint64_t apply(uint64_t a, uint64_t b) {
    return uint64_t(take24<T>(a) * take24<T>(b)) & 0xffffffffu;
  }
};
/// Bits 47..16 of the 48-bit product.
template <typename T>
struct Mul24Hi {
  static uint64_t apply(uint64_t a, uint64_t b) {
    return uint64_t(take24<T>(a) * take24<T>(b)) >> 16 & 0xffffffffu;
  }
};
template <typename T>
struct Mad24Lo {
  static uint64_t apply(uint64_t a, uint64_t b, uint64_t c) {
    return (Mul24Lo<T>::apply(a, b) + c) & 0xffffffffu;
  }
};
template <typename T>
struct Mad24Hi {
  static uint64_t apply(uint64_t a, uint64_t b, uint64_t c) {
    return (Mul24Hi<T>::apply(a, b) + c) & 0xffffffffu;
  }
};
uint64_t mad24HiSat(uint64_t a, uint64_t b, uint64_t c) {
  return saturate32(int64_t(int32_t(Mul24Hi<int32_t>::apply(a, b))) +
                    int32_t(c));
}

uint64_t popc(uint64_t a) { return static_cast<unsigned>(llvm::popcount(a)); }
uint64_t clz32(uint64_t a) {
  return static_cast<unsigned>(llvm::countl_zero(uint32_t(a)));
}
uint64_t clz64(uint64_t a) {
  return static_cast<unsigned>(llvm::countl_zero(a));
}
uint64_t brev32(uint64_t a) { return llvm::reverseBits(uint32_t(a)); }
uint64_t brev64(uint64_t a) { return llvm::reverseBits(a); }

/// Position of the highest bit that differs from the sign (0 if unsigned).
template <typename T, bool shiftAmount>
uint64_t bfind(uint64_t a) {
  Unsigned<T> x = Unsigned<T>(a);
  if (std::is_signed_v<T> && T(a) < 0)
    x = ~x;
  if (!x)
    return 0xffffffffu;
  unsigned top = 8 * sizeof(T) - 1 - llvm::countl_zero(x);
  return shiftAmount ? 8 * sizeof(T) - 1 - top : top;
}

template <typename T>
struct Bfe {
  static uint64_t apply(uint64_t a, uint64_t b, uint64_t c) {
    constexpr unsigned msb = 8 * sizeof(T) - 1;
    unsigned position = b & 0xff, length = c & 0xff;
    Unsigned<T> x = Unsigned<T>(a);
    bool sign = std::is_signed_v<T> && length != 0 &&
                (x >> std::min(position + length - 1, msb) & 1);
    uint64_t result = 0;
    uint64_t field = position > msb ? 0 : uint64_t(x) >> position;
    unsigned available = position > msb ? 0 : msb + 1 - position;
    unsigned kept = std::min(length, available);
    result = lowBits(field, kept);
    if (kept == 0)
      result = 0;
    if (sign && kept <= msb)
      result |= ~uint64_t(0) << kept;
    return lowBits(result, msb + 1);
  }
};

/// bfi d, a, b, c, d: inserts the low bits of a into b.
template <typename T>
void bfiHandler(Warp &warp, const Op &op, LaneMask lanes) {
  uint64_t *d = warp.destination(op.dst());
  const uint64_t *a = warp.values(op.src(0)), *b = warp.values(op.src(1)),
                 *c = warp.values(op.src(2)), *e = warp.values(op.src(3));
  forLanes(lanes, [&](unsigned i) {
    constexpr unsigned width = 8 * sizeof(T);
    unsigned position = c[i] & 0xff, length = e[i] & 0xff;
    if (position >= width || length == 0) {
      d[i] = b[i];
      return;
    }
    length = std::min(length, width - position);
    uint64_t mask = lowBits(~uint64_t(0), length) << position;
    d[i] = (b[i] & ~mask) | ((a[i] << position) & mask);
  });
}

/// Finds the |offset|-th set bit of a mask from a base; see PTX.
uint64_t fns(uint64_t mask, uint64_t base, uint64_t offset) {
  int32_t count = static_cast<int32_t>(offset);
  uint32_t bits = static_cast<uint32_t>(mask);
  int32_t position = static_cast<int32_t>(base);
  if (position < 0 || position > 31)
    return 0xffffffffu;
  if (count == 0)
    return bits >> position & 1 ? base : 0xffffffffu;
  int32_t step = count > 0 ? 1 : -1;
  count = count > 0 ? count : -count;
  for (; position >= 0 && position < 32; position += step)
    if ((bits >> position & 1) && --count == 0)
      return static_cast<uint32_t>(position);
  return 0xffffffffu;
}

template <bool wrap>
uint64_t bmsk(uint64_t a, uint64_t b) {
  uint32_t start = uint32_t(a), width = uint32_t(b);
  if (wrap) {
    start &= 31;
    width &= 31;
  }
  if (start >= 32 || width == 0)
    return 0;
  uint64_t ones = width >= 32 ? 0xffffffffu : (uint64_t(1) << width) - 1;
  return ones << start & 0xffffffffu;
}

template <bool isSigned, bool wrap>
uint64_t szext(uint64_t a, uint64_t b) {
  uint32_t width = uint32_t(b);
  if (wrap)
    width &= 31;
  if (width >= 32)
    return a;
  if (width == 0)
    return 0;
  uint64_t low = lowBits(a, width);
  return (isSigned ? signExtend(low, width) : low) & 0xffffffffu;
}

template <bool aSigned, bool bSigned>
uint64_t dp4a(uint64_t a, uint64_t b, uint64_t c) {
  uint32_t sum = uint32_t(c);
  for (unsigned i = 0; i < 4; ++i) {
    int32_t x = aSigned ? int32_t(int8_t(a >> 8 * i)) : uint8_t(a >> 8 * i);
    int32_t y = bSigned ? int32_t(int8_t(b >> 8 * i)) : uint8_t(b >> 8 * i);
    sum += uint32_t(x * y);
  }
  return sum;
}
template <bool aSigned, bool bSigned, bool high>
uint64_t dp2a(uint64_t a, uint64_t b, uint64_t c) {
  uint32_t sum = uint32_t(c);
  for (unsigned i = 0; i < 2; ++i) {
    int64_t x = aSigned ? int64_t(int16_t(a >> 16 * i)) : uint16_t(a >> 16 * i);
    unsigned at = 8 * (i + (high ? 2 : 0));
    int64_t y = bSigned ? int64_t(int8_t(b >> at)) : uint8_t(b >> at);
    sum += uint32_t(x * y);
  }
  return sum;
}

//===----------------------------------------------------------------------===//
// Carry chains
//===----------------------------------------------------------------------===//

/// d = a + b (+ carry), or a - b (- borrow); sources: a, b, carry in. Op: a bit
/// 0 subtract, bit 1 reads carry; numDst 2 writes carry.
///
/// Subtraction is a + ~b + 1, so that the flag it leaves and takes is set where
/// there is no borrow. This shows when chains mix: nvcc's division of 128-bit
/// integers reads the flag of subc.cc with addc, and takes 1 for no borrow.
template <typename T>
void carryHandler(Warp &warp, const Op &op, LaneMask lanes) {
  uint64_t *d = warp.destination(op.dst());
  const uint64_t *a = warp.values(op.src(0)), *b = warp.values(op.src(1));
  bool subtract = op.a & 1;
  LaneMask in = op.a & 2   ? warp.predicate(op.src(2))
                : subtract ? ~LaneMask(0)
                           : 0;
  LaneMask out = 0;
  forLanes(lanes, [&](unsigned i) {
    UInt128 x = T(a[i]), y = T(subtract ? ~b[i] : b[i]);
    UInt128 sum = x + y + (in >> i & 1);
    d[i] = T(sum);
    out |= LaneMask(uint64_t(sum >> (8 * sizeof(T))) & 1) << i;
  });
  if (op.numDst == 2)
    warp.setPredicate(op.dst(1), lanes, out);
}

/// The product of mad.cc and madc; Op: b 0 lo, 1 hi.
template <typename T>
void madCarryHandler(Warp &warp, const Op &op, LaneMask lanes) {
  uint64_t *d = warp.destination(op.dst());
  const uint64_t *a = warp.values(op.src(0)), *b = warp.values(op.src(1)),
                 *c = warp.values(op.src(2));
  LaneMask in = op.a & 2 ? warp.predicate(op.src(3)) : 0;
  LaneMask out = 0;
  forLanes(lanes, [&](unsigned i) {
    Unsigned<T> product = Unsigned<T>(op.b ? MulHi<T>::apply(a[i], b[i])
                                           : MulLo<T>::apply(a[i], b[i]));
    UInt128 sum = UInt128(product) + Unsigned<T>(c[i]) + UInt128(in >> i & 1);
    d[i] = Unsigned<T>(sum);
    out |= LaneMask(uint64_t(sum >> (8 * sizeof(T))) & 1) << i;
  });
  if (op.numDst == 2)
    warp.setPredicate(op.dst(1), lanes, out);
}

//===----------------------------------------------------------------------===//
// Selection by type
//===----------------------------------------------------------------------===//

/// The types that a form of an instruction has.
template <typename... T>
struct Types {};
using AllTypes = Types<uint16_t, int16_t, uint32_t, int32_t, uint64_t, int64_t>;
using NarrowTypes = Types<uint16_t, int16_t, uint32_t, int32_t>;
using WordTypes = Types<uint32_t, int32_t>;
using LongTypes = Types<uint32_t, int32_t, uint64_t, int64_t>;
using SignedTypes = Types<int16_t, int32_t, int64_t>;

template <typename T>
constexpr Type ptxTypeOf() {
  constexpr bool isSigned = std::is_signed_v<T>;
  return sizeof(T) == 2   ? (isSigned ? Type::S16 : Type::U16)
         : sizeof(T) == 4 ? (isSigned ? Type::S32 : Type::U32)
                          : (isSigned ? Type::S64 : Type::U64);
}

/// What `body` gives for a value of the C++ type that stands for `type`; null
/// if that is none of T. Untyped bits are unsigned.
template <typename... T, typename Body>
Handler forType(Types<T...>, Type type, Body &&body) {
  type = type == Type::B32 ? Type::U32 : type == Type::B64 ? Type::U64 : type;
  Handler result = nullptr;
  ((ptxTypeOf<T>() == type ? void(result = body(T())) : void()), ...);
  return result;
}

template <template <typename> class F, typename Set = AllTypes>
Handler unaryFor(Type type) {
  return forType(Set(), type, [](auto value) -> Handler {
    return unaryLanes<F<decltype(value)>::apply>;
  });
}

template <template <typename> class F, typename Set = AllTypes>
Handler binaryFor(Type type) {
  return forType(Set(), type, [](auto value) -> Handler {
    return binaryLanes<F<decltype(value)>::apply>;
  });
}

/// Forms that two 16-bit values in a word have as well.
template <template <typename> class F>
Handler binaryOrPairFor(Type type) {
  if (type == Type::U16x2)
    return binaryLanes<pair16<F<uint16_t>::apply>>;
  if (type == Type::S16x2)
    return binaryLanes<pair16<F<int16_t>::apply>>;
  return binaryFor<F>(type);
}

template <template <typename> class F, typename Set = AllTypes>
Handler ternaryFor(Type type) {
  return forType(Set(), type, [](auto value) -> Handler {
    return ternaryLanes<F<decltype(value)>::apply>;
  });
}

} // namespace

static llvm::Error decodeCarry(Decoder &decoder, const ptx::Instruction &inst) {
  const ptx::Modifiers &mods = inst.mods;
  bool reads = inst.opcode == Opcode::Addc || inst.opcode == Opcode::Subc ||
               inst.opcode == Opcode::Madc;
  bool mad = inst.opcode == Opcode::Mad || inst.opcode == Opcode::Madc;
  bool subtract = inst.opcode == Opcode::Sub || inst.opcode == Opcode::Subc;
  unsigned bits = ptx::getBits(mods.type());
  unsigned sources = mad ? 3 : 2;
  if ((bits != 32 && bits != 64) || inst.operands.size() != sources + 1)
    return decoder.unsupported(inst);
  llvm::SmallVector<Operand, 4> dst, src;
  for (unsigned i = 1; i <= sources; ++i)
    src.push_back(decoder.source(inst.operands[i], bits));
  Operand carry = decoder.carryFlag();
  if (reads)
    src.push_back(carry);
  dst.push_back(decoder.destination(inst.operands[0], bits));
  if (mods.has(Mod::Cc))
    dst.push_back(carry);
  Handler handler;
  if (mad)
    handler = forType(LongTypes(), mods.type(), [](auto value) -> Handler {
      return madCarryHandler<decltype(value)>;
    });
  else
    handler = bits == 32 ? carryHandler<uint32_t> : carryHandler<uint64_t>;
  if (!handler)
    return decoder.unsupported(inst);
  Op &op = decoder.emit(inst, handler, InstructionClass::Integer, dst, src);
  op.a = static_cast<uint8_t>(subtract | reads << 1);
  op.b = mods.has(Mod::Hi);
  return llvm::Error::success();
}

/// The handler of an instruction, and the bits of its sources where they differ
/// from those of its type.
static Handler findHandler(const ptx::Instruction &inst) {
  const ptx::Modifiers &mods = inst.mods;
  Type type = mods.type();
  switch (inst.opcode) {
  case Opcode::Add:
    if (mods.sat)
      return type == Type::S32 ? binaryLanes<addSat> : nullptr;
    return binaryOrPairFor<Add>(type);
  case Opcode::Sub:
    if (mods.sat)
      return type == Type::S32 ? binaryLanes<subSat> : nullptr;
    return binaryOrPairFor<Sub>(type);
  case Opcode::Mul:
    if (mods.has(Mod::Wide))
      return binaryFor<MulWide, NarrowTypes>(type);
    return mods.has(Mod::Hi) ? binaryFor<MulHi>(type) : binaryFor<MulLo>(type);
  case Opcode::Mad:
    if (mods.has(Mod::Wide))
      return ternaryFor<MadWide, NarrowTypes>(type);
    if (mods.sat)
      return type == Type::S32 && mods.has(Mod::Hi) ? ternaryLanes<madHiSat>
                                                    : nullptr;
    return mods.has(Mod::Hi) ? ternaryFor<MadHi>(type)
                             : ternaryFor<MadLo>(type);
  case Opcode::Div:
    return binaryFor<Div>(type);
  case Opcode::Rem:
    return binaryFor<Rem>(type);
  case Opcode::Min:
    if (mods.relu)
      return type == Type::S32 || type == Type::S16x2
                 ? binaryOrPairFor<MinRelu>(type)
                 : nullptr;
    return binaryOrPairFor<Min>(type);
  case Opcode::Max:
    if (mods.relu)
      return type == Type::S32 || type == Type::S16x2
                 ? binaryOrPairFor<MaxRelu>(type)
                 : nullptr;
    return binaryOrPairFor<Max>(type);
  case Opcode::Abs:
    return unaryFor<Abs, SignedTypes>(type);
  case Opcode::Neg:
    return unaryFor<Neg, SignedTypes>(type);
  case Opcode::Sad:
    return ternaryFor<Sad>(type);
  case Opcode::Mul24:
    return mods.has(Mod::Hi) ? binaryFor<Mul24Hi, WordTypes>(type)
                             : binaryFor<Mul24Lo, WordTypes>(type);
  case Opcode::Mad24:
    if (mods.sat)
      return type == Type::S32 && mods.has(Mod::Hi) ? ternaryLanes<mad24HiSat>
                                                    : nullptr;
    return mods.has(Mod::Hi) ? ternaryFor<Mad24Hi, WordTypes>(type)
                             : ternaryFor<Mad24Lo, WordTypes>(type);
  case Opcode::Popc:
    return unaryLanes<popc>;
  case Opcode::Clz:
    return ptx::getBits(type) == 64 ? unaryLanes<clz64> : unaryLanes<clz32>;
  case Opcode::Brev:
    return ptx::getBits(type) == 64 ? unaryLanes<brev64> : unaryLanes<brev32>;
  case Opcode::Bfind: {
    bool amount = mods.has(Mod::Shiftamt);
    return forType(LongTypes(), type, [&](auto value) -> Handler {
      using T = decltype(value);
      return amount ? unaryLanes<bfind<T, true>> : unaryLanes<bfind<T, false>>;
    });
  }
  case Opcode::Bfe:
    return ternaryFor<Bfe>(type);
  case Opcode::Bfi:
    return ptx::getBits(type) == 64 ? bfiHandler<uint64_t>
                                    : bfiHandler<uint32_t>;
  case Opcode::Fns:
    return ternaryLanes<fns>;
  case Opcode::Bmsk:
    return mods.has(Mod::Wrap) ? binaryLanes<bmsk<true>>
                               : binaryLanes<bmsk<false>>;
  case Opcode::Szext: {
    bool wrap = mods.has(Mod::Wrap);
    if (type == Type::S32)
      return wrap ? binaryLanes<szext<true, true>>
                  : binaryLanes<szext<true, false>>;
    return wrap ? binaryLanes<szext<false, true>>
                : binaryLanes<szext<false, false>>;
  }
  case Opcode::Dp4a: {
    bool a = type == Type::S32, b = mods.type(1) == Type::S32;
    return a ? (b ? ternaryLanes<dp4a<true, true>>
                  : ternaryLanes<dp4a<true, false>>)
             : (b ? ternaryLanes<dp4a<false, true>>
                  : ternaryLanes<dp4a<false, false>>);
  }
  case Opcode::Dp2a: {
    bool a = type == Type::S32, b = mods.type(1) == Type::S32;
    if (mods.has(Mod::Hi))
      return a ? (b ? ternaryLanes<dp2a<true, true, true>>
                    : ternaryLanes<dp2a<true, false, true>>)
               : (b ? ternaryLanes<dp2a<false, true, true>>
                    : ternaryLanes<dp2a<false, false, true>>);
    return a ? (b ? ternaryLanes<dp2a<true, true, false>>
                  : ternaryLanes<dp2a<true, false, false>>)
             : (b ? ternaryLanes<dp2a<false, true, false>>
                  : ternaryLanes<dp2a<false, false, false>>);
  }
  default:
    return nullptr;
  }
}

llvm::Error kvq::emu::decodeInteger(Decoder &decoder,
                                    const ptx::Instruction &inst) {
  const ptx::Modifiers &mods = inst.mods;
  if (mods.has(Mod::Cc) || inst.opcode == Opcode::Addc ||
      inst.opcode == Opcode::Subc || inst.opcode == Opcode::Madc)
    return decodeCarry(decoder, inst);
  Handler handler = findHandler(inst);
  if (!handler || inst.operands.size() < 2)
    return decoder.unsupported(inst);
  unsigned bits = ptx::getBits(mods.type());
  llvm::SmallVector<Operand, 4> src;
  for (size_t i = 1; i < inst.operands.size(); ++i) {
    // The addend of a wide product has its width; counts have 32 bits.
    unsigned width = bits;
    if (mods.has(Mod::Wide) && i == 3)
      width = 2 * bits;
    if ((inst.opcode == Opcode::Bfe || inst.opcode == Opcode::Fns) && i > 1)
      width = 32;
    if (inst.opcode == Opcode::Bfi && i > 2)
      width = 32;
    src.push_back(decoder.source(inst.operands[i], width));
  }
  Operand dst = decoder.destination(inst.operands[0],
                                    mods.has(Mod::Wide) ? 2 * bits : bits);
  decoder.emit(inst, handler, InstructionClass::Integer, dst, src);
  return llvm::Error::success();
}
