//===- CarryOps.cpp - Integers of many words ------------------------------===//

#include "IntegerTypes.h"
#include "kvq/Emulator/Machine/Decoder.h"

using namespace kvq::emu;
using ptx::Mod;
using ptx::Opcode;

namespace {

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
    Wide<T> product = Wide<T>(T(a[i])) * Wide<T>(T(b[i]));
    Unsigned<T> part = Unsigned<T>(op.b ? product >> 8 * sizeof(T) : product);
    UInt128 sum = UInt128(part) + Unsigned<T>(c[i]) + UInt128(in >> i & 1);
    d[i] = Unsigned<T>(sum);
    out |= LaneMask(uint64_t(sum >> (8 * sizeof(T))) & 1) << i;
  });
  if (op.numDst == 2)
    warp.setPredicate(op.dst(1), lanes, out);
}

} // namespace

llvm::Error kvq::emu::decodeCarry(Decoder &decoder,
                                  const ptx::Instruction &inst) {
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
