//===- LogicOps.cpp - Bitwise logic, shifts and permutations --------------===//

#include "kvq/Emulator/Machine/Decoder.h"
#include "kvq/Emulator/Machine/Lanes.h"

using namespace kvq::emu;
using ptx::Mod;
using ptx::Opcode;
using ptx::Type;

static uint64_t bitAnd(uint64_t a, uint64_t b) { return a & b; }
static uint64_t bitOr(uint64_t a, uint64_t b) { return a | b; }
static uint64_t bitXor(uint64_t a, uint64_t b) { return a ^ b; }

template <typename T>
static uint64_t bitNot(uint64_t a) {
  return T(~a);
}
template <typename T>
static uint64_t logicNot(uint64_t a) {
  return T(a) == 0;
}
/// Shift amounts have 32 bits and are clamped to the width.
template <typename T>
static uint64_t shl(uint64_t a, uint64_t b) {
  uint32_t amount = uint32_t(b);
  return amount >= 8 * sizeof(T) ? 0 : T(a << amount);
}
template <typename T>
static uint64_t shr(uint64_t a, uint64_t b) {
  uint32_t amount = std::min<uint32_t>(uint32_t(b), 8 * sizeof(T));
  if (amount == 8 * sizeof(T))
    return std::is_signed_v<T> && T(a) < 0
               ? bitsOf(std::make_unsigned_t<T>(~std::make_unsigned_t<T>(0)))
               : 0;
  return bitsOf(T(T(a) >> amount));
}

/// shf d, a, b, c: the 64 bits {b, a} shifted; left gives the high word.
template <bool left, bool wrap>
static uint64_t shf(uint64_t a, uint64_t b, uint64_t c) {
  uint32_t amount = uint32_t(c);
  amount = wrap ? amount & 31 : std::min(amount, 32u);
  uint64_t both = b << 32 | (a & 0xffffffffu);
  return left ? uint32_t((amount == 0 ? both : both << amount) >> 32)
              : uint32_t(both >> amount);
}

static uint64_t lop3(const Op &op, uint64_t a, uint64_t b, uint64_t c) {
  uint32_t result = 0, x = uint32_t(a), y = uint32_t(b), z = uint32_t(c);
  unsigned table = op.a;
  // One minterm per set bit of the table: bit 4 of the index is a, bit 1 c.
  for (unsigned i = 0; i < 8; ++i)
    if (table >> i & 1)
      result |= (i & 4 ? x : ~x) & (i & 2 ? y : ~y) & (i & 1 ? z : ~z);
  return result;
}

/// lop3 with a predicate: p = (d != 0) BoolOp q.
static void lop3Predicate(Warp &warp, const Op &op, LaneMask lanes) {
  uint64_t *d = warp.destination(op.dst());
  const uint64_t *a = warp.values(op.src(0)), *b = warp.values(op.src(1)),
                 *c = warp.values(op.src(2));
  LaneMask nonZero = 0;
  forLanes(lanes, [&](unsigned i) {
    d[i] = lop3(op, a[i], b[i], c[i]);
    nonZero |= LaneMask(d[i] != 0) << i;
  });
  LaneMask q = warp.predicate(op.src(3));
  warp.setPredicate(op.dst(1), lanes, op.b ? nonZero & q : nonZero | q);
}

//===----------------------------------------------------------------------===//
// prmt
//===----------------------------------------------------------------------===//

static uint64_t prmtGeneric(uint64_t a, uint64_t b, uint64_t c) {
  uint64_t bytes = (a & 0xffffffffu) | b << 32;
  uint32_t result = 0;
  for (unsigned i = 0; i < 4; ++i) {
    unsigned selector = c >> 4 * i & 0xf;
    uint32_t byte = bytes >> 8 * (selector & 7) & 0xff;
    if (selector & 8)
      byte = byte & 0x80 ? 0xff : 0;
    result |= byte << 8 * i;
  }
  return result;
}

/// The selectors of a mode as four nibbles for each value of c's low two bits.
enum class PrmtMode : uint8_t { F4e, B4e, Rc8, Ecl, Ecr, Rc16 };
template <PrmtMode mode>
static uint64_t prmtMode(uint64_t a, uint64_t b, uint64_t c) {
  unsigned s = c & 3;
  uint32_t selector = 0;
  for (unsigned i = 0; i < 4; ++i) {
    unsigned pick = 0;
    switch (mode) {
    case PrmtMode::F4e:
      pick = s + i;
      break;
    case PrmtMode::B4e:
      pick = (s + 8 - i) & 7;
      break;
    case PrmtMode::Rc8:
      pick = s;
      break;
    case PrmtMode::Ecl:
      pick = std::max(i, s);
      break;
    case PrmtMode::Ecr:
      pick = std::min(i, s);
      break;
    case PrmtMode::Rc16:
      pick = (s & 1) * 2 + (i & 1);
      break;
    }
    selector |= pick << 4 * i;
  }
  return prmtGeneric(a, b, selector);
}

//===----------------------------------------------------------------------===//
// Predicates
//===----------------------------------------------------------------------===//

/// Logic on predicates. Op: a 0 and, 1 or, 2 xor, 3 not.
static void predicateLogic(Warp &warp, const Op &op, LaneMask lanes) {
  LaneMask a = warp.predicate(op.src(0));
  LaneMask b = op.a == 3 ? 0 : warp.predicate(op.src(1));
  LaneMask result = op.a == 0   ? a & b
                    : op.a == 1 ? a | b
                    : op.a == 2 ? a ^ b
                                : ~a;
  warp.setPredicate(op.dst(), lanes, result);
}

static llvm::Error decodePredicateLogic(Decoder &decoder,
                                        const ptx::Instruction &inst) {
  llvm::SmallVector<Operand, 2> src;
  for (size_t i = 1; i < inst.operands.size(); ++i)
    src.push_back(decoder.predicateSource(inst.operands[i]));
  unsigned code;
  switch (inst.opcode) {
  case Opcode::And:
    code = 0;
    break;
  case Opcode::Or:
    code = 1;
    break;
  case Opcode::Xor:
    code = 2;
    break;
  case Opcode::Not:
    code = 3;
    break;
  default:
    return decoder.unsupported(inst);
  }
  if (src.size() != (code == 3 ? 1u : 2u))
    return decoder.unsupported(inst);
  Op &op = decoder.emit(inst, predicateLogic, InstructionClass::Integer,
                        decoder.destination(inst.operands[0], 1), src);
  op.a = static_cast<uint8_t>(code);
  return llvm::Error::success();
}

/// One 128-bit word is two slots: applies the operation to each.
static llvm::Error decodeLogic128(Decoder &decoder,
                                  const ptx::Instruction &inst,
                                  Handler handler) {
  Operand dst = decoder.destination(inst.operands[0], 128);
  llvm::SmallVector<Operand, 2> src;
  for (size_t i = 1; i < inst.operands.size(); ++i) {
    if (!inst.operands[i].isRegister())
      return decoder.error(inst, "128-bit operands must be registers");
    src.push_back(decoder.source(inst.operands[i], 128));
  }
  for (unsigned half = 0; half < 2; ++half) {
    decoder.emit(inst, handler, InstructionClass::Integer, dst, src);
    dst.index += warpSize;
    for (Operand &operand : src)
      operand.index += warpSize;
  }
  return llvm::Error::success();
}

static Handler shiftHandler(Opcode opcode, Type type) {
  if (opcode == Opcode::Shl)
    switch (ptx::getBits(type)) {
    case 16:
      return binaryLanes<shl<uint16_t>>;
    case 32:
      return binaryLanes<shl<uint32_t>>;
    case 64:
      return binaryLanes<shl<uint64_t>>;
    default:
      return nullptr;
    }
  switch (type) {
  case Type::S16:
    return binaryLanes<shr<int16_t>>;
  case Type::S32:
    return binaryLanes<shr<int32_t>>;
  case Type::S64:
    return binaryLanes<shr<int64_t>>;
  default:
    break;
  }
  switch (ptx::getBits(type)) {
  case 16:
    return binaryLanes<shr<uint16_t>>;
  case 32:
    return binaryLanes<shr<uint32_t>>;
  case 64:
    return binaryLanes<shr<uint64_t>>;
  default:
    return nullptr;
  }
}

static llvm::Error decodeLop3(Decoder &decoder, const ptx::Instruction &inst) {
  const auto &operands = inst.operands;
  bool predicated = inst.mods.has(Mod::And) || inst.mods.has(Mod::Or);
  if (operands.size() != (predicated ? 6u : 5u))
    return decoder.unsupported(inst);
  std::optional<uint64_t> table = Decoder::immediate(operands[4]);
  if (!table)
    return decoder.error(inst, "the look-up table must be an immediate");
  llvm::SmallVector<Operand, 4> src, dst;
  for (unsigned i = 1; i < 4; ++i)
    src.push_back(decoder.source(operands[i], 32));
  if (predicated) {
    src.push_back(decoder.predicateSource(operands[5]));
    if (operands[0].kind != ptx::OperandKind::Pair)
      return decoder.unsupported(inst);
    auto pair = decoder.elements(operands[0]);
    dst.push_back(decoder.destination(pair[0], 32));
    dst.push_back(decoder.destination(pair[1], 1));
  } else {
    dst.push_back(decoder.destination(operands[0], 32));
  }
  Handler handler = predicated ? lop3Predicate : ternaryLanesOp<lop3>;
  Op &op = decoder.emit(inst, handler, InstructionClass::Integer, dst, src);
  op.a = static_cast<uint8_t>(*table);
  op.b = inst.mods.has(Mod::And);
  return llvm::Error::success();
}

llvm::Error kvq::emu::decodeLogic(Decoder &decoder,
                                  const ptx::Instruction &inst) {
  const ptx::Modifiers &mods = inst.mods;
  Type type = mods.type();
  unsigned bits = ptx::getBits(type);
  if (type == Type::Pred)
    return decodePredicateLogic(decoder, inst);
  if (inst.opcode == Opcode::Lop3)
    return decodeLop3(decoder, inst);

  Handler handler = nullptr;
  switch (inst.opcode) {
  case Opcode::And:
    handler = binaryLanes<bitAnd>;
    break;
  case Opcode::Or:
    handler = binaryLanes<bitOr>;
    break;
  case Opcode::Xor:
    handler = binaryLanes<bitXor>;
    break;
  case Opcode::Not:
    handler = bits == 16   ? unaryLanes<bitNot<uint16_t>>
              : bits == 32 ? unaryLanes<bitNot<uint32_t>>
                           : unaryLanes<bitNot<uint64_t>>;
    break;
  case Opcode::Cnot:
    handler = bits == 16   ? unaryLanes<logicNot<uint16_t>>
              : bits == 32 ? unaryLanes<logicNot<uint32_t>>
                           : unaryLanes<logicNot<uint64_t>>;
    break;
  case Opcode::Shl:
  case Opcode::Shr:
    handler = shiftHandler(inst.opcode, type);
    break;
  case Opcode::Shf: {
    // The word `l` or `r` is the direction; `wrap` or `clamp` the mode.
    bool left = mods.has(Mod::L);
    handler = mods.has(Mod::Wrap) ? (left ? ternaryLanes<shf<true, true>>
                                          : ternaryLanes<shf<false, true>>)
                                  : (left ? ternaryLanes<shf<true, false>>
                                          : ternaryLanes<shf<false, false>>);
    break;
  }
  case Opcode::Prmt:
    handler = mods.has(Mod::F4e)    ? ternaryLanes<prmtMode<PrmtMode::F4e>>
              : mods.has(Mod::B4e)  ? ternaryLanes<prmtMode<PrmtMode::B4e>>
              : mods.has(Mod::Rc8)  ? ternaryLanes<prmtMode<PrmtMode::Rc8>>
              : mods.has(Mod::Ecl)  ? ternaryLanes<prmtMode<PrmtMode::Ecl>>
              : mods.has(Mod::Ecr)  ? ternaryLanes<prmtMode<PrmtMode::Ecr>>
              : mods.has(Mod::Rc16) ? ternaryLanes<prmtMode<PrmtMode::Rc16>>
                                    : ternaryLanes<prmtGeneric>;
    break;
  default:
    break;
  }
  if (!handler || inst.operands.size() < 2)
    return decoder.unsupported(inst);
  if (bits == 128) {
    if (inst.opcode != Opcode::And && inst.opcode != Opcode::Or &&
        inst.opcode != Opcode::Xor && inst.opcode != Opcode::Not)
      return decoder.unsupported(inst);
    return decodeLogic128(decoder, inst, handler);
  }
  llvm::SmallVector<Operand, 4> src;
  bool shift = inst.opcode == Opcode::Shl || inst.opcode == Opcode::Shr;
  for (size_t i = 1; i < inst.operands.size(); ++i)
    src.push_back(
        decoder.source(inst.operands[i], shift && i == 2 ? 32 : bits));
  decoder.emit(inst, handler, InstructionClass::Integer,
               decoder.destination(inst.operands[0], bits), src);
  return llvm::Error::success();
}
