//===- TensorCopy.cpp - cp.async.bulk.tensor and tensormap ----------------===//

#include "kvq/Emulator/Machine/BulkCopy.h"
#include "kvq/Emulator/Machine/Lanes.h"
#include "kvq/Emulator/Machine/MBarrier.h"
#include "kvq/Emulator/Machine/TensorBox.h"
#include "llvm/Support/FormatVariadic.h"

using namespace kvq::emu;
using ptx::Mod;
using ptx::Opcode;
using ptx::Type;

namespace {

struct TensorExtra : OpExtra {
  ExtraAddress shared, map, barrier;
  llvm::SmallVector<Operand, 5> coordinates;
  Operand mask;
  bool load = true, multicast = false, reduces = false;
  /// gather4 and scatter4: four rows of a matrix, each with its own index.
  bool pickRows = false;
  Mod reduction = Mod::Add;
};

bool locateGlobalRun(Warp &warp, const Op &op, unsigned lane, uint64_t address,
                     unsigned bytes, Location &location) {
  return locate(warp, op, lane, Space::Global, address, bytes, 1, location);
}

/// What is done with the bytes of a box: at issue the race check sees them,
/// when the copy takes effect they move.
struct BoxPass {
  const CopyStamps *check = nullptr;
  /// The same bytes go to a CTA before: global memory is read once only.
  bool again = false;
  bool moves() const { return !check; }

  void read(Warp &warp, const Op &op, unsigned lane, const Location &location,
            unsigned bytes) const {
    if (check)
      noteAsync(warp, op, lane, location, bytes, AccessKind::Read, check->read);
    else
      noteWritten(warp, op, lane, location, bytes, AccessKind::Read);
    count(warp, location, bytes, /*write=*/false);
  }
  void write(Warp &warp, const Op &op, unsigned lane, const Location &location,
             unsigned bytes, AccessKind kind = AccessKind::Write) const {
    if (check)
      noteAsync(warp, op, lane, location, bytes, kind, check->write);
    else
      noteWritten(warp, op, lane, location, bytes, kind);
    count(warp, location, bytes, /*write=*/true);
  }

private:
  void count(Warp &warp, const Location &location, unsigned bytes,
             bool write) const {
    if (moves() && !again && location.space == Space::Global)
      countTransfer(warp, location, bytes, write);
  }
};

/// Moves a box from global to the shared memory at `base`.
void loadBox(Warp &warp, const Op &op, unsigned lane, const Box &box,
             uint64_t base, const BoxPass &pass) {
  RowMover mover(box);
  std::vector<uint8_t> row;
  auto inside = insideElements(box);
  unsigned first = inside.first, last = inside.second;
  uint64_t fill = fillPattern(box.map);
  forRows(box, [&](uint64_t index, uint64_t address) {
    if (warp.launch.stopped())
      return;
    for (size_t i = 0; i < mover.packed.size(); ++i)
      mover.packed[i] = static_cast<uint8_t>(fill >> 8 * (i % 8));
    if (address && first < last) {
      if (box.map.elementStrides[0] == 1) {
        unsigned begin = first * box.bits / 8, end = last * box.bits / 8;
        Location location;
        if (end > begin) {
          if (!locateGlobalRun(warp, op, lane, mover.globalByte(address, first),
                               end - begin, location))
            return;
          pass.read(warp, op, lane, location, end - begin);
          memcpy(mover.packed.data() + begin, location.host, end - begin);
        }
      } else {
        unsigned bytes = box.bits / 8;
        for (unsigned e = first; e < last; ++e) {
          Location location;
          if (!locateGlobalRun(warp, op, lane, mover.globalByte(address, e),
                               bytes, location))
            return;
          pass.read(warp, op, lane, location, bytes);
          memcpy(mover.packed.data() + e * bytes, location.host, bytes);
        }
      }
    }
    spread(box, mover.packed, row);
    for (unsigned at = 0; at < box.rowBytes; at += 16) {
      uint64_t to =
          swizzleAddress(box.map.swizzle, base + index * box.rowBytes + at);
      unsigned bytes = std::min(16u, box.rowBytes - at);
      Location location;
      if (!locate(warp, op, lane, Space::SharedCluster, to, bytes, 1, location))
        return;
      pass.write(warp, op, lane, location, bytes);
      if (pass.moves())
        memcpy(location.host, row.data() + at, bytes);
    }
  });
}

Type reductionType(TensorElement element) {
  switch (element) {
  case TensorElement::U32:
    return Type::U32;
  case TensorElement::S32:
    return Type::S32;
  case TensorElement::U64:
    return Type::U64;
  case TensorElement::S64:
    return Type::S64;
  case TensorElement::F16:
    return Type::F16;
  case TensorElement::BF16:
    return Type::BF16;
  case TensorElement::F32:
  case TensorElement::F32Ftz:
    return Type::F32;
  case TensorElement::F64:
    return Type::F64;
  default:
    return Type::None;
  }
}

/// Moves a box from shared memory to global, or combines it there.
void storeBox(Warp &warp, const Op &op, unsigned lane, const Box &box,
              uint64_t base, const AtomicOperation *reduction,
              const BoxPass &pass) {
  RowMover mover(box);
  auto inside = insideElements(box);
  unsigned first = inside.first, last = inside.second;
  unsigned bytes = std::max(1u, box.bits / 8);
  forRows(box, [&](uint64_t index, uint64_t address) {
    if (warp.launch.stopped())
      return;
    for (unsigned at = 0; at < box.rowBytes; at += 16) {
      uint64_t from =
          swizzleAddress(box.map.swizzle, base + index * box.rowBytes + at);
      unsigned run = std::min(16u, box.rowBytes - at);
      Location location;
      if (!locate(warp, op, lane, Space::SharedCluster, from, run, 1, location))
        return;
      pass.read(warp, op, lane, location, run);
      memcpy(mover.packed.data() + at, location.host, run);
    }
    if (!address || first >= last)
      return;
    if (!reduction && box.map.elementStrides[0] == 1) {
      unsigned begin = first * box.bits / 8, end = last * box.bits / 8;
      Location location;
      if (end == begin ||
          !locateGlobalRun(warp, op, lane, mover.globalByte(address, first),
                           end - begin, location))
        return;
      pass.write(warp, op, lane, location, end - begin);
      if (pass.moves())
        memcpy(location.host, mover.packed.data() + begin, end - begin);
      return;
    }
    for (unsigned e = first; e < last; ++e) {
      Location location;
      if (!locateGlobalRun(warp, op, lane, mover.globalByte(address, e), bytes,
                           location))
        return;
      pass.write(warp, op, lane, location, bytes,
                 reduction ? AccessKind::StrongWrite : AccessKind::Write);
      if (!pass.moves())
        continue;
      uint64_t value = readBytes(mover.packed.data() + e * bytes, bytes);
      if (reduction)
        updateAtomically(location.host, bytes, [&](uint64_t old) {
          return reduction->apply(old, value);
        });
      else
        writeBytes(location.host, value, bytes);
    }
  });
}

/// The shared side of a copied box: rows lie one behind the other.
void countShared(Warp &warp, const Box &box, bool write) {
  Location all;
  all.space = Space::Shared;
  countTransfer(warp, all, box.rows * box.rowBytes, write);
}

void tensorCopy(Warp &warp, const Op &op, LaneMask lanes) {
  const auto &extra = *static_cast<const TensorExtra *>(op.extra);
  for (LaneMask rest = lanes; rest; rest &= rest - 1) {
    unsigned lane = llvm::countr_zero(rest);
    Location mapLocation;
    if (!locate(warp, op, lane, extra.map.space, extra.map.value(warp, lane),
                128, 64, mapLocation))
      return;
    auto illegal = [&](const std::string &message) {
      warp.report(FindingKind::IllegalOperand, op, lane, mapLocation.shown,
                  message, true);
    };
    noteAsync(warp, op, lane, mapLocation, 128, AccessKind::Read,
              HappensBefore::threadStamp(warp, lane), Proxy::TensorMap);
    llvm::Expected<TensorMap> map = decodeTensorMap(mapLocation.host);
    if (!map)
      return illegal(llvm::toString(map.takeError()));
    if (llvm::Error error = checkTensorMap(*map))
      return illegal(llvm::toString(std::move(error)));
    size_t rank = extra.pickRows ? 2 : extra.coordinates.size();
    if (map->globalDims.size() != rank)
      return illegal(
          llvm::formatv("the tensor map has rank {0}, the instruction {1}",
                        map->globalDims.size(), rank));
    if (extra.pickRows && map->boxDims[1] != 1)
      return illegal(llvm::formatv("the box has {0} rows; for four rows with "
                                   "indices of their own it has one",
                                   map->boxDims[1]));
    llvm::SmallVector<int64_t, 5> start;
    for (const Operand &coordinate : extra.coordinates)
      start.push_back(static_cast<int32_t>(warp.values(coordinate)[lane]));
    Box box = makeBox(*map, start);
    if (extra.pickRows) {
      box.picked.emplace();
      std::copy_n(start.begin() + 1, 4, box.picked->begin());
      box.rows = 4;
    }
    if (start[0] * int64_t(box.bits) % 8 ||
        (box.bits == 4 && box.map.element == TensorElement::B4x16P64 &&
         start[0] % 128))
      return illegal(llvm::formatv("coordinate {0} of the innermost dimension "
                                   "is not aligned for its element type",
                                   start[0]));
    uint64_t shared = stripWindow(extra.shared.value(warp, lane));
    if (shared % 128) {
      warp.report(FindingKind::Misaligned, op, lane, shared,
                  llvm::formatv("shared address {0:x} of a tensor copy is not "
                                "aligned to 128 bytes",
                                shared)
                      .str(),
                  true);
      return;
    }
    unsigned payload = static_cast<unsigned>(box.rows * box.rowPayload);
    warp.launch.counters.asyncCopyBytes += payload;
    Warp *self = &warp;
    const Op *where = &op;
    if (!extra.load) {
      std::optional<AtomicOperation> reduction;
      if (extra.reduces) {
        ptx::Instruction words;
        words.mods.words.set(static_cast<size_t>(extra.reduction));
        Type type = reductionType(box.map.element);
        reduction = AtomicOperation::find(words, type);
        if (type == Type::None || !reduction)
          return illegal("this reduction is not defined for the element type");
      }
      CopyStamps stamps = groupStamps(warp, lane);
      noteGroupReads(warp, lane);
      if (warp.launch.checkRaces)
        storeBox(warp, op, lane, box, shared, reduction ? &*reduction : nullptr,
                 {&stamps});
      startWork(warp, lane, warp.asyncCopies.bulkGroup[lane], [=] {
        storeBox(*self, *where, lane, box, shared,
                 reduction ? &*reduction : nullptr, {});
        countShared(*self, box, /*write=*/false);
        self->launch.progress();
      });
      continue;
    }
    uint64_t barrier = stripWindow(extra.barrier.value(warp, lane));
    llvm::SmallVector<std::pair<uint64_t, uint64_t>, 16> targets;
    if (extra.multicast) {
      uint64_t mask = warp.values(extra.mask)[lane] & 0xffff;
      for (unsigned rank = 0; rank < 16; ++rank)
        if (mask >> rank & 1)
          targets.push_back({inRank(shared, rank), inRank(barrier, rank)});
    } else {
      targets.push_back({shared, barrier});
    }
    for (auto [address, barrierAddress] : targets) {
      Location signal;
      if (!locateMBarrier(warp, op, lane, Space::SharedCluster, barrierAddress,
                          signal))
        return;
      uint64_t to = address;
      bool again = address != targets.front().first;
      CopyStamps stamps = signalledStamps(warp, lane);
      if (warp.launch.checkRaces)
        loadBox(warp, op, lane, box, to, {&stamps});
      startWork(warp, lane, -1, [=] {
        loadBox(*self, *where, lane, box, to, {nullptr, again});
        countShared(*self, box, /*write=*/true);
        self->launch.progress();
        if (!self->launch.stopped())
          completeWork(*self, signal.host, payload, stamps.write);
      });
    }
  }
}

} // namespace

llvm::Error kvq::emu::decodeTensorCopy(Decoder &decoder,
                                       const ptx::Instruction &inst) {
  const ptx::Modifiers &mods = inst.mods;
  const auto &operands = inst.operands;
  if (mods.has(Mod::Im2col) || mods.has(Mod::Im2colW) ||
      mods.has(Mod::Im2colW128) || mods.has(Mod::Im2colNoOffs))
    return decoder.error(inst, "im2col copies are not supported");
  auto *extra = decoder.newExtra<TensorExtra>();
  extra->load = mods.has(Mod::MbarrierCompleteTxBytes);
  extra->multicast = mods.has(Mod::MulticastCluster);
  extra->reduces = inst.opcode == Opcode::CpReduceAsyncBulkTensor;
  // The element type is the map's.
  decoder.program.hasFloatAtomics |= extra->reduces && mods.has(Mod::Add);
  if (operands.size() < (extra->load ? 3u : 2u) + extra->multicast)
    return decoder.unsupported(inst);
  const ptx::Operand &map = operands[extra->load ? 1 : 0];
  const ptx::Operand &shared = operands[extra->load ? 0 : 1];
  if (map.kind != ptx::OperandKind::TensorAddress)
    return decoder.error(inst, "a tensor map with coordinates is needed");
  auto mapAddress = decodeAddress(decoder, inst, map, Space::Generic);
  if (!mapAddress)
    return mapAddress.takeError();
  extra->map = ExtraAddress::from(*mapAddress);
  for (const ptx::Operand &coordinate : decoder.elements(map))
    extra->coordinates.push_back(decoder.source(coordinate, 32));
  extra->pickRows = mods.has(Mod::TileGather4) || mods.has(Mod::TileScatter4);
  if (extra->pickRows
          ? extra->coordinates.size() != 5 || mods.dims != 2
          : extra->coordinates.empty() || extra->coordinates.size() > 5 ||
                (mods.dims && mods.dims != extra->coordinates.size()))
    return decoder.error(inst, "the number of coordinates is not that of the "
                               "instruction");
  auto sharedAddress =
      decodeAddress(decoder, inst, shared, Space::SharedCluster);
  if (!sharedAddress)
    return sharedAddress.takeError();
  extra->shared = ExtraAddress::from(*sharedAddress);
  if (extra->load) {
    auto barrier =
        decodeAddress(decoder, inst, operands[2], Space::SharedCluster);
    if (!barrier)
      return barrier.takeError();
    extra->barrier = ExtraAddress::from(*barrier);
    if (extra->multicast)
      extra->mask = decoder.source(operands[3], 16);
  }
  if (extra->reduces)
    for (Mod word : {Mod::Add, Mod::Min, Mod::Max, Mod::Inc, Mod::Dec, Mod::And,
                     Mod::Or, Mod::Xor})
      if (mods.has(word))
        extra->reduction = word;
  decoder.emit(inst, tensorCopy, InstructionClass::AsyncCopy, {}, {}).extra =
      extra;
  return llvm::Error::success();
}
