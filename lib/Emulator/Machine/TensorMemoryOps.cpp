//===- TensorMemoryOps.cpp - tcgen05 ld, st, waits and fences -------------===//

#include "TensorDecoding.h"
#include "kvq/Emulator/Machine/Lanes.h"
#include "kvq/Emulator/Machine/Memory.h"
#include "llvm/Support/FormatVariadic.h"

using namespace kvq::emu;
using ptx::Mod;
using ptx::Opcode;

void kvq::emu::reportTensorMisuse(Warp &warp, const Op &op, unsigned lane,
                                  uint64_t address,
                                  const llvm::Twine &message) {
  warp.report(FindingKind::TensorMemory, op, lane, address, message, true);
}

bool kvq::emu::checkTensorColumn(Warp &warp, const Op &op, unsigned lane,
                                 uint32_t address, unsigned columns,
                                 const char *what) {
  unsigned column = tc::cellAt(address).column;
  if (column % columns == 0)
    return true;
  warp.report(FindingKind::Misaligned, op, lane, address,
              llvm::formatv("column {0} of {1} is not a multiple of {2}",
                            column, what, columns)
                  .str(),
              true);
  return false;
}

namespace {

void completeMove(AsyncWork &work) {
  work.done = true;
  auto perform = std::move(work.perform);
  perform();
}

/// Op: a 1 waits for stores, else for loads.
void waitTensor(Warp &warp, const Op &op, LaneMask lanes) {
  if (!warp.convergeAligned(op, lanes))
    return;
  AsyncWork::Move move =
      op.a ? AsyncWork::Move::TensorStore : AsyncWork::Move::TensorLoad;
  for (AsyncWork &work : warp.asyncCopies.work)
    if (!work.done && work.move == move)
      completeMove(work);
  std::deque<AsyncWork> &queue = warp.asyncCopies.work;
  while (!queue.empty() && queue.front().done)
    queue.pop_front();
  if (warp.launch.checkRaces)
    warp.launch.races.learnOwn(
        warp, lanes, op.a ? AgentKind::TensorStore : AgentKind::TensorLoad, 0,
        op.a ? warp.clock.tensorStore : warp.clock.tensorLoad);
}

/// Op: a 1 is ::after_thread_sync.
void fenceTensor(Warp &warp, const Op &op, LaneMask lanes) {
  if (!warp.launch.checkRaces)
    return;
  if (op.a)
    warp.launch.races.fenceAfterThreadSync(warp, lanes);
  else
    warp.launch.races.fenceBeforeThreadSync(warp, lanes);
}

/// Starts a load or store, which completes when the schedule says or a
/// tcgen05.wait asks.
void startMove(Warp &warp, const Op &op, bool store,
               std::function<void()> perform) {
  if (warp.launch.isEager()) {
    perform();
    return;
  }
  AsyncWork work;
  work.perform = std::move(perform);
  work.move =
      store ? AsyncWork::Move::TensorStore : AsyncWork::Move::TensorLoad;
  if (!store) {
    work.op = &op;
    work.frameRegisters = warp.getFrame().registers;
    ++warp.pendingLoads;
  }
  warp.asyncCopies.work.push_back(std::move(work));
}

struct AccessExtra : OpExtra {
  tc::TmemShape shape = tc::TmemShape::S32x32b;
  unsigned split = 0;
  bool pack = false;
};

void storeCells(Warp &warp, const Op &op, LaneMask lanes, tc::TmemCell base,
                llvm::ArrayRef<uint32_t> values) {
  const auto &extra = *static_cast<const AccessExtra *>(op.extra);
  forLanes(lanes, [&](unsigned i) {
    for (unsigned r = 0; r < op.numSrc - 1u; ++r) {
      tc::TmemCell cell = tc::tmemCell(extra.shape, i, r, extra.split);
      uint32_t value = values[r * warpSize + i];
      for (unsigned h = 0; h < (extra.pack ? 2u : 1u); ++h) {
        tc::TmemCell at = extra.pack ? tc::packedCell(cell, h) : cell;
        warp.cta.tensor.write(base.lane + at.lane, base.column + at.column,
                              extra.pack ? value >> 16 * h & 0xffff : value);
      }
    }
  });
  warp.launch.progress();
}

void loadCells(Warp &warp, const Op &op, LaneMask lanes, tc::TmemCell base,
               const Frame &frame) {
  const auto &extra = *static_cast<const AccessExtra *>(op.extra);
  const TensorMemoryState &tensor = warp.cta.tensor;
  bool reported = !warp.launch.checkWritten;
  if (!warp.launch.isEager())
    --warp.pendingLoads;
  forLanes(lanes, [&](unsigned i) {
    for (unsigned r = 0; r < op.numDst; ++r) {
      tc::TmemCell cell = tc::tmemCell(extra.shape, i, r, extra.split);
      uint32_t value = 0;
      for (unsigned h = 0; h < (extra.pack ? 2u : 1u); ++h) {
        tc::TmemCell at = extra.pack ? tc::packedCell(cell, h) : cell;
        unsigned lane = base.lane + at.lane, column = base.column + at.column;
        if (!reported && !tensor.isWritten(lane, column)) {
          reported = true;
          warp.report(FindingKind::Uninitialized, op, i,
                      uint64_t(lane) << 16 | column,
                      llvm::formatv("reads lane {0}, column {1} of tensor "
                                    "memory, which nothing has written",
                                    lane, column)
                          .str(),
                      false);
        }
        uint32_t word = tensor.read(lane, column);
        value = extra.pack ? value | (word & 0xffff) << 16 * h : word;
      }
      warp.setCallerRegister(frame, op.dst(r), i, value);
    }
  });
}

/// Tells the race check of the cells that a load or store touches.
void noteMove(Warp &warp, const Op &op, LaneMask lanes, tc::TmemCell base) {
  const auto &extra = *static_cast<const AccessExtra *>(op.extra);
  bool store = op.a;
  unsigned registers = store ? op.numSrc - 1u : op.numDst;
  bool split = extra.shape == tc::TmemShape::S16x32bx2;
  // Columns from that of the first register of thread 0 to that of the last of
  // the thread with the highest, and the same again behind the split.
  unsigned columns =
      tc::tmemCell(extra.shape, split ? 15 : 31, registers - 1, extra.split)
          .column +
      1u;
  if (extra.pack)
    columns *= 2;
  Stamp stamp = HappensBefore::tensorMoveStamp(warp, store);
  TensorRole role = store ? TensorRole::Store : TensorRole::Load;
  unsigned halves = tc::tmemLanesOf(extra.shape) / 16;
  unsigned viewer = 31 - llvm::countl_zero(lanes);
  for (unsigned half = base.lane / 16; half < base.lane / 16 + halves; ++half)
    for (unsigned part = 0; part < (split ? 2u : 1u); ++part)
      warp.launch.races.accessTensor(warp, op, viewer, warp.cta, half,
                                     base.column + part * extra.split *
                                                       (extra.pack ? 2 : 1),
                                     columns, store, role, 0, stamp);
}

/// Op: a 1 stores; numDst or numSrc - 1 registers, then the address.
void access(Warp &warp, const Op &op, LaneMask lanes) {
  if (!warp.convergeAligned(op, lanes))
    return;
  const auto &extra = *static_cast<const AccessExtra *>(op.extra);
  bool store = op.a;
  unsigned registers = store ? op.numSrc - 1u : op.numDst;
  const Operand &operand = op.src(op.numSrc - 1u);
  const uint64_t *addresses = operand.isNone() ? nullptr : warp.values(operand);
  unsigned leader = llvm::countr_zero(lanes);
  uint32_t address = static_cast<uint32_t>((addresses ? addresses[leader] : 0) +
                                           static_cast<uint64_t>(op.imm));
  LaneMask same = lanesWhere(lanes, [&](unsigned i) {
    return !addresses || addresses[i] == addresses[leader];
  });
  if (same != lanes)
    return reportTensorMisuse(warp, op, llvm::countr_zero(lanes & ~same),
                              address,
                              "threads of the warp give different addresses");
  tc::TmemCell base = tc::cellAt(address);
  unsigned quarter = warp.index % 4;
  bool half = extra.shape != tc::TmemShape::S32x32b;
  if (base.lane / 32 != quarter ||
      (base.lane % 32 && !(half && base.lane % 32 == 16)))
    return reportTensorMisuse(
        warp, op, leader, address,
        llvm::formatv("lane {0}; warp {1} reaches lanes {2} to {3}", base.lane,
                      warp.index, 32 * quarter, 32 * quarter + 31));
  if ((extra.shape == tc::TmemShape::S16x64b ||
       extra.shape == tc::TmemShape::S16x128b) &&
      !checkTensorColumn(warp, op, leader, address, 2, "tensor memory"))
    return;
  // All cells must be there before any work starts.
  TensorMemoryState &tensor = warp.cta.tensor;
  for (unsigned r = 0; r < registers; ++r)
    for (unsigned i = 0; i < warpSize; ++i) {
      tc::TmemCell cell = tc::tmemCell(extra.shape, i, r, extra.split);
      tc::TmemCell at = extra.pack ? tc::packedCell(cell, 1) : cell;
      unsigned lane = base.lane + at.lane, column = base.column + at.column;
      if (lane >= tc::tmemLanes || !tensor.isAllocated(column))
        return reportTensorMisuse(
            warp, op, i, address,
            llvm::formatv("lane {0}, column {1} of tensor memory "
                          "is not allocated",
                          lane, column));
    }
  if (warp.launch.checkRaces)
    noteMove(warp, op, lanes, base);
  std::vector<uint32_t> values;
  if (store) {
    values.resize(size_t(registers) * warpSize);
    for (unsigned r = 0; r < registers; ++r)
      for (unsigned i = 0; i < warpSize; ++i)
        values[r * warpSize + i] =
            static_cast<uint32_t>(warp.values(op.src(r))[i]);
  }
  Warp *self = &warp;
  const Op *where = &op;
  Frame frame = warp.getFrame();
  startMove(warp, op, store, [=, values = std::move(values)] {
    if (store)
      storeCells(*self, *where, lanes, base, values);
    else
      loadCells(*self, *where, lanes, base, frame);
  });
  uint64_t bytes = uint64_t(registers) * warpSize * 4;
  Counters &counters = warp.launch.counters;
  (store ? counters.tensorMemoryWriteBytes : counters.tensorMemoryReadBytes) +=
      bytes;
}

} // namespace

void kvq::emu::resolveTensorLoads(Warp &warp, const Op &op) {
  unsigned total = op.numDst + op.numSrc;
  // Such operations keep their operands elsewhere.
  bool unknown =
      (op.extra && !total) || op.category == InstructionClass::Control;
  for (AsyncWork &work : warp.asyncCopies.work) {
    if (work.done || work.move != AsyncWork::Move::TensorLoad)
      continue;
    bool isRead = false, isWritten = false;
    if (work.frameRegisters == warp.getFrame().registers)
      for (unsigned o = 0; o < total; ++o) {
        const Operand &operand = op.operands[o];
        if (operand.bank != Bank::Register || operand.predicate)
          continue;
        for (unsigned d = 0; d < work.op->numDst; ++d)
          if (work.op->dst(d).index == operand.index)
            (o < op.numDst ? isWritten : isRead) = true;
      }
    bool needed = unknown || isRead || isWritten;
    if (isWritten && !isRead && warp.launch.checkProtocol)
      warp.report(FindingKind::TensorMemory, op,
                  llvm::countr_zero(warp.active()), 0,
                  llvm::formatv("overwrites a register that line {0} ('{1}') "
                                "may still load; no tcgen05.wait::ld lies "
                                "between the two",
                                work.op->line, work.op->oneLine())
                      .str(),
                  false);
    if (needed)
      completeMove(work);
  }
}

static llvm::Error decodeAccess(Decoder &decoder,
                                const ptx::Instruction &inst) {
  const ptx::Modifiers &mods = inst.mods;
  const auto &operands = inst.operands;
  bool store = inst.opcode == Opcode::Tcgen05St;
  auto *extra = decoder.newExtra<AccessExtra>();
  extra->shape = mods.has(Mod::S16x64b)     ? tc::TmemShape::S16x64b
                 : mods.has(Mod::S16x128b)  ? tc::TmemShape::S16x128b
                 : mods.has(Mod::S16x256b)  ? tc::TmemShape::S16x256b
                 : mods.has(Mod::S16x32bx2) ? tc::TmemShape::S16x32bx2
                                            : tc::TmemShape::S32x32b;
  extra->pack = mods.has(Mod::Pack16b) || mods.has(Mod::Unpack16b);
  bool split = extra->shape == tc::TmemShape::S16x32bx2;
  unsigned num = mods.count ? mods.count : 1;
  if (llvm::Error error = tc::checkTmemAccess(extra->shape, num))
    return decoder.error(inst, llvm::toString(std::move(error)));
  if (operands.size() != (split ? 3u : 2u))
    return decoder.unsupported(inst);
  if (split) {
    auto value = Decoder::immediate(operands[store ? 1 : 2]);
    if (!value)
      return decoder.error(inst, "the split offset must be an immediate");
    extra->split = static_cast<unsigned>(*value);
  }
  const ptx::Operand &data = store ? operands.back() : operands[0];
  auto address =
      decodeAddress(decoder, inst, operands[store ? 0 : 1], Space::Tensor);
  if (!address)
    return address.takeError();
  llvm::SmallVector<Operand, 8> dst, src;
  auto add = [&](const ptx::Operand &element) {
    if (store)
      src.push_back(decoder.source(element, 32));
    else
      dst.push_back(decoder.destination(element, 32));
  };
  if (data.kind == ptx::OperandKind::Vector)
    for (const ptx::Operand &element : decoder.elements(data))
      add(element);
  else
    add(data);
  if ((store ? src : dst).size() != tc::tmemRegisters(extra->shape, num))
    return decoder.error(inst,
                         "the instruction moves " +
                             llvm::Twine(tc::tmemRegisters(extra->shape, num)) +
                             " registers per thread");
  src.push_back(address->base);
  Op &op = decoder.emit(inst, access, InstructionClass::Tensor, dst, src);
  op.extra = extra;
  op.imm = address->imm;
  op.a = store;
  return llvm::Error::success();
}

llvm::Error kvq::emu::decodeTensorMemory(Decoder &decoder,
                                         const ptx::Instruction &inst) {
  decoder.program.usesTensorMemory = true;
  switch (inst.opcode) {
  case Opcode::Tcgen05WaitLd:
  case Opcode::Tcgen05WaitSt:
    emitTensorOp(decoder, inst, waitTensor, {}).a =
        inst.opcode == Opcode::Tcgen05WaitSt;
    return llvm::Error::success();
  case Opcode::Tcgen05FenceBefore:
  case Opcode::Tcgen05FenceAfter:
    emitTensorOp(decoder, inst, fenceTensor, {}).a =
        inst.opcode == Opcode::Tcgen05FenceAfter;
    return llvm::Error::success();
  case Opcode::Tcgen05Ld:
  case Opcode::Tcgen05St:
    return decodeAccess(decoder, inst);
  default:
    return decoder.unsupported(inst);
  }
}
