//===- WarpOps.cpp - Votes, shuffles, matches and reductions --------------===//

#include "kvq/Emulator/Machine/WarpOps.h"
#include "kvq/Emulator/Machine/Decoder.h"
#include "kvq/Emulator/Machine/Lanes.h"
#include "kvq/Emulator/Machine/Launch.h"
#include "kvq/Emulator/Numerics/Arith.h"

using namespace kvq::emu;
using ptx::Mod;
using ptx::Opcode;
using ptx::Type;

bool kvq::emu::convergeOn(Warp &warp, const Op &op, const Operand &operand,
                          LaneMask &lanes, LaneMask &members) {
  const uint64_t *masks = warp.values(operand);
  members = static_cast<LaneMask>(masks[llvm::countr_zero(lanes)]);
  LaneMask same = lanesWhere(lanes, [&](unsigned i) {
    return static_cast<LaneMask>(masks[i]) == members;
  });
  if (LaneMask others = lanes & ~same)
    warp.jump(others, warp.getPc() - 1);
  lanes = same;
  return warp.converge(op, lanes, members);
}

namespace {

/// The last source of the instructions below is the member mask, or none for
/// the forms without .sync: then whoever is here takes part.
bool arrive(Warp &warp, const Op &op, LaneMask &lanes) {
  const Operand &mask = op.src(op.numSrc - 1u);
  LaneMask members;
  return mask.isNone() || convergeOn(warp, op, mask, lanes, members);
}

enum class Vote : uint8_t { All, Any, Uni, Ballot };

void vote(Warp &warp, const Op &op, LaneMask lanes) {
  if (!arrive(warp, op, lanes))
    return;
  LaneMask set = warp.predicate(op.src(0)) & lanes;
  if (static_cast<Vote>(op.a) == Vote::Ballot) {
    uint64_t *d = warp.destination(op.dst());
    forLanes(lanes, [&](unsigned i) { d[i] = set; });
    return;
  }
  bool result = false;
  switch (static_cast<Vote>(op.a)) {
  case Vote::All:
    result = set == lanes;
    break;
  case Vote::Any:
    result = set != 0;
    break;
  default:
    result = set == 0 || set == lanes;
    break;
  }
  warp.setPredicate(op.dst(), lanes, result ? allLanes : 0);
}

/// match.any and match.all (Op: a 1), whose second result is optional.
void match(Warp &warp, const Op &op, LaneMask lanes) {
  if (!arrive(warp, op, lanes))
    return;
  const uint64_t *a = warp.values(op.src(0));
  uint64_t *d = warp.destination(op.dst());
  if (op.a) {
    uint64_t first = a[llvm::countr_zero(lanes)];
    bool all =
        lanesWhere(lanes, [&](unsigned i) { return a[i] == first; }) == lanes;
    forLanes(lanes, [&](unsigned i) { d[i] = all ? lanes : 0; });
    if (op.numDst == 2)
      warp.setPredicate(op.dst(1), lanes, all ? allLanes : 0);
    return;
  }
  uint64_t copy[warpSize];
  std::copy(a, a + warpSize, copy);
  forLanes(lanes, [&](unsigned i) {
    d[i] = lanesWhere(lanes, [&](unsigned j) { return copy[j] == copy[i]; });
  });
}

void activeMask(Warp &warp, const Op &op, LaneMask lanes) {
  ++warp.oracles;
  uint64_t *d = warp.destination(op.dst());
  forLanes(lanes, [&](unsigned i) { d[i] = lanes; });
}

/// elect.sync: the lowest thread of the mask.
void elect(Warp &warp, const Op &op, LaneMask lanes) {
  if (!arrive(warp, op, lanes))
    return;
  unsigned leader = llvm::countr_zero(lanes);
  uint64_t *d = warp.destination(op.dst());
  forLanes(lanes, [&](unsigned i) { d[i] = leader; });
  if (op.numDst == 2)
    warp.setPredicate(op.dst(1), lanes, LaneMask(1) << leader);
}

//===----------------------------------------------------------------------===//
// Shuffles
//===----------------------------------------------------------------------===//

enum class Shuffle : uint8_t { Up, Down, Bfly, Idx };

void shuffle(Warp &warp, const Op &op, LaneMask lanes) {
  if (!arrive(warp, op, lanes))
    return;
  const uint64_t *a = warp.values(op.src(0)), *b = warp.values(op.src(1)),
                 *c = warp.values(op.src(2));
  uint64_t copy[warpSize];
  std::copy(a, a + warpSize, copy);
  uint64_t *d = warp.destination(op.dst());
  LaneMask inRange = 0, results = 0;
  uint64_t out[warpSize] = {};
  forLanes(lanes, [&](unsigned lane) {
    int bval = b[lane] & 31, cval = c[lane] & 31, segment = c[lane] >> 8 & 31;
    int self = static_cast<int>(lane);
    int maxLane = (self & segment) | (cval & ~segment);
    int minLane = self & segment;
    int j = self;
    bool p = false;
    switch (static_cast<Shuffle>(op.a)) {
    case Shuffle::Up:
      j = self - bval;
      p = j >= maxLane;
      break;
    case Shuffle::Down:
      j = self + bval;
      p = j <= maxLane;
      break;
    case Shuffle::Bfly:
      j = self ^ bval;
      p = j <= maxLane;
      break;
    case Shuffle::Idx:
      j = minLane | (bval & ~segment);
      p = j <= maxLane;
      break;
    }
    if (!p)
      j = self;
    else
      inRange |= LaneMask(1) << lane;
    if (!(lanes >> j & 1) && warp.launch.checkProtocol)
      warp.report(FindingKind::IllegalOperand, op, lane, 0,
                  "reads the value of thread " + llvm::Twine(j) +
                      " of the warp, which does not take part",
                  false);
    out[lane] = copy[j];
    results |= LaneMask(1) << lane;
  });
  forLanes(results, [&](unsigned lane) { d[lane] = out[lane]; });
  if (op.numDst == 2)
    warp.setPredicate(op.dst(1), lanes, inRange);
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

enum class Reduce : uint8_t { Add, Min, Max, And, Or, Xor };

struct ReduxExtra : OpExtra {
  num::BinaryFn function = nullptr;
  num::FpMode mode;
};

void reduce(Warp &warp, const Op &op, LaneMask lanes) {
  if (!arrive(warp, op, lanes))
    return;
  const uint64_t *a = warp.values(op.src(0));
  uint32_t result = 0;
  bool first = true;
  forLanes(lanes, [&](unsigned i) {
    uint32_t value = static_cast<uint32_t>(a[i]);
    if (first) {
      result = value;
      first = false;
      return;
    }
    bool less = op.isSigned ? int32_t(value) < int32_t(result) : value < result;
    switch (static_cast<Reduce>(op.a)) {
    case Reduce::Add:
      result += value;
      break;
    case Reduce::Min:
      result = less ? value : result;
      break;
    case Reduce::Max:
      result = less ? result : value;
      break;
    case Reduce::And:
      result &= value;
      break;
    case Reduce::Or:
      result |= value;
      break;
    case Reduce::Xor:
      result ^= value;
      break;
    }
  });
  uint64_t *d = warp.destination(op.dst());
  forLanes(lanes, [&](unsigned i) { d[i] = result; });
}

void reduceFloat(Warp &warp, const Op &op, LaneMask lanes) {
  if (!arrive(warp, op, lanes))
    return;
  const auto &extra = *static_cast<const ReduxExtra *>(op.extra);
  const uint64_t *a = warp.values(op.src(0));
  // Seeded with the first value twice: min(x, x) applies .abs and .NaN to it.
  uint64_t seed = a[llvm::countr_zero(lanes)];
  uint64_t result = extra.function(seed, seed, extra.mode);
  forLanes(lanes, [&](unsigned i) {
    result = extra.function(result, a[i], extra.mode);
  });
  uint64_t *d = warp.destination(op.dst());
  forLanes(lanes, [&](unsigned i) { d[i] = result; });
}

} // namespace

static uint64_t magnitudeF32(uint64_t a) { return a & 0x7fffffffu; }

/// The destinations of `d` or `d|p`.
static llvm::SmallVector<Operand, 2>
destinations(Decoder &decoder, const ptx::Operand &operand, unsigned bits) {
  if (operand.kind != ptx::OperandKind::Pair)
    return {decoder.destination(operand, bits)};
  auto pair = decoder.elements(operand);
  return {decoder.destination(pair[0], bits), decoder.destination(pair[1], 1)};
}

static llvm::Error decodeRedux(Decoder &decoder, const ptx::Instruction &inst) {
  const ptx::Modifiers &mods = inst.mods;
  Reduce kind = mods.has(Mod::Add)   ? Reduce::Add
                : mods.has(Mod::Min) ? Reduce::Min
                : mods.has(Mod::Max) ? Reduce::Max
                : mods.has(Mod::And) ? Reduce::And
                : mods.has(Mod::Or)  ? Reduce::Or
                                     : Reduce::Xor;
  Operand a = decoder.source(inst.operands[1], 32);
  Operand mask = decoder.source(inst.operands[2], 32);
  Operand d = decoder.destination(inst.operands[0], 32);
  if (mods.type() == Type::F32) {
    auto *extra = decoder.newExtra<ReduxExtra>();
    extra->mode.nan = mods.has(Mod::NaN);
    extra->function =
        num::findBinary(kind == Reduce::Min ? num::FOp::Min : num::FOp::Max,
                        num::FType::F32, extra->mode);
    if ((kind != Reduce::Min && kind != Reduce::Max) || !extra->function)
      return decoder.unsupported(inst);
    if (mods.has(Mod::Abs)) {
      // |a| first: the function then sees no sign.
      Operand magnitude = decoder.temporary(32);
      decoder.emit(inst, unaryLanes<magnitudeF32>, InstructionClass::Warp,
                   magnitude, a);
      a = magnitude;
    }
    decoder.emit(inst, reduceFloat, InstructionClass::Warp, d, {a, mask})
        .extra = extra;
    return llvm::Error::success();
  }
  if (ptx::getBits(mods.type()) != 32)
    return decoder.unsupported(inst);
  Op &op = decoder.emit(inst, reduce, InstructionClass::Warp, d, {a, mask});
  op.a = static_cast<uint8_t>(kind);
  op.isSigned = ptx::isSignedInteger(mods.type());
  return llvm::Error::success();
}

llvm::Error kvq::emu::decodeWarpOp(Decoder &decoder,
                                   const ptx::Instruction &inst) {
  const ptx::Modifiers &mods = inst.mods;
  const auto &operands = inst.operands;
  bool sync = mods.has(Mod::Sync);
  unsigned bits = ptx::getBits(mods.type());
  size_t needed = inst.opcode == Opcode::Activemask ? 1
                  : inst.opcode == Opcode::Elect    ? 2
                  : inst.opcode == Opcode::Shfl     ? (sync ? 5 : 4)
                                                    : (sync ? 3 : 2);
  if (operands.size() != needed)
    return decoder.unsupported(inst);
  Operand mask;
  if (sync)
    mask = decoder.source(operands.back(), 32);
  switch (inst.opcode) {
  case Opcode::Vote: {
    Vote kind = mods.has(Mod::All)   ? Vote::All
                : mods.has(Mod::Any) ? Vote::Any
                : mods.has(Mod::Uni) ? Vote::Uni
                                     : Vote::Ballot;
    Operand p = decoder.predicateSource(operands[1]);
    Operand d = decoder.destination(operands[0], kind == Vote::Ballot ? 32 : 1);
    decoder.emit(inst, vote, InstructionClass::Warp, d, {p, mask}).a =
        static_cast<uint8_t>(kind);
    return llvm::Error::success();
  }
  case Opcode::Match: {
    Operand a = decoder.source(operands[1], bits);
    auto dst = destinations(decoder, operands[0], 32);
    decoder.emit(inst, match, InstructionClass::Warp, dst, {a, mask}).a =
        mods.has(Mod::All);
    return llvm::Error::success();
  }
  case Opcode::Activemask:
    decoder.emit(inst, activeMask, InstructionClass::Warp,
                 decoder.destination(operands[0], 32), {});
    return llvm::Error::success();
  case Opcode::Elect:
    decoder.emit(inst, elect, InstructionClass::Warp,
                 destinations(decoder, operands[0], 32), mask);
    return llvm::Error::success();
  case Opcode::Redux:
    return decodeRedux(decoder, inst);
  case Opcode::Shfl: {
    Shuffle kind = mods.has(Mod::Up)     ? Shuffle::Up
                   : mods.has(Mod::Down) ? Shuffle::Down
                   : mods.has(Mod::Bfly) ? Shuffle::Bfly
                                         : Shuffle::Idx;
    Operand a = decoder.source(operands[1], 32);
    Operand b = decoder.source(operands[2], 32);
    Operand c = decoder.source(operands[3], 32);
    auto dst = destinations(decoder, operands[0], 32);
    decoder.emit(inst, shuffle, InstructionClass::Warp, dst, {a, b, c, mask})
        .a = static_cast<uint8_t>(kind);
    return llvm::Error::success();
  }
  default:
    return decoder.unsupported(inst);
  }
}
