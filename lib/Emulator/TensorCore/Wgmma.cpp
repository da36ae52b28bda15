//===- Wgmma.cpp - Fragments and arithmetic of wgmma.mma_async ------------===//

#include "kvq/Emulator/TensorCore/Wgmma.h"
#include "kvq/Emulator/Numerics/Arith.h"
#include "kvq/Emulator/TensorCore/Multiply.h"
#include "kvq/Emulator/TensorCore/OperandLayout.h"
#include <vector>

using namespace kvq::emu;
using namespace kvq::emu::tc;
using num::MmaType;

static unsigned elementBits(MmaType t) {
  switch (t) {
  case MmaType::F16:
  case MmaType::BF16:
    return 16;
  case MmaType::TF32:
  case MmaType::F32:
  case MmaType::S32:
    return 32;
  case MmaType::B1:
    return 1;
  default:
    return 8;
  }
}

llvm::Error kvq::emu::tc::checkWgmma(const WgmmaSpec &s) {
  auto bad = [&](const llvm::Twine &why) {
    return llvm::createStringError(llvm::inconvertibleErrorCode(),
                                   llvm::Twine("wgmma.mma_async.m64n") +
                                       llvm::Twine(s.n) + "k" +
                                       llvm::Twine(s.k) + ": " + why);
  };
  bool half = s.a == MmaType::F16 || s.a == MmaType::BF16;
  bool fp8 = s.a == MmaType::E4M3 || s.a == MmaType::E5M2;
  bool bytes = s.a == MmaType::S8 || s.a == MmaType::U8;
  bool bits = s.a == MmaType::B1, integer = bytes || bits;
  bool sameClass = fp8     ? s.b == MmaType::E4M3 || s.b == MmaType::E5M2
                   : bytes ? s.b == MmaType::S8 || s.b == MmaType::U8
                           : s.a == s.b;
  if ((!half && !fp8 && !integer && s.a != MmaType::TF32) || !sameClass)
    return bad(
        "needs f16, bf16, tf32, fp8, 8-bit integer or single-bit A and B");
  bool f16D = s.d == MmaType::F16 && (s.a == MmaType::F16 || fp8);
  bool dOk = integer ? s.d == MmaType::S32 : s.d == MmaType::F32 || f16D;
  if (!dOk)
    return bad("no such type of D");
  if (s.k * elementBits(s.a) != 256)
    return bad("K must be 32 bytes");
  // Integers go in steps of 16 above 32.
  bool nOk = s.n >= 8 && s.n <= 256 && s.n % 8 == 0 &&
             !(integer && s.n > 32 && s.n % 16);
  if (!nOk)
    return bad("no such N");
  if ((s.transposeA || s.transposeB) && !half)
    return bad("only f16 and bf16 can be transposed");
  if (integer && (s.negateA || s.negateB))
    return bad("integers cannot be negated");
  if (s.satfinite && !bytes)
    return bad(".satfinite needs 8-bit integers");
  return llvm::Error::success();
}

unsigned kvq::emu::tc::wgmmaRegistersD(const WgmmaSpec &s) {
  return s.d == MmaType::F16 ? s.n / 4 : s.n / 2;
}

unsigned kvq::emu::tc::wgmmaRegistersA(const WgmmaSpec &) { return 4; }

num::MatrixCoord kvq::emu::tc::wgmmaCoordD(const WgmmaSpec &, unsigned thread,
                                           unsigned i) {
  unsigned warp = thread / 32, group = thread % 32 / 4, t = thread % 4;
  return {static_cast<uint16_t>(16 * warp + group + 8 * (i / 2 % 2)),
          static_cast<uint16_t>(8 * (i / 4) + 2 * t + i % 2)};
}

num::MatrixCoord kvq::emu::tc::wgmmaCoordA(const WgmmaSpec &s, unsigned thread,
                                           unsigned i) {
  unsigned warp = thread / 32, group = thread % 32 / 4, t = thread % 4;
  // Registers: rows g, g + 8, then the same in the other half of K.
  unsigned per = 32 / elementBits(s.a), reg = i / per;
  return {static_cast<uint16_t>(16 * warp + group + 8 * (reg % 2)),
          static_cast<uint16_t>(4 * per * (reg / 2) + t * per + i % per)};
}

void kvq::emu::tc::decodeWgmmaA(const WgmmaSpec &s, const uint32_t *registers,
                                double *a) {
  // Four registers are the 16 bytes of a chunk.
  ElementPacking packing{s.a, false};
  unsigned count = packing.perChunk();
  for (unsigned thread = 0; thread != warpgroupThreads; ++thread) {
    double values[maxPerChunk];
    decodeChunk(packing,
                reinterpret_cast<const uint8_t *>(registers + 4 * thread),
                values);
    for (unsigned i = 0; i != count; ++i) {
      num::MatrixCoord at = wgmmaCoordA(s, thread, i);
      a[at.row * s.k + at.col] = values[i];
    }
  }
}

void kvq::emu::tc::executeWgmma(const WgmmaSpec &s, double *a, const double *b,
                                bool accumulate, uint32_t *registers) {
  num::HostFPScope scope;
  std::vector<double> acc(static_cast<size_t>(wgmmaRows) * s.n);
  unsigned regs = wgmmaRegistersD(s);
  bool half = s.d == MmaType::F16;
  auto forEach = [&](auto fn) {
    for (unsigned thread = 0; thread != warpgroupThreads; ++thread)
      for (unsigned i = 0, e = s.n / 2u; i != e; ++i) {
        num::MatrixCoord at = wgmmaCoordD(s, thread, i);
        fn(registers[thread * regs + (half ? i / 2 : i)], half ? i % 2 : 0,
           acc[at.row * s.n + at.col]);
      }
  };
  if (accumulate)
    forEach([&](uint32_t word, unsigned part, double &v) {
      v = decodeAccumulator(s.d, word >> (16 * part));
    });
  InstructionDescriptor i;
  i.k = s.k;
  i.negateA = s.negateA;
  i.negateB = s.negateB;
  multiply(i, wgmmaRows, s.n, a, b, acc.data(), true);
  forEach([&](uint32_t &word, unsigned part, double v) {
    uint32_t cell = encodeAccumulator(s.d, v, s.satfinite);
    word =
        half ? (word & ~(0xffffu << (16 * part))) | cell << (16 * part) : cell;
  });
}
