//===- MoveOps.cpp - Moves, packing and address conversion ----------------===//

#include "kvq/Emulator/Machine/Decoder.h"
#include "kvq/Emulator/Machine/Lanes.h"
#include "kvq/Emulator/Machine/Launch.h"

using namespace kvq::emu;
using ptx::Mod;
using ptx::Opcode;
using ptx::OperandKind;
using ptx::Type;

static uint64_t identity(uint64_t a) { return a; }

static void movePredicate(Warp &warp, const Op &op, LaneMask lanes) {
  warp.setPredicate(op.dst(), lanes, warp.predicate(op.src(0)));
}

/// mov.bN d, {a, b, ..}: op.bits per element, low first.
static void pack(Warp &warp, const Op &op, LaneMask lanes) {
  uint64_t *d = warp.destination(op.dst());
  forLanes(lanes, [&](unsigned i) {
    uint64_t words[2] = {};
    for (unsigned k = 0; k < op.numSrc; ++k) {
      unsigned at = k * op.bits;
      words[at / 64] |= lowBits(warp.values(op.src(k))[i], op.bits)
                        << (at % 64);
    }
    d[i] = words[0];
    if (op.a)
      d[i + warpSize] = words[1];
  });
}

/// mov.bN {a, b, ..}, s.
static void unpack(Warp &warp, const Op &op, LaneMask lanes) {
  const uint64_t *s = warp.values(op.src(0));
  forLanes(lanes, [&](unsigned i) {
    uint64_t words[2] = {s[i], op.a ? s[i + warpSize] : 0};
    for (unsigned k = 0; k < op.numDst; ++k) {
      unsigned at = k * op.bits;
      warp.destination(op.dst(k))[i] =
          lowBits(words[at / 64] >> (at % 64), op.bits);
    }
  });
}

static llvm::Error decodeMov(Decoder &decoder, const ptx::Instruction &inst) {
  const auto &operands = inst.operands;
  Type type = inst.mods.type();
  unsigned bits = ptx::getBits(type);
  if (operands.size() != 2)
    return decoder.unsupported(inst);
  const ptx::Operand &to = operands[0], &from = operands[1];
  if (type == Type::Pred) {
    decoder.emit(inst, movePredicate, InstructionClass::Move,
                 decoder.destination(to, 1), decoder.predicateSource(from));
    return llvm::Error::success();
  }
  if (from.kind == OperandKind::Vector) {
    auto elements = decoder.elements(from);
    llvm::SmallVector<Operand, 8> src;
    unsigned each = bits / static_cast<unsigned>(elements.size());
    for (const ptx::Operand &element : elements)
      src.push_back(decoder.source(element, each));
    Op &op = decoder.emit(inst, pack, InstructionClass::Move,
                          decoder.destination(to, bits), src);
    op.bits = static_cast<uint8_t>(each);
    op.a = bits == 128;
    return llvm::Error::success();
  }
  if (to.kind == OperandKind::Vector) {
    auto elements = decoder.elements(to);
    unsigned each = bits / static_cast<unsigned>(elements.size());
    Operand src = decoder.source(from, bits);
    llvm::SmallVector<Operand, 8> dst;
    for (const ptx::Operand &element : elements)
      dst.push_back(decoder.destination(element, each));
    Op &op = decoder.emit(inst, unpack, InstructionClass::Move, dst, src);
    op.bits = static_cast<uint8_t>(each);
    op.a = bits == 128;
    return llvm::Error::success();
  }
  Operand dst = decoder.destination(to, bits);
  if ((from.kind == OperandKind::Symbol || from.kind == OperandKind::Address) &&
      decoder.emitAddress(from, dst))
    return llvm::Error::success();
  Operand src = decoder.source(from, bits);
  if (src.isNone())
    return decoder.unsupported(inst);
  for (unsigned half = 0; half < (bits == 128 ? 2u : 1u); ++half) {
    decoder.emit(inst, unaryLanes<identity>, InstructionClass::Move, dst, src);
    dst.index += warpSize;
    src.index += warpSize;
  }
  return llvm::Error::success();
}

//===----------------------------------------------------------------------===//
// Address spaces
//===----------------------------------------------------------------------===//

/// Adds a window. Op: imm the window, bits of the result.
static uint64_t toWindow(const Op &op, uint64_t a) {
  return lowBits(static_cast<uint64_t>(op.imm) | (a & ~windowMask), op.bits);
}

/// Takes an address out of its window.
static uint64_t fromWindow(const Op &op, uint64_t a) {
  return lowBits(a & ~windowMask, op.bits);
}

/// Op: space.
static void isSpace(Warp &warp, const Op &op, LaneMask lanes) {
  const uint64_t *a = warp.values(op.src(0));
  LaneMask result = lanesWhere(lanes, [&](unsigned i) {
    uint64_t window = a[i] & windowMask;
    switch (op.space) {
    case Space::Shared:
      return window == sharedWindow &&
             (a[i] & 0xffffffffu) >> sharedRankShift == warp.cta.rank;
    case Space::SharedCluster:
      return window == sharedWindow;
    case Space::Local:
      return window == localWindow;
    case Space::KernelParam:
      return window == paramWindow;
    case Space::Const:
    case Space::Global: {
      if (window)
        return false;
      Allocation *allocation = warp.launch.memory.findAtOrBelow(a[i]);
      bool constant =
          allocation && allocation->constant && allocation->contains(a[i], 1);
      return constant == (op.space == Space::Const);
    }
    default:
      return false;
    }
  });
  warp.setPredicate(op.dst(), lanes, result);
}

/// mapa: the same place in the CTA of rank b. Op: a: checks the rank.
static void mapRank(Warp &warp, const Op &op, LaneMask lanes) {
  uint64_t *d = warp.destination(op.dst());
  const uint64_t *a = warp.values(op.src(0)), *b = warp.values(op.src(1));
  uint64_t ranks = warp.cta.cluster.ctas.size();
  uint64_t keep = ~(uint64_t(0xff) << sharedRankShift);
  forLanes(lanes, [&](unsigned i) {
    uint64_t rank = b[i] & 0xffffffffu;
    if (rank >= ranks) {
      warp.report(FindingKind::IllegalOperand, op, i, a[i],
                  "CTA rank " + llvm::Twine(rank) + " in a cluster of " +
                      llvm::Twine(ranks),
                  true);
      return;
    }
    d[i] = (a[i] & keep) | rank << sharedRankShift;
  });
}

static uint64_t rankOf(uint64_t a) { return a >> sharedRankShift & 0xff; }

llvm::Error kvq::emu::decodeMove(Decoder &decoder,
                                 const ptx::Instruction &inst) {
  const ptx::Modifiers &mods = inst.mods;
  const auto &operands = inst.operands;
  unsigned bits = ptx::getBits(mods.type());
  switch (inst.opcode) {
  case Opcode::Mov:
    return decodeMov(decoder, inst);
  case Opcode::Cvta: {
    if (operands.size() != 2)
      return decoder.unsupported(inst);
    bool to = mods.has(Mod::To);
    uint64_t window = 0;
    switch (mods.space()) {
    case ptx::Space::Shared:
    case ptx::Space::SharedCluster:
      window = sharedWindow;
      break;
    case ptx::Space::Local:
      window = localWindow;
      break;
    case ptx::Space::Param:
      window = decoder.function().isKernel ? paramWindow : localWindow;
      break;
    default:
      break;
    }
    Operand src = decoder.source(operands[1], bits);
    Op &op = decoder.emit(inst,
                          !window ? unaryLanes<identity>
                          : to    ? unaryLanesOp<fromWindow>
                                  : unaryLanesOp<toWindow>,
                          InstructionClass::Move,
                          decoder.destination(operands[0], bits), src);
    op.imm = static_cast<int64_t>(window);
    op.bits = static_cast<uint8_t>(bits);
    return llvm::Error::success();
  }
  case Opcode::Isspacep: {
    Operand src = decoder.source(operands[1], 32);
    Op &op = decoder.emit(inst, isSpace, InstructionClass::Integer,
                          decoder.destination(operands[0], 1), src);
    op.space = toSpace(mods.space());
    return llvm::Error::success();
  }
  case Opcode::Mapa: {
    Operand a = decoder.source(operands[1], bits);
    Operand b = decoder.source(operands[2], 32);
    decoder.emit(inst, mapRank, InstructionClass::Move,
                 decoder.destination(operands[0], bits), {a, b});
    return llvm::Error::success();
  }
  case Opcode::Getctarank: {
    Operand a = decoder.source(operands[1], bits);
    decoder.emit(inst, unaryLanes<rankOf>, InstructionClass::Move,
                 decoder.destination(operands[0], 32), a);
    return llvm::Error::success();
  }
  case Opcode::Createpolicy:
    // A cache policy is a number that nothing here looks at.
    decoder.emit(inst, unaryLanes<identity>, InstructionClass::Move,
                 decoder.destination(operands[0], 64), decoder.constant(0));
    return llvm::Error::success();
  default:
    return decoder.unsupported(inst);
  }
}
