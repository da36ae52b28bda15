//===- AtomicOps.cpp - Atomic operations and fences -----------------------===//

#include "kvq/Emulator/Machine/AtomicOps.h"
#include "kvq/Emulator/Machine/Decoder.h"
#include "kvq/Emulator/Machine/Lanes.h"
#include "kvq/Emulator/Machine/Memory.h"
#include "kvq/Emulator/Machine/TypeMaps.h"
#include "kvq/Emulator/Numerics/Arith.h"
#include <algorithm>
#include <mutex>

using namespace kvq::emu;
using ptx::Mod;
using ptx::Opcode;
using ptx::Type;

namespace {

struct AtomicExtra : OpExtra {
  AtomicOperation operation;
};

template <typename T>
uint64_t integerAtomic(AtomicKind kind, uint64_t old, uint64_t value) {
  T a = T(old), b = T(value);
  switch (kind) {
  case AtomicKind::Add:
    return bitsOf(std::make_unsigned_t<T>(old + value));
  case AtomicKind::Min:
    return bitsOf(std::min(a, b));
  case AtomicKind::Max:
    return bitsOf(std::max(a, b));
  case AtomicKind::Inc:
    return old >= value ? 0 : old + 1;
  case AtomicKind::Dec:
    return old == 0 || old > value ? value : old - 1;
  case AtomicKind::And:
    return old & value;
  case AtomicKind::Or:
    return old | value;
  case AtomicKind::Xor:
    return old ^ value;
  case AtomicKind::Exch:
  case AtomicKind::Cas:
    return value;
  }
  return old;
}

} // namespace

uint64_t AtomicOperation::apply(uint64_t old, uint64_t value) const {
  if (function)
    return function(old, value, mode);
  bool wide = ptx::getBits(type) == 64;
  if (ptx::isSignedInteger(type))
    return wide ? integerAtomic<int64_t>(kind, old, value)
                : integerAtomic<int32_t>(kind, old, value);
  return wide ? integerAtomic<uint64_t>(kind, old, value)
              : integerAtomic<uint32_t>(kind, old, value);
}

std::optional<AtomicOperation>
AtomicOperation::find(const ptx::Instruction &inst, Type type) {
  const ptx::Modifiers &mods = inst.mods;
  AtomicOperation result;
  result.type = type;
  if (mods.has(Mod::Add))
    result.kind = AtomicKind::Add;
  else if (mods.has(Mod::Min))
    result.kind = AtomicKind::Min;
  else if (mods.has(Mod::Max))
    result.kind = AtomicKind::Max;
  else if (mods.has(Mod::Inc))
    result.kind = AtomicKind::Inc;
  else if (mods.has(Mod::Dec))
    result.kind = AtomicKind::Dec;
  else if (mods.has(Mod::And))
    result.kind = AtomicKind::And;
  else if (mods.has(Mod::Or))
    result.kind = AtomicKind::Or;
  else if (mods.has(Mod::Xor))
    result.kind = AtomicKind::Xor;
  else if (mods.has(Mod::Exch))
    result.kind = AtomicKind::Exch;
  else if (mods.has(Mod::Cas))
    result.kind = AtomicKind::Cas;
  else
    return std::nullopt;
  if (std::optional<num::FType> floatType = toFType(type)) {
    num::FOp op;
    switch (result.kind) {
    case AtomicKind::Add:
      op = num::FOp::Add;
      break;
    case AtomicKind::Min:
      op = num::FOp::Min;
      break;
    case AtomicKind::Max:
      op = num::FOp::Max;
      break;
    default:
      return std::nullopt;
    }
    // f32 additions in global memory flush subnormals.
    result.mode.ftz = type == Type::F32 && mods.space() == ptx::Space::Global;
    result.function = num::findBinary(op, *floatType, result.mode);
    if (!result.function)
      return std::nullopt;
  }
  return result;
}

/// Guards 128-bit operations, which few hosts have.
static std::mutex wideAtomics;

/// Sources: vector elements, then (cas) the new value, then the address.
/// Op: count elements of bits bits; numDst 0 is red.
static void atomic(Warp &warp, const Op &op, LaneMask lanes) {
  const Operand &baseOperand = op.src(op.numSrc - 1u);
  const uint64_t *base =
      baseOperand.isNone() ? nullptr : warp.values(baseOperand);
  uint64_t bias = addressBias(warp, op);
  const AtomicOperation &operation =
      static_cast<const AtomicExtra *>(op.extra)->operation;
  bool cas = operation.kind == AtomicKind::Cas;
  unsigned element = op.bits / 8, bytes = element * op.count;
  AccessCounter counter(warp, /*write=*/true);
  bool changed = false;
  for (LaneMask rest = lanes; rest; rest &= rest - 1) {
    unsigned i = llvm::countr_zero(rest);
    Location location;
    if (!locate(warp, op, i, op.space, (base ? base[i] : 0) + bias, bytes,
                bytes, location))
      return;
    counter.add(location, bytes);
    uint64_t key = reinterpret_cast<uint64_t>(location.host);
    if (warp.launch.checkRaces)
      warp.launch.races.acquire(warp, i, key, op.order, op.scope);
    // A read first: that the bytes were written.
    if (operation.kind != AtomicKind::Exch && location.written)
      noteAccess(warp, op, i, location, bytes, AccessKind::StrongRead);
    noteAccess(warp, op, i, location, bytes, AccessKind::StrongWrite);
    if (warp.launch.checkRaces)
      warp.launch.races.release(warp, i, key, op.order, op.scope,
                                /*readsToo=*/true);
    if (element == 16) {
      std::lock_guard<std::mutex> lock(wideAtomics);
      uint64_t low = readBytes(location.host, 8),
               high = readBytes(location.host + 8, 8);
      const uint64_t *a = warp.values(op.src(0));
      const uint64_t *b = cas ? warp.values(op.src(1)) : a;
      if (!cas || (low == a[i] && high == a[i + warpSize])) {
        writeBytes(location.host, b[i], 8);
        writeBytes(location.host + 8, b[i + warpSize], 8);
        changed = true;
      }
      if (op.numDst) {
        warp.destination(op.dst())[i] = low;
        warp.destination(op.dst())[i + warpSize] = high;
      }
      continue;
    }
    for (unsigned k = 0; k < op.count; ++k) {
      uint64_t value = warp.values(op.src(k))[i];
      uint64_t desired = cas ? warp.values(op.src(1))[i] : 0;
      uint64_t old = updateAtomically(
          location.host + k * element, element, [&](uint64_t before) {
            uint64_t after = !cas ? operation.apply(before, value)
                             : before == lowBits(value, op.bits) ? desired
                                                                 : before;
            after = lowBits(after, op.bits);
            changed |= after != before;
            return after;
          });
      if (op.numDst)
        warp.destination(op.dst(k))[i] = old;
    }
  }
  if (changed)
    warp.launch.progress();
}

static void fence(Warp &warp, const Op &op, LaneMask lanes) {
  if (warp.launch.checkRaces)
    warp.launch.races.fence(warp, lanes, op.order, op.scope);
}

namespace {
enum ProxyFence : uint8_t {
  FenceAsyncShared = 1,
  FenceAsyncGlobal = 2,
  FenceMapRelease = 4,
  FenceMapAcquire = 8
};
} // namespace

/// Op: a what the fence covers.
static void proxyFence(Warp &warp, const Op &op, LaneMask lanes) {
  if (!warp.launch.checkRaces)
    return;
  RaceDetector &races = warp.launch.races;
  if (op.a & FenceAsyncShared)
    races.cover(warp, lanes, Visibility::Base, Visibility::AsyncShared);
  if (op.a & FenceAsyncGlobal)
    races.cover(warp, lanes, Visibility::Base, Visibility::AsyncGlobal);
  if (op.a & FenceMapRelease)
    races.cover(warp, lanes, Visibility::Base, Visibility::MapReleased);
  if (op.a & FenceMapAcquire)
    races.cover(warp, lanes, Visibility::MapReleased, Visibility::MapAcquired);
}

/// What a fence.proxy covers. Between aliases nothing needs one here: virtual
/// addresses are host addresses.
static uint8_t proxyFenceForm(llvm::StringRef text) {
  text = text.substr(text.find("fence")).take_until([](char c) {
    return c == ' ' || c == '\t';
  });
  if (text.contains(".tensormap"))
    return (text.contains(".release") ? FenceMapRelease : 0) |
           (text.contains(".acquire") ? FenceMapAcquire : 0);
  if (!text.contains(".async"))
    return 0;
  return text.contains("shared::")  ? FenceAsyncShared
         : text.contains(".global") ? FenceAsyncGlobal
                                    : FenceAsyncShared | FenceAsyncGlobal;
}

llvm::Error kvq::emu::decodeAtomic(Decoder &decoder,
                                   const ptx::Instruction &inst) {
  const ptx::Modifiers &mods = inst.mods;
  const auto &operands = inst.operands;
  switch (inst.opcode) {
  case Opcode::Membar:
  case Opcode::Fence:
  case Opcode::FenceMbarrierInit: {
    Op &op =
        decoder.emit(inst, inst.text.contains(".proxy") ? proxyFence : fence,
                     InstructionClass::Barrier, {}, {});
    op.order = toOrder(mods.order, MemoryOrder::SeqCst);
    op.scope = toScope(mods.scope, MemoryScope::Gpu);
    op.a = proxyFenceForm(inst.text);
    return llvm::Error::success();
  }
  case Opcode::FenceProxy:
    decoder.emit(inst, proxyFence, InstructionClass::Barrier, {}, {}).a =
        proxyFenceForm(inst.text);
    return llvm::Error::success();
  default:
    break;
  }
  bool isRed = inst.opcode == Opcode::Red;
  Type type = mods.type();
  unsigned bits = ptx::getBits(type);
  std::optional<AtomicOperation> operation = AtomicOperation::find(inst, type);
  if (!operation || (bits != 16 && bits != 32 && bits != 64 && bits != 128) ||
      (bits == 16 && !operation->function &&
       operation->kind != AtomicKind::Cas) ||
      (bits == 128 && operation->kind != AtomicKind::Cas &&
       operation->kind != AtomicKind::Exch))
    return decoder.unsupported(inst);
  bool cas = operation->kind == AtomicKind::Cas;
  size_t first = isRed ? 0 : 1;
  if (operands.size() < first + (cas ? 3 : 2))
    return decoder.unsupported(inst);
  llvm::Expected<AddressOperand> address =
      decodeAddress(decoder, inst, operands[first], toSpace(mods.space()));
  if (!address)
    return address.takeError();
  llvm::SmallVector<Operand, 8> dst, src;
  auto addAll = [&](const ptx::Operand &operand, bool isDst) {
    llvm::SmallVector<ptx::Operand, 8> list;
    if (operand.kind == ptx::OperandKind::Vector) {
      auto elements = decoder.elements(operand);
      list.append(elements.begin(), elements.end());
    } else {
      list.push_back(operand);
    }
    for (const ptx::Operand &element : list)
      (isDst ? dst : src)
          .push_back(isDst ? decoder.destination(element, bits)
                           : decoder.source(element, bits));
  };
  if (!isRed)
    addAll(operands[0], true);
  addAll(operands[first + 1], false);
  size_t count = src.size();
  if (cas)
    addAll(operands[first + 2], false);
  if (count > 8 || (!isRed && dst.size() != count))
    return decoder.unsupported(inst);
  src.push_back(address->base);
  decoder.program.hasFloatAtomics |=
      operation->function && operation->kind == AtomicKind::Add &&
      (address->space == Space::Global || address->space == Space::Generic);
  auto *extra = decoder.newExtra<AtomicExtra>();
  extra->operation = *operation;
  Op &op = decoder.emit(inst, atomic, InstructionClass::Atomic, dst, src);
  op.extra = extra;
  op.imm = address->imm;
  op.space = address->space;
  op.c = address->flags;
  op.bits = static_cast<uint8_t>(bits);
  op.count = static_cast<uint8_t>(count);
  op.order = toOrder(mods.order, MemoryOrder::Relaxed);
  op.scope = toScope(mods.scope, MemoryScope::Gpu);
  return llvm::Error::success();
}
