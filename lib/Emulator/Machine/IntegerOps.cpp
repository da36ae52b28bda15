//===- IntegerOps.cpp - Integer arithmetic --------------------------------===//

#include "IntegerTypes.h"
#include "kvq/Emulator/Machine/Decoder.h"
#include <algorithm>
#include <limits>

using namespace kvq::emu;
using ptx::Mod;
using ptx::Opcode;

namespace {

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

} // namespace

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
  if (mods.has(Mod::Cc))
    return decodeCarry(decoder, inst);
  Handler handler = findHandler(inst);
  if (!handler)
    return decoder.unsupported(inst);
  unsigned bits = ptx::getBits(mods.type());
  llvm::SmallVector<Operand, 4> src;
  for (size_t i = 1; i < inst.operands.size(); ++i) {
    // The addend of a wide product has its width.
    unsigned width = mods.has(Mod::Wide) && i == 3 ? 2 * bits : bits;
    src.push_back(decoder.source(inst.operands[i], width));
  }
  Operand dst = decoder.destination(inst.operands[0],
                                    mods.has(Mod::Wide) ? 2 * bits : bits);
  decoder.emit(inst, handler, InstructionClass::Integer, dst, src);
  return llvm::Error::success();
}
