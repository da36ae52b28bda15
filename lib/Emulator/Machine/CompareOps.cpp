//===- CompareOps.cpp - Comparisons and selections ------------------------===//

#include "kvq/Emulator/Machine/Decoder.h"
#include "kvq/Emulator/Machine/Lanes.h"
#include "kvq/Emulator/Machine/TypeMaps.h"
#include "kvq/Emulator/Numerics/Arith.h"

using namespace kvq::emu;
using num::FCmp;
using num::FType;
using ptx::CompareOp;
using ptx::Mod;
using ptx::Opcode;
using ptx::Type;

namespace {

/// Compares the values of all lanes, `lanes` at least.
using CompareFn = LaneMask (*)(const Op &, const uint64_t *, const uint64_t *,
                               LaneMask);

struct CompareExtra : OpExtra {
  CompareFn compare = nullptr;
  FCmp floatOp = FCmp::EQ;
  FType floatType = FType::F32;
  bool ftz = false;
};

enum class IntCompare { EQ, NE, LT, LE, GT, GE };

template <typename T, IntCompare op>
LaneMask compareInt(const Op &, const uint64_t *a, const uint64_t *b,
                    LaneMask) {
  LaneMask result = 0;
  for (unsigned i = 0; i < warpSize; ++i) {
    T x = T(a[i]), y = T(b[i]);
    bool holds = op == IntCompare::EQ   ? x == y
                 : op == IntCompare::NE ? x != y
                 : op == IntCompare::LT ? x < y
                 : op == IntCompare::LE ? x <= y
                 : op == IntCompare::GT ? x > y
                                        : x >= y;
    result |= LaneMask(holds) << i;
  }
  return result;
}

const CompareExtra &extraOf(const Op &op) {
  return *static_cast<const CompareExtra *>(op.extra);
}

/// Scalars; `shift` takes the upper half of a pair.
template <unsigned shift>
LaneMask compareFloat(const Op &op, const uint64_t *a, const uint64_t *b,
                      LaneMask lanes) {
  const CompareExtra &extra = extraOf(op);
  return lanesWhere(lanes, [&](unsigned i) {
    return num::compare(extra.floatOp, extra.floatType, a[i] >> shift,
                        b[i] >> shift, extra.ftz);
  });
}

template <typename T>
CompareFn intCompare(CompareOp op) {
  switch (op) {
  case CompareOp::EQ:
    return compareInt<T, IntCompare::EQ>;
  case CompareOp::NE:
    return compareInt<T, IntCompare::NE>;
  case CompareOp::LT:
    return compareInt<T, IntCompare::LT>;
  case CompareOp::LE:
    return compareInt<T, IntCompare::LE>;
  case CompareOp::GT:
    return compareInt<T, IntCompare::GT>;
  case CompareOp::GE:
    return compareInt<T, IntCompare::GE>;
  // The names of unsigned comparisons.
  case CompareOp::LO:
    return compareInt<std::make_unsigned_t<T>, IntCompare::LT>;
  case CompareOp::LS:
    return compareInt<std::make_unsigned_t<T>, IntCompare::LE>;
  case CompareOp::HI:
    return compareInt<std::make_unsigned_t<T>, IntCompare::GT>;
  case CompareOp::HS:
    return compareInt<std::make_unsigned_t<T>, IntCompare::GE>;
  default:
    return nullptr;
  }
}

CompareFn findIntCompare(CompareOp op, Type type) {
  switch (type) {
  case Type::S16:
    return intCompare<int16_t>(op);
  case Type::U16:
  case Type::B16:
    return intCompare<uint16_t>(op);
  case Type::S32:
    return intCompare<int32_t>(op);
  case Type::U32:
  case Type::B32:
    return intCompare<uint32_t>(op);
  case Type::S64:
    return intCompare<int64_t>(op);
  case Type::U64:
  case Type::B64:
    return intCompare<uint64_t>(op);
  default:
    return nullptr;
  }
}

std::optional<FCmp> toFCmp(CompareOp op) {
  switch (op) {
  case CompareOp::EQ:
    return FCmp::EQ;
  case CompareOp::NE:
    return FCmp::NE;
  case CompareOp::LT:
    return FCmp::LT;
  case CompareOp::LE:
    return FCmp::LE;
  case CompareOp::GT:
    return FCmp::GT;
  case CompareOp::GE:
    return FCmp::GE;
  case CompareOp::EQU:
    return FCmp::EQU;
  case CompareOp::NEU:
    return FCmp::NEU;
  case CompareOp::LTU:
    return FCmp::LTU;
  case CompareOp::LEU:
    return FCmp::LEU;
  case CompareOp::GTU:
    return FCmp::GTU;
  case CompareOp::GEU:
    return FCmp::GEU;
  case CompareOp::NUM:
    return FCmp::Num;
  case CompareOp::NAN_:
    return FCmp::Nan;
  default:
    return std::nullopt;
  }
}

/// Boolean combination with the third operand.
enum BoolOp : uint8_t { BoolNone, BoolAnd, BoolOr, BoolXor };

LaneMask combine(const Op &op, LaneMask value, LaneMask other) {
  switch (op.b) {
  case BoolAnd:
    return value & other;
  case BoolOr:
    return value | other;
  case BoolXor:
    return value ^ other;
  default:
    return value;
  }
}

void setp(Warp &warp, const Op &op, LaneMask lanes) {
  const uint64_t *a = warp.values(op.src(0)), *b = warp.values(op.src(1));
  LaneMask result = extraOf(op).compare(op, a, b, lanes);
  LaneMask other = op.b ? warp.predicate(op.src(2)) : 0;
  warp.setPredicate(op.dst(), lanes, combine(op, result, other));
  if (op.numDst == 2)
    warp.setPredicate(op.dst(1), lanes, combine(op, ~result, other));
}

/// f16x2 and bf16x2: one predicate per half.
void setpPair(Warp &warp, const Op &op, LaneMask lanes) {
  const uint64_t *a = warp.values(op.src(0)), *b = warp.values(op.src(1));
  LaneMask low = compareFloat<0>(op, a, b, lanes);
  LaneMask high = compareFloat<16>(op, a, b, lanes);
  LaneMask other = op.b ? warp.predicate(op.src(2)) : 0;
  warp.setPredicate(op.dst(), lanes, combine(op, low, other));
  if (op.numDst == 2)
    warp.setPredicate(op.dst(1), lanes, combine(op, high, other));
}

/// set: op.imm is what true is.
void set(Warp &warp, const Op &op, LaneMask lanes) {
  const uint64_t *a = warp.values(op.src(0)), *b = warp.values(op.src(1));
  LaneMask result = extraOf(op).compare(op, a, b, lanes);
  LaneMask other = op.b ? warp.predicate(op.src(2)) : 0;
  result = combine(op, result, other);
  uint64_t *d = warp.destination(op.dst());
  uint64_t trueValue = static_cast<uint64_t>(op.imm);
  forLanes(lanes, [&](unsigned i) { d[i] = result >> i & 1 ? trueValue : 0; });
}

/// set on pairs: op.imm is what true is in one half.
void setPair(Warp &warp, const Op &op, LaneMask lanes) {
  const uint64_t *a = warp.values(op.src(0)), *b = warp.values(op.src(1));
  LaneMask other = op.b ? warp.predicate(op.src(2)) : 0;
  LaneMask low = combine(op, compareFloat<0>(op, a, b, lanes), other);
  LaneMask high = combine(op, compareFloat<16>(op, a, b, lanes), other);
  uint64_t *d = warp.destination(op.dst());
  uint64_t trueValue = static_cast<uint64_t>(op.imm);
  forLanes(lanes, [&](unsigned i) {
    d[i] =
        (low >> i & 1 ? trueValue : 0) | (high >> i & 1 ? trueValue << 16 : 0);
  });
}

void selp(Warp &warp, const Op &op, LaneMask lanes) {
  const uint64_t *a = warp.values(op.src(0)), *b = warp.values(op.src(1));
  LaneMask which = warp.predicate(op.src(2));
  uint64_t *d = warp.destination(op.dst());
  forLanes(lanes, [&](unsigned i) { d[i] = which >> i & 1 ? a[i] : b[i]; });
}

void selpPredicate(Warp &warp, const Op &op, LaneMask lanes) {
  LaneMask a = warp.predicate(op.src(0)), b = warp.predicate(op.src(1));
  LaneMask which = warp.predicate(op.src(2));
  warp.setPredicate(op.dst(), lanes, (a & which) | (b & ~which));
}

uint64_t slctInt(uint64_t a, uint64_t b, uint64_t c) {
  return int32_t(c) >= 0 ? a : b;
}
/// -0 counts as 0, NaN selects b.
template <bool ftz>
uint64_t slctFloat(uint64_t a, uint64_t b, uint64_t c) {
  return num::compare(FCmp::GE, FType::F32, c, 0, ftz) ? a : b;
}

/// Op: a the test, b the type.
void testp(Warp &warp, const Op &op, LaneMask lanes) {
  const uint64_t *a = warp.values(op.src(0));
  LaneMask result = lanesWhere(lanes, [&](unsigned i) {
    return num::testp(static_cast<num::FTest>(op.a), static_cast<FType>(op.b),
                      a[i]);
  });
  warp.setPredicate(op.dst(), lanes, result);
}

} // namespace

static llvm::Error decodeSet(Decoder &decoder, const ptx::Instruction &inst) {
  const ptx::Modifiers &mods = inst.mods;
  bool isSetp = inst.opcode == Opcode::Setp;
  Type type = isSetp ? mods.type() : mods.type(1);
  bool pair = type == Type::F16x2 || type == Type::BF16x2;
  auto *extra = decoder.newExtra<CompareExtra>();
  extra->ftz = mods.ftz;
  if (std::optional<FType> floatType = toFType(type)) {
    std::optional<FCmp> compare = toFCmp(mods.compare);
    if (!compare)
      return decoder.unsupported(inst);
    extra->floatOp = *compare;
    extra->floatType = type == Type::F16x2    ? FType::F16
                       : type == Type::BF16x2 ? FType::BF16
                                              : *floatType;
    extra->compare = compareFloat<0>;
  } else {
    extra->compare = findIntCompare(mods.compare, type);
  }
  if (!extra->compare || inst.operands.size() < 3)
    return decoder.unsupported(inst);
  unsigned bits = ptx::getBits(type);
  llvm::SmallVector<Operand, 3> src, dst;
  src.push_back(decoder.source(inst.operands[1], bits));
  src.push_back(decoder.source(inst.operands[2], bits));
  uint8_t boolOp = mods.has(Mod::And)   ? BoolAnd
                   : mods.has(Mod::Or)  ? BoolOr
                   : mods.has(Mod::Xor) ? BoolXor
                                        : BoolNone;
  if (boolOp) {
    if (inst.operands.size() != 4)
      return decoder.unsupported(inst);
    src.push_back(decoder.predicateSource(inst.operands[3]));
  }
  unsigned dstBits = isSetp ? 1 : ptx::getBits(mods.type(0));
  if (inst.operands[0].kind == ptx::OperandKind::Pair) {
    for (const ptx::Operand &element : decoder.elements(inst.operands[0]))
      dst.push_back(decoder.destination(element, dstBits));
  } else {
    dst.push_back(decoder.destination(inst.operands[0], dstBits));
  }
  Handler handler = isSetp ? (pair ? setpPair : setp) : set;
  int64_t trueValue = 0;
  if (!isSetp) {
    switch (mods.type(0)) {
    case Type::F32:
      trueValue = 0x3f800000;
      break;
    case Type::F16:
    case Type::F16x2:
      trueValue = 0x3c00;
      break;
    case Type::BF16:
    case Type::BF16x2:
      trueValue = 0x3f80;
      break;
    default:
      trueValue = static_cast<int64_t>(lowBits(~uint64_t(0), dstBits));
    }
    if (pair) {
      handler = setPair;
      trueValue &= 0xffff;
    }
  }
  Op &op = decoder.emit(inst, handler, InstructionClass::Integer, dst, src);
  op.extra = extra;
  op.b = boolOp;
  op.imm = trueValue;
  return llvm::Error::success();
}

llvm::Error kvq::emu::decodeCompare(Decoder &decoder,
                                    const ptx::Instruction &inst) {
  const ptx::Modifiers &mods = inst.mods;
  const auto &operands = inst.operands;
  Type type = mods.type();
  unsigned bits = ptx::getBits(type);
  switch (inst.opcode) {
  case Opcode::Set:
  case Opcode::Setp:
    return decodeSet(decoder, inst);
  case Opcode::Selp: {
    if (operands.size() != 4)
      return decoder.unsupported(inst);
    if (type == Type::Pred) {
      decoder.emit(inst, selpPredicate, InstructionClass::Integer,
                   decoder.destination(operands[0], 1),
                   {decoder.predicateSource(operands[1]),
                    decoder.predicateSource(operands[2]),
                    decoder.predicateSource(operands[3])});
      return llvm::Error::success();
    }
    Operand a = decoder.source(operands[1], bits);
    Operand b = decoder.source(operands[2], bits);
    Operand p = decoder.predicateSource(operands[3]);
    Operand d = decoder.destination(operands[0], bits);
    for (unsigned half = 0; half < (bits > 64 ? 2u : 1u); ++half) {
      decoder.emit(inst, selp, InstructionClass::Integer, d, {a, b, p});
      d.index += warpSize;
      a.index += warpSize;
      b.index += warpSize;
    }
    return llvm::Error::success();
  }
  case Opcode::Slct: {
    Type selector = mods.type(1);
    if (operands.size() != 4 ||
        (selector != Type::S32 && selector != Type::F32))
      return decoder.unsupported(inst);
    Handler handler = selector == Type::S32 ? ternaryLanes<slctInt>
                      : mods.ftz            ? ternaryLanes<slctFloat<true>>
                                            : ternaryLanes<slctFloat<false>>;
    Operand a = decoder.source(operands[1], bits);
    Operand b = decoder.source(operands[2], bits);
    Operand c = decoder.source(operands[3], 32);
    decoder.emit(inst, handler, InstructionClass::Integer,
                 decoder.destination(operands[0], bits), {a, b, c});
    return llvm::Error::success();
  }
  case Opcode::Testp: {
    std::optional<FType> floatType = toFType(type);
    if (!floatType || operands.size() != 2)
      return decoder.unsupported(inst);
    num::FTest test = mods.has(Mod::Finite)       ? num::FTest::Finite
                      : mods.has(Mod::Infinite)   ? num::FTest::Infinite
                      : mods.has(Mod::Number)     ? num::FTest::Number
                      : mods.has(Mod::Notanumber) ? num::FTest::NotANumber
                      : mods.has(Mod::Normal)     ? num::FTest::Normal
                                                  : num::FTest::Subnormal;
    Operand a = decoder.source(operands[1], bits);
    Op &op = decoder.emit(inst, testp, InstructionClass::Float,
                          decoder.destination(operands[0], 1), a);
    op.a = static_cast<uint8_t>(test);
    op.b = static_cast<uint8_t>(*floatType);
    return llvm::Error::success();
  }
  default:
    return decoder.unsupported(inst);
  }
}
