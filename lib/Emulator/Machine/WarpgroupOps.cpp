//===- WarpgroupOps.cpp - The wgmma instructions of sm_90a ----------------===//
//
// Four warps make one product of 64 rows, of which each has 16 in its own
// registers: a warp's part depends on no other warp's registers, so each warp
// computes its own part when it comes to the instruction.
//
//===----------------------------------------------------------------------===//

#include "kvq/Emulator/Machine/BulkCopy.h"
#include "kvq/Emulator/Machine/Lanes.h"
#include "kvq/Emulator/TensorCore/Multiply.h"
#include "kvq/Emulator/TensorCore/OperandLayout.h"
#include "kvq/Emulator/TensorCore/Wgmma.h"
#include "llvm/Support/FormatVariadic.h"

using namespace kvq::emu;
using num::MmaType;
using ptx::Mod;
using ptx::Opcode;
using ptx::Type;

namespace {

constexpr unsigned warpsPerGroup = 4;
constexpr unsigned rowsPerWarp = tc::wgmmaRows / warpsPerGroup;

struct WarpgroupExtra : OpExtra {
  tc::WgmmaSpec spec;
  llvm::StringRef kind;
  bool aInRegisters = false;
  Operand aDescriptor, bDescriptor, enable;
  llvm::SmallVector<Operand, 4> aRegisters;
};

/// One warp's part of a product that is under way.
struct WarpgroupProduct {
  Warp *warp;
  const Op *op;
  const WarpgroupExtra *extra;
  Frame frame;
  tc::MatrixDescriptor a, b;
  bool accumulate = false;
  Stamp stamp;

  /// Visits the 16-byte chunks of both operands: at issue for the race check,
  /// and when the product is computed.
  bool readOperands(double *aValues, double *bValues, bool checks) const;
  void perform() const;
};

bool WarpgroupProduct::readOperands(double *aValues, double *bValues,
                                    bool checks) const {
  const tc::WgmmaSpec &spec = extra->spec;
  auto read = [&](uint32_t address) -> const uint8_t * {
    Location location;
    if (!locate(*warp, *op, 0, Space::SharedCluster,
                inRank(address, warp->cta.rank), tc::chunkBytes, tc::chunkBytes,
                location))
      return nullptr;
    if (checks)
      noteAsync(*warp, *op, 0, location, tc::chunkBytes, AccessKind::Read,
                stamp);
    else
      noteWritten(*warp, *op, 0, location, tc::chunkBytes, AccessKind::Read);
    return location.host;
  };
  if (!extra->aInRegisters &&
      !tc::readOperand(a, spec.transposeA, {spec.a, false}, tc::wgmmaRows,
                       spec.k, read, aValues, spec.k, 1))
    return false;
  return tc::readOperand(b, spec.transposeB, {spec.b, false}, spec.n, spec.k,
                         read, bValues, 1, spec.n);
}

void WarpgroupProduct::perform() const {
  if (warp->launch.stopped())
    return;
  const tc::WgmmaSpec &spec = extra->spec;
  std::vector<double> aValues(tc::wgmmaRows * spec.k),
      bValues(size_t(spec.k) * spec.n), acc(size_t(rowsPerWarp) * spec.n);
  unsigned rank = warp->index % warpsPerGroup, firstRow = rank * rowsPerWarp;
  if (extra->aInRegisters) {
    uint32_t words[tc::warpgroupThreads * 4] = {};
    for (unsigned r = 0; r < 4; ++r) {
      const uint64_t *src = warp->registersOf(frame, extra->aRegisters[r]);
      for (unsigned lane = 0; lane < warpSize; ++lane)
        words[(rank * warpSize + lane) * 4 + r] =
            static_cast<uint32_t>(src[lane]);
    }
    tc::decodeWgmmaA(spec, words, aValues.data());
  }
  if (!readOperands(aValues.data(), bValues.data(), /*checks=*/false))
    return;
  bool half = spec.d == MmaType::F16;
  auto forElements = [&](auto &&body) {
    for (unsigned i = 0; i < spec.n / 2u; ++i) {
      uint64_t *reg = warp->registersOf(frame, op->dst(half ? i / 2 : i));
      for (unsigned lane = 0; lane < warpSize; ++lane) {
        num::MatrixCoord at = tc::wgmmaCoordD(spec, rank * warpSize + lane, i);
        body(reg[lane], half ? 16 * (i % 2) : 0u,
             acc[size_t(at.row - firstRow) * spec.n + at.col]);
      }
    }
  };
  if (accumulate)
    forElements([&](uint64_t word, unsigned shift, double &value) {
      value =
          tc::decodeAccumulator(spec.d, static_cast<uint32_t>(word) >> shift);
    });
  tc::InstructionDescriptor instruction;
  instruction.k = spec.k;
  instruction.negateA = spec.negateA;
  instruction.negateB = spec.negateB;
  tc::multiply(instruction, rowsPerWarp, spec.n,
               aValues.data() + size_t(firstRow) * spec.k, bValues.data(),
               acc.data(), accumulate);
  forElements([&](uint64_t &word, unsigned shift, double value) {
    uint64_t cell = tc::encodeAccumulator(spec.d, value, spec.satfinite);
    word = half ? (word & ~(uint64_t(0xffff) << shift)) | cell << shift : cell;
  });
}

void multiply(Warp &warp, const Op &op, LaneMask lanes) {
  if (!warp.convergeAligned(op, lanes))
    return;
  const auto &extra = *static_cast<const WarpgroupExtra *>(op.extra);
  unsigned lane = llvm::countr_zero(lanes);
  if (warp.index / warpsPerGroup * warpsPerGroup + warpsPerGroup >
      warp.launch.warpsPerCta) {
    warp.report(FindingKind::IllegalOperand, op, lane, 0,
                "the warp belongs to no warpgroup of four warps", true);
    return;
  }
  WarpgroupProduct product{&warp, &op, &extra, warp.getFrame(),
                           {},    {},  false,  {}};
  auto decode = [&](const Operand &operand, tc::MatrixDescriptor &matrix) {
    llvm::Expected<tc::MatrixDescriptor> decoded =
        tc::decodeMatrixSm90(warp.values(operand)[lane]);
    if (decoded) {
      matrix = *decoded;
      return true;
    }
    warp.report(FindingKind::IllegalOperand, op, lane, 0,
                llvm::toString(decoded.takeError()), true);
    return false;
  };
  if ((!extra.aInRegisters && !decode(extra.aDescriptor, product.a)) ||
      !decode(extra.bDescriptor, product.b))
    return;
  product.accumulate = warp.predicate(extra.enable) >> lane & 1;
  const tc::WgmmaSpec &spec = extra.spec;
  if (warp.launch.checkRaces) {
    product.stamp = HappensBefore::tensorCoreStamp(warp, 0);
    std::vector<double> aValues(tc::wgmmaRows * spec.k),
        bValues(size_t(spec.k) * spec.n);
    if (!product.readOperands(aValues.data(), bValues.data(), /*checks=*/true))
      return;
  }
  // The four warps count one instruction.
  if (warp.index % warpsPerGroup == 0) {
    TensorCounts operands;
    (extra.aInRegisters ? operands.registerBytes : operands.sharedBytes) +=
        32 * tc::wgmmaRows;
    operands.sharedBytes += 32 * spec.n;
    warp.launch.counters.addTensor(
        {"wgmma", extra.kind, tc::wgmmaRows, spec.n, spec.k}, operands);
  }
  WarpgroupQueue &queue = warp.warpgroup;
  bool now = warp.launch.isEager() ||
             (warp.launch.isRandom() && queue.products.empty() &&
              warp.launch.random(2));
  if (now)
    product.perform();
  queue.products.push_back({queue.group, product.stamp.clock, now,
                            [product] { product.perform(); }});
}

void commitGroup(Warp &warp, const Op &op, LaneMask lanes) {
  if (warp.convergeAligned(op, lanes))
    ++warp.warpgroup.group;
}

/// Op: imm the groups that may stay open.
void waitGroup(Warp &warp, const Op &op, LaneMask lanes) {
  if (!warp.convergeAligned(op, lanes))
    return;
  WarpgroupQueue &queue = warp.warpgroup;
  uint32_t clock = 0;
  while (!queue.products.empty() && int64_t(queue.products.front().group) <
                                        int64_t(queue.group) - op.imm) {
    WarpgroupQueue::Product product = std::move(queue.products.front());
    queue.products.pop_front();
    if (!product.done)
      product.perform();
    clock = product.clock;
  }
  if (clock)
    warp.launch.races.learnOwn(warp, lanes, AgentKind::TensorCore, 0, clock);
}

/// wgmma.fence orders registers and products, which are in order here.
void fence(Warp &warp, const Op &op, LaneMask lanes) {
  warp.convergeAligned(op, lanes);
}

std::optional<MmaType> operandType(Type type) {
  switch (type) {
  case Type::F16:
    return MmaType::F16;
  case Type::BF16:
    return MmaType::BF16;
  case Type::TF32:
    return MmaType::TF32;
  case Type::E4M3:
    return MmaType::E4M3;
  case Type::E5M2:
    return MmaType::E5M2;
  case Type::S8:
    return MmaType::S8;
  case Type::U8:
    return MmaType::U8;
  case Type::B1:
    return MmaType::B1;
  case Type::F32:
    return MmaType::F32;
  case Type::S32:
    return MmaType::S32;
  default:
    return std::nullopt;
  }
}

llvm::StringRef kindOf(MmaType type) {
  switch (type) {
  case MmaType::TF32:
    return "tf32";
  case MmaType::S8:
  case MmaType::U8:
    return "i8";
  case MmaType::B1:
    return "b1";
  case MmaType::E4M3:
  case MmaType::E5M2:
    return "f8f6f4";
  default:
    return "f16";
  }
}

llvm::Error decodeProduct(Decoder &decoder, const ptx::Instruction &inst) {
  const ptx::Modifiers &mods = inst.mods;
  const auto &operands = inst.operands;
  auto *extra = decoder.newExtra<WarpgroupExtra>();
  tc::WgmmaSpec &spec = extra->spec;
  auto d = operandType(mods.type(0)), a = operandType(mods.type(1)),
       b = operandType(mods.type(2));
  bool bits = a == MmaType::B1;
  if (!d || !a || !b || mods.m != tc::wgmmaRows || operands.size() < 4 ||
      bits != (mods.has(Mod::And) && mods.has(Mod::Popc)))
    return decoder.unsupported(inst);
  spec.d = *d;
  spec.a = *a;
  spec.b = *b;
  spec.n = mods.n;
  spec.k = mods.k;
  spec.satfinite = mods.satfinite;
  extra->kind = kindOf(*a);
  extra->aInRegisters = operands[1].kind == ptx::OperandKind::Vector;
  // scale-d, then the signs of A and B, then which are transposed.
  bool integer = *a == MmaType::S8 || *a == MmaType::U8 || bits;
  bool half = *a == MmaType::F16 || *a == MmaType::BF16;
  size_t transposes = !half ? 0 : extra->aInRegisters ? 1 : 2;
  if (operands.size() != 4 + (integer ? 0 : 2 + transposes))
    return decoder.unsupported(inst);
  int64_t words[4] = {1, 1, 0, 0};
  for (size_t i = 4; i < operands.size(); ++i) {
    std::optional<uint64_t> value = Decoder::immediate(operands[i]);
    int64_t number = value ? static_cast<int32_t>(*value) : 2;
    bool isSign = i < 6;
    if (isSign ? number != 1 && number != -1 : number != 0 && number != 1)
      return decoder.error(inst, "operand " + llvm::Twine(i + 1) + " is " +
                                     (isSign ? "1 or -1" : "0 or 1"));
    words[i - 4] = number;
  }
  spec.negateA = words[0] < 0;
  spec.negateB = words[1] < 0;
  spec.transposeA = transposes == 2 && words[2];
  spec.transposeB = transposes == 2 ? words[3] : words[2];
  if (llvm::Error error = tc::checkWgmma(spec))
    return decoder.error(inst, llvm::toString(std::move(error)));

  llvm::SmallVector<Operand, 0> dst;
  if (operands[0].kind == ptx::OperandKind::Vector)
    for (const ptx::Operand &element : decoder.elements(operands[0]))
      dst.push_back(decoder.destination(element, 32));
  unsigned needed = tc::wgmmaRegistersD(spec);
  if (dst.size() != needed)
    return decoder.error(inst, "D has " + llvm::Twine(dst.size()) +
                                   " registers and needs " +
                                   llvm::Twine(needed));
  if (extra->aInRegisters) {
    for (const ptx::Operand &element : decoder.elements(operands[1]))
      extra->aRegisters.push_back(decoder.source(element, 32));
    if (extra->aRegisters.size() != tc::wgmmaRegistersA(spec))
      return decoder.error(inst, "A in registers has four of them");
    for (const Operand &reg : extra->aRegisters)
      if (reg.bank != Bank::Register)
        return decoder.error(inst, "A must be in registers");
  } else {
    extra->aDescriptor = decoder.source(operands[1], 64);
  }
  extra->bDescriptor = decoder.source(operands[2], 64);
  extra->enable = decoder.predicateSource(operands[3]);
  decoder.emit(inst, multiply, InstructionClass::Tensor, dst, {}).extra = extra;
  return llvm::Error::success();
}

} // namespace

llvm::Error kvq::emu::decodeWarpgroup(Decoder &decoder,
                                      const ptx::Instruction &inst) {
  switch (inst.opcode) {
  case Opcode::WgmmaMmaAsync:
    return decodeProduct(decoder, inst);
  case Opcode::WgmmaFence:
    decoder.emit(inst, fence, InstructionClass::Tensor, {}, {});
    return llvm::Error::success();
  case Opcode::WgmmaCommitGroup:
    decoder.emit(inst, commitGroup, InstructionClass::Tensor, {}, {});
    return llvm::Error::success();
  case Opcode::WgmmaWaitGroup: {
    std::optional<uint64_t> groups = inst.operands.size() == 1
                                         ? Decoder::immediate(inst.operands[0])
                                         : std::nullopt;
    if (!groups)
      return decoder.unsupported(inst);
    decoder.emit(inst, waitGroup, InstructionClass::Tensor, {}, {}).imm =
        static_cast<int64_t>(*groups);
    return llvm::Error::success();
  }
  default:
    return decoder.unsupported(inst);
  }
}
