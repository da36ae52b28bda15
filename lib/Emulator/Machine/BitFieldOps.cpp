//===- BitFieldOps.cpp - Count, find, extract and insert bits -------------===//

#include "IntegerTypes.h"
#include "kvq/Emulator/Machine/Decoder.h"
#include "llvm/ADT/bit.h"
#include "llvm/Support/MathExtras.h"

using namespace kvq::emu;
using ptx::Mod;
using ptx::Opcode;

namespace {

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
  // -2^31 has no negation in 32 bits.
  uint32_t left = llvm::AbsoluteValue(count);
  for (; position >= 0 && position < 32; position += step)
    if ((bits >> position & 1) && --left == 0)
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

} // namespace

static Handler findHandler(const ptx::Instruction &inst) {
  const ptx::Modifiers &mods = inst.mods;
  Type type = mods.type();
  switch (inst.opcode) {
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
  default:
    return nullptr;
  }
}

llvm::Error kvq::emu::decodeBitField(Decoder &decoder,
                                     const ptx::Instruction &inst) {
  Handler handler = findHandler(inst);
  if (!handler)
    return decoder.unsupported(inst);
  unsigned bits = ptx::getBits(inst.mods.type());
  // Positions, lengths and counts have 32 bits whatever the type.
  size_t values = inst.opcode == Opcode::Bfi ? 2 : 1;
  bool counts = inst.opcode == Opcode::Popc || inst.opcode == Opcode::Clz ||
                inst.opcode == Opcode::Bfind;
  llvm::SmallVector<Operand, 4> src;
  for (size_t i = 1; i < inst.operands.size(); ++i)
    src.push_back(decoder.source(inst.operands[i], i <= values ? bits : 32));
  decoder.emit(inst, handler, InstructionClass::Integer,
               decoder.destination(inst.operands[0], counts ? 32 : bits), src);
  return llvm::Error::success();
}
