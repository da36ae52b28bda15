//===- WmmaOps.cpp - wmma.load and wmma.store -----------------------------===//

#include "MatrixOperands.h"
#include "kvq/Emulator/Machine/Lanes.h"
#include "kvq/Emulator/Machine/Memory.h"

using namespace kvq::emu;
using num::MmaOperand;
using num::MmaType;
using ptx::Mod;
using ptx::Opcode;

namespace {
struct FragmentExtra : OpExtra {
  num::MmaSpec spec;
  MmaOperand operand = MmaOperand::A;
  bool isColumnMajor = false;
  /// Of an element, and of a register.
  unsigned bits = 16, registerBits = 32;
};
} // namespace

/// Where an element lies, in elements from the start of the matrix.
static uint64_t offsetOf(const FragmentExtra &extra, unsigned lane,
                         unsigned index, uint64_t stride) {
  num::MatrixCoord at = num::mmaCoord(extra.spec, extra.operand, lane, index);
  return extra.isColumnMajor ? at.col * stride + at.row
                             : at.row * stride + at.col;
}

/// Moves `count` elements side by side of each thread's register `r`, from its
/// element `first` on. False after a fatal report.
static bool moveRun(Warp &warp, const Op &op, LaneMask lanes, unsigned r,
                    unsigned first, unsigned count) {
  const auto &extra = *static_cast<const FragmentExtra *>(op.extra);
  const Operand &operand = op.src(op.numSrc - 2u);
  const uint64_t *base = operand.isNone() ? nullptr : warp.values(operand);
  const uint64_t *strides = warp.values(op.src(op.numSrc - 1u));
  uint64_t bias = addressBias(warp, op);
  unsigned perRegister = extra.registerBits / extra.bits;
  unsigned bytes = count * extra.bits / 8, shift = first * extra.bits;
  bool store = op.a;
  AccessCounter counter(warp, store);
  for (LaneMask rest = lanes; rest; rest &= rest - 1) {
    unsigned lane = llvm::countr_zero(rest);
    uint64_t offset = offsetOf(extra, lane, r * perRegister + first,
                               static_cast<uint32_t>(strides[lane]));
    Location location;
    if (!locate(warp, op, lane, op.space,
                (base ? base[lane] : 0) + bias + offset * extra.bits / 8, bytes,
                bytes, location))
      return false;
    counter.add(location, bytes);
    if (!store) {
      noteAccess(warp, op, lane, location, bytes, AccessKind::Read);
      uint64_t &value = warp.destination(op.dst(r))[lane];
      value = (first ? value : 0) | readBytes(location.host, bytes) << shift;
      continue;
    }
    uint64_t value = lowBits(warp.values(op.src(r))[lane] >> shift, 8 * bytes);
    noteAccess(warp, op, lane, location, bytes,
               kindOfStore(location, &value, bytes));
    writeBytes(location.host, value, bytes);
  }
  return true;
}

/// Registers, address, stride in elements. Op: a 1 stores.
static void moveFragment(Warp &warp, const Op &op, LaneMask lanes) {
  if (!warp.convergeAligned(op, lanes))
    return;
  const auto &extra = *static_cast<const FragmentExtra *>(op.extra);
  unsigned registers = op.a ? op.numSrc - 2u : op.numDst;
  const Operand &operand = op.src(op.numSrc - 2u);
  uint64_t start = addressBias(warp, op);
  unsigned leader = llvm::countr_zero(lanes);
  if (!operand.isNone())
    start += warp.values(operand)[leader];
  Location location;
  if (!locate(warp, op, leader, op.space, start, 1,
              registers * extra.registerBits / 8, location))
    return;
  unsigned perRegister = extra.registerBits / extra.bits;
  // Elements of a register lie side by side, or each by itself.
  bool isRun = perRegister > 1 &&
               offsetOf(extra, 0, 1, 256) == offsetOf(extra, 0, 0, 256) + 1;
  unsigned count = isRun ? perRegister : 1;
  for (unsigned r = 0; r < registers; ++r)
    for (unsigned first = 0; first < perRegister; first += count)
      if (!moveRun(warp, op, lanes, r, first, count))
        return;
  if (op.a)
    warp.launch.progress();
}

/// What the product may be that a fragment is of, as loads and stores of C and
/// D do not name A.
static MmaType factorOf(const ptx::Modifiers &mods, MmaType accumulator) {
  if (accumulator == MmaType::S32)
    return mods.k == 128  ? MmaType::B1
           : mods.k == 32 ? MmaType::S4
                          : MmaType::S8;
  if (accumulator == MmaType::F64)
    return MmaType::F64;
  return mods.k == 8 ? MmaType::TF32 : MmaType::F16;
}

llvm::Error kvq::emu::decodeFragment(Decoder &decoder,
                                     const ptx::Instruction &inst) {
  const ptx::Modifiers &mods = inst.mods;
  const auto &operands = inst.operands;
  bool store = inst.opcode == Opcode::WmmaStore;
  std::optional<MmaType> type = toMmaType(mods.type());
  bool isA = mods.has(Mod::A), isB = mods.has(Mod::B);
  if (!type || (store ? !mods.has(Mod::D) : !isA && !isB && !mods.has(Mod::C)))
    return decoder.unsupported(inst);
  auto *extra = decoder.newExtra<FragmentExtra>();
  num::MmaSpec &spec = extra->spec;
  spec.wmma = true;
  spec.m = mods.m;
  spec.n = mods.n;
  spec.k = mods.k;
  if (isA || isB) {
    spec.a = spec.b = *type;
    bool isInteger = *type >= MmaType::S8;
    spec.c = spec.d = isInteger               ? MmaType::S32
                      : *type == MmaType::F64 ? MmaType::F64
                                              : MmaType::F32;
  } else {
    spec.c = spec.d = *type;
    spec.a = spec.b = factorOf(mods, *type);
  }
  if (llvm::Error error = num::checkMma(spec))
    return decoder.error(inst, llvm::toString(std::move(error)));
  extra->operand = isA ? MmaOperand::A : isB ? MmaOperand::B : MmaOperand::C;
  extra->isColumnMajor = mods.has(Mod::Col);
  extra->bits = ptx::getBits(mods.type());
  extra->registerBits = extra->bits == 64 ? 64 : 32;
  if (extra->bits < 8 && extra->isColumnMajor != isB)
    return decoder.error(inst, "elements of less than a byte need A in rows "
                               "and B in columns");
  auto address = decodeAddress(decoder, inst, operands[store ? 0 : 1],
                               toSpace(mods.space()));
  if (!address)
    return address.takeError();
  llvm::SmallVector<Operand, 8> dst, src;
  for (const ptx::Operand &element : listOf(decoder, operands[store ? 1 : 0]))
    if (store)
      src.push_back(decoder.source(element, extra->registerBits));
    else
      dst.push_back(decoder.destination(element, extra->registerBits));
  unsigned needed =
      num::mmaRegisters(spec, extra->operand) / (extra->registerBits / 32);
  if ((store ? src : dst).size() != needed)
    return decoder.error(inst, "the fragment has " + llvm::Twine(needed) +
                                   " registers");
  unsigned rows = isB ? spec.k : spec.m, columns = isA ? spec.k : spec.n;
  src.push_back(address->base);
  src.push_back(operands.size() > 2
                    ? decoder.source(operands[2], 32)
                    : decoder.constant(extra->isColumnMajor ? rows : columns));
  Op &op =
      decoder.emit(inst, moveFragment,
                   address->space == Space::Shared ? InstructionClass::Shared
                                                   : InstructionClass::Global,
                   dst, src);
  op.extra = extra;
  op.a = store;
  op.imm = address->imm;
  op.space = address->space;
  op.c = address->flags;
  return llvm::Error::success();
}
