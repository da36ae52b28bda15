//===- StackOps.cpp - alloca, stacksave and stackrestore ------------------===//

#include "kvq/Emulator/Machine/Decoder.h"
#include "kvq/Emulator/Machine/Lanes.h"
#include "kvq/Emulator/Machine/Launch.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

using namespace kvq::emu;
using ptx::Opcode;

/// What a thread may have on its stack, as on hardware with its largest limit.
static constexpr uint64_t maxStackBytes = 512 * 1024;

/// Op: imm the alignment. Gives a local address.
static void allocate(Warp &warp, const Op &op, LaneMask lanes) {
  const uint64_t *size = warp.values(op.src(0));
  uint64_t *d = warp.destination(op.dst());
  for (LaneMask rest = lanes; rest; rest &= rest - 1) {
    unsigned lane = llvm::countr_zero(rest);
    uint64_t begin =
        llvm::alignTo(warp.stackTop(lane), static_cast<uint64_t>(op.imm));
    if (size[lane] > maxStackBytes || begin + size[lane] > maxStackBytes) {
      warp.report(
          FindingKind::OutOfBounds, op, lane, 0,
          llvm::formatv("{0} bytes of stack on top of {1}; a thread has "
                        "at most {2}",
                        size[lane], warp.stackTop(lane), maxStackBytes)
              .str(),
          true);
      return;
    }
    uint64_t top = begin + size[lane];
    warp.stackTop(lane) = top;
    std::vector<uint8_t> &bytes = warp.stack(lane);
    if (bytes.size() < top)
      bytes.resize(top);
    if (warp.launch.checkWritten) {
      std::vector<uint8_t> &written = warp.stackWritten(lane);
      written.resize(bytes.size());
      std::fill(written.begin() + static_cast<ptrdiff_t>(begin),
                written.begin() + static_cast<ptrdiff_t>(top), 0);
    }
    d[lane] = stackBase + begin;
  }
}

static void save(Warp &warp, const Op &op, LaneMask lanes) {
  uint64_t *d = warp.destination(op.dst());
  forLanes(lanes, [&](unsigned i) { d[i] = stackBase + warp.stackTop(i); });
}

static void restore(Warp &warp, const Op &op, LaneMask lanes) {
  const uint64_t *a = warp.values(op.src(0));
  for (LaneMask rest = lanes; rest; rest &= rest - 1) {
    unsigned lane = llvm::countr_zero(rest);
    if (a[lane] < stackBase || a[lane] - stackBase > warp.stackTop(lane)) {
      warp.report(FindingKind::IllegalOperand, op, lane, a[lane],
                  "no stacksave of this function has given this value", true);
      return;
    }
    warp.stackTop(lane) = a[lane] - stackBase;
  }
}

llvm::Error kvq::emu::decodeStack(Decoder &decoder,
                                  const ptx::Instruction &inst) {
  const auto &operands = inst.operands;
  if (operands.empty())
    return decoder.unsupported(inst);
  unsigned bits = ptx::getBits(inst.mods.type());
  switch (inst.opcode) {
  case Opcode::Stacksave:
    decoder.emit(inst, save, InstructionClass::Move,
                 decoder.destination(operands[0], bits), {});
    return llvm::Error::success();
  case Opcode::Stackrestore:
    decoder.emit(inst, restore, InstructionClass::Move, {},
                 decoder.source(operands[0], bits));
    return llvm::Error::success();
  default:
    break;
  }
  std::optional<uint64_t> alignment = 8;
  if (operands.size() == 3)
    alignment = Decoder::immediate(operands[2]);
  if (operands.size() < 2 || !alignment || !llvm::isPowerOf2_64(*alignment) ||
      *alignment > (1 << 23))
    return decoder.error(inst, "the alignment must be a power of two, at most "
                               "2^23");
  Operand size = decoder.source(operands[1], bits);
  decoder
      .emit(inst, allocate, InstructionClass::Move,
            decoder.destination(operands[0], bits), size)
      .imm = static_cast<int64_t>(*alignment);
  return llvm::Error::success();
}
