//===- IntegerTypes.h - Choose an integer handler by type -----------------===//

#ifndef KVQ_LIB_EMULATOR_MACHINE_INTEGERTYPES_H
#define KVQ_LIB_EMULATOR_MACHINE_INTEGERTYPES_H

#include "kvq/Emulator/Machine/Lanes.h"
#include "kvq/Emulator/PTX/Instruction.h"
#include <type_traits>

namespace kvq::emu {

using ptx::Type;

__extension__ typedef __int128 Int128;
__extension__ typedef unsigned __int128 UInt128;

template <typename T>
using Unsigned = std::make_unsigned_t<T>;

/// The type that products of T are exact in.
template <typename T>
using Wide = std::conditional_t<
    sizeof(T) == 8, std::conditional_t<std::is_signed_v<T>, Int128, UInt128>,
    std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>>;

/// The same operation on both halves of a word.
template <uint64_t (*F)(uint64_t, uint64_t)>
uint64_t pair16(uint64_t a, uint64_t b) {
  return F(a & 0xffff, b & 0xffff) | F(a >> 16 & 0xffff, b >> 16 & 0xffff)
                                         << 16;
}

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

} // namespace kvq::emu

#endif // KVQ_LIB_EMULATOR_MACHINE_INTEGERTYPES_H
