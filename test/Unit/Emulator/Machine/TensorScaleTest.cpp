//===- TensorScaleTest.cpp - Block-scaled products, and tcgen05.cp --------===//
//
// Expected values come from the bit patterns by hand-written decoders; every
// sum is exact in f32.
//
//===----------------------------------------------------------------------===//

#include "TestKernel.h"
#include <cmath>
#include <random>

using namespace kvq::emu;
using namespace kvq::emu::test;

namespace {

double e2m1(unsigned code) {
  static const double magnitudes[8] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};
  return (code & 8 ? -1 : 1) * magnitudes[code & 7];
}

/// A float of `exponent` and `mantissa` bits with a sign; no NaN, no infinity.
double small(unsigned code, int exponent, int mantissa) {
  int bias = (1 << (exponent - 1)) - 1;
  int e = code >> mantissa & ((1 << exponent) - 1);
  double m = code & ((1 << mantissa) - 1);
  double value = e ? std::ldexp(1 + std::ldexp(m, -mantissa), e - bias)
                   : std::ldexp(m, 1 - bias - mantissa);
  return code >> (exponent + mantissa) & 1 ? -value : value;
}

struct Kind {
  const char *text;
  unsigned scales, k;
  bool fp4, ue8m0;
  std::vector<unsigned> ids;
};
const Kind kinds[] = {
    {"mxf8f6f4.block_scale", 1, 32, false, true, {0, 1, 2, 3}},
    {"mxf8f6f4.block_scale.scale_vec::1X", 1, 32, false, true, {2}},
    {"mxf8f6f4.block_scale.block32", 1, 32, false, true, {3}},
    {"mxf4.block_scale", 2, 64, true, true, {0, 2}},
    {"mxf4.block_scale.scale_vec::2X", 2, 64, true, true, {2}},
    {"mxf4nvf4.block_scale.scale_vec::2X", 2, 64, true, true, {0, 2}},
    {"mxf4nvf4.block_scale.scale_vec::4X", 4, 64, true, true, {0}},
    {"mxf4nvf4.block_scale.scale_vec::4X", 4, 64, true, false, {0}},
    {"mxf4nvf4.block_scale.block16", 4, 64, true, false, {0}}};

constexpr unsigned rowsA = 128, rowsB = 8;

/// Bytes of shared memory: A, B, scales of A, scales of B.
constexpr unsigned atB = 4096, atScalesA = 4352, atScalesB = 4864,
                   allBytes = 5376;

unsigned byteOfA(unsigned row, unsigned byte) {
  return row % 8 * 16 + row / 8 * 128 + byte / 16 * 2048 + byte % 16;
}
unsigned byteOfB(unsigned row, unsigned byte) {
  return atB + row % 8 * 16 + byte / 16 * 128 + byte % 16;
}
/// The 128x4 order of scales.
unsigned byteOfScale(unsigned base, unsigned row, unsigned j) {
  return base + 16 * (row % 32) + 4 * (row / 32) + j;
}

std::string scaledKernel(const std::string &kind, uint32_t instruction) {
  uint64_t fixed = uint64_t(128 >> 4) << 32 | uint64_t(1) << 46;
  auto descriptor = [&](const char *to, unsigned at, uint64_t leading) {
    return "add.s64 " + std::string(to) + ", %rd6, " + std::to_string(at >> 4) +
           ";\nor.b64 " + to + ", " + to + ", " +
           std::to_string(fixed | leading >> 4 << 16) + ";\n";
  };
  return makeModule(
      2,
      "mov.u32 %r2, s;\nmov.u32 %r3, %r1;\n"
      "C: shl.b32 %r4, %r3, 4;\ncvt.u64.u32 %rd5, %r4;\n"
      "add.s64 %rd5, %rd5, %rd1;\nadd.u32 %r4, %r4, %r2;\n"
      "ld.global.v4.u32 {%r5,%r6,%r7,%r8}, [%rd5];\n"
      "st.shared.v4.u32 [%r4], {%r5,%r6,%r7,%r8};\nadd.u32 %r3, %r3, 128;\n"
      "setp.lt.u32 %p1, %r3, " +
          std::to_string(allBytes / 16) +
          ";\n@%p1 bra C;\nsetp.eq.u32 %p2, %r1, 0;\n"
          "@%p2 mbarrier.init.shared.b64 [b], 1;\n"
          "setp.ge.u32 %p3, %r1, 32;\n@%p3 bra X;\n"
          "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [t], 64;\n"
          "X: fence.proxy.async.shared::cta;\nbar.sync 0;\n"
          "ld.shared.u32 %r9, [t];\n@!%p2 bra W;\n"
          "cvt.u64.u32 %rd6, %r2;\nshr.u64 %rd6, %rd6, 4;\n" +
          descriptor("%rd7", 0, 2048) + descriptor("%rd8", atB, 128) +
          descriptor("%rd9", atScalesA, 0) + descriptor("%rd10", atScalesB, 0) +
          "add.u32 %r10, %r9, 32;\nadd.u32 %r11, %r9, 36;\n"
          "tcgen05.cp.cta_group::1.32x128b.warpx4 [%r10], %rd9;\n"
          "tcgen05.cp.cta_group::1.32x128b.warpx4 [%r11], %rd10;\n"
          "mov.b32 %r12, " +
          std::to_string(instruction) +
          ";\nsetp.ne.u32 %p4, %r1, %r1;\n"
          "tcgen05.mma.cta_group::1.kind::" +
          kind +
          " [%r9], %rd7, %rd8, %r12, [%r10], [%r11], %p4;\n"
          "tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster."
          "b64 [b];\n"
          "W: mbarrier.try_wait.parity.shared.b64 %p5, [b], 0;\n@!%p5 bra W;\n"
          "tcgen05.fence::after_thread_sync;\nshr.u32 %r13, %r1, 5;\n"
          "shl.b32 %r13, %r13, 21;\nadd.u32 %r13, %r13, %r9;\n"
          "tcgen05.ld.sync.aligned.32x32b.x8.b32 "
          "{%r14,%r15,%r16,%r17,%r18,%r19,%r20,%r21}, [%r13];\n"
          "tcgen05.wait::ld.sync.aligned;\nmul.wide.u32 %rd5, %r1, 32;\n"
          "add.s64 %rd5, %rd2, %rd5;\n"
          "st.global.v4.u32 [%rd5], {%r14,%r15,%r16,%r17};\n"
          "st.global.v4.u32 [%rd5+16], {%r18,%r19,%r20,%r21};\nbar.sync 0;\n"
          "@%p3 bra D;\n"
          "tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r9, 64;\nD:\n",
      ".shared .align 1024 .b8 s[6144];\n.shared .align 8 .b64 b;\n"
      ".shared .align 4 .u32 t;\n");
}

TEST(TensorScale, EveryKindAndVectorSize) {
  std::mt19937 random(7);
  for (const Kind &kind : kinds)
    for (unsigned id : kind.ids) {
      // A and B of different 8-bit formats; the sign of B is left to chance.
      std::vector<uint8_t> data(allBytes);
      auto element = [&](bool isA) -> uint8_t {
        if (kind.fp4)
          return static_cast<uint8_t>(random());
        // Exponents near the bias, so that sums are exact.
        return isA ? static_cast<uint8_t>((random() & 0x80) |
                                          (0x30 + random() % 16))
                   : static_cast<uint8_t>((random() & 0x80) |
                                          (0x38 + random() % 8));
      };
      for (unsigned byte = 0; byte < 32; ++byte) {
        for (unsigned row = 0; row < rowsA; ++row)
          data[byteOfA(row, byte)] = element(true);
        for (unsigned row = 0; row < rowsB; ++row)
          data[byteOfB(row, byte)] = element(false);
      }
      for (unsigned i = atScalesA; i < allBytes; ++i)
        data[i] = static_cast<uint8_t>(kind.ue8m0 ? 125 + random() % 5
                                                  : 0x34 + random() % 12);
      auto value = [&](bool isA, unsigned row, unsigned k) {
        unsigned byte = kind.fp4 ? k / 2 : k;
        unsigned code = data[isA ? byteOfA(row, byte) : byteOfB(row, byte)];
        double element = kind.fp4 ? e2m1(code >> 4 * (k % 2) & 15)
                         : isA    ? small(code, 4, 3)
                                  : small(code, 5, 2);
        unsigned j = k / (kind.k / kind.scales) + id;
        unsigned scale = data[byteOfScale(isA ? atScalesA : atScalesB, row, j)];
        return element * (kind.ue8m0 ? std::ldexp(1, int(scale) - 127)
                                     : small(scale, 4, 3));
      };
      uint32_t types = kind.fp4 ? 1 << 7 | 1 << 10 : 0 << 7 | 1 << 10;
      uint32_t instruction = types | id << 4 | (rowsB >> 3) << 17 |
                             uint32_t(kind.ue8m0) << 23 | 1 << 27 | id << 29;
      for (const char *schedule : {"eager", "lazy"}) {
        TestDevice device(checkedOptions(schedule));
        uint64_t in = device.upload(data), out = device.allocate(4096);
        Report report = device.run(scaledKernel(kind.text, instruction), {},
                                   {128, 1, 1}, {in, out});
        expectClean(report);
        auto sums = device.download<float>(out, rowsA * rowsB);
        for (unsigned m = 0; m < rowsA; ++m)
          for (unsigned n = 0; n < rowsB; ++n) {
            double want = 0;
            for (unsigned k = 0; k < kind.k; ++k)
              want += value(true, m, k) * value(false, n, k);
            ASSERT_EQ(double(float(want)), want) << "the test is not exact";
            ASSERT_EQ(sums[m * rowsB + n], want)
                << kind.text << " id " << id << " at " << m << ", " << n;
          }
        TensorCounts counts = report.counters.tensorTotal();
        EXPECT_EQ(counts.multiplyAdds, uint64_t(rowsA) * rowsB * kind.k);
        EXPECT_EQ(counts.sharedBytes, 32u * (rowsA + rowsB));
        EXPECT_EQ(counts.tensorMemoryBytes, kind.scales * (rowsA + rowsB));
        // Two copies of 512 bytes, to four lanes each.
        EXPECT_EQ(report.counters.tensorMemoryWriteBytes, 4096u);
      }
    }
}

//===----------------------------------------------------------------------===//
// tcgen05.cp
//===----------------------------------------------------------------------===//

struct Shape {
  const char *text;
  unsigned rows, columns;
  std::vector<unsigned> (*lanes)(unsigned row);
};
const Shape shapes[] = {
    {"128x256b", 128, 8, [](unsigned r) { return std::vector<unsigned>{r}; }},
    {"128x128b", 128, 4, [](unsigned r) { return std::vector<unsigned>{r}; }},
    {"4x256b", 4, 8, [](unsigned r) { return std::vector<unsigned>{32 * r}; }},
    {"64x128b.warpx2::02_13", 64, 4,
     [](unsigned r) { return std::vector<unsigned>{r, r + 64}; }},
    {"64x128b.warpx2::01_23", 64, 4,
     [](unsigned r) {
       unsigned lane = r / 32 * 64 + r % 32;
       return std::vector<unsigned>{lane, lane + 32};
     }},
    {"32x128b.warpx4", 32, 4, [](unsigned r) {
       return std::vector<unsigned>{r, r + 32, r + 64, r + 96};
     }}};

TEST(TensorCp, EveryShapeAndUnpacking) {
  std::mt19937 random(3);
  std::vector<uint8_t> data(4096);
  for (uint8_t &byte : data)
    byte = static_cast<uint8_t>(random());
  for (const Shape &shape : shapes)
    for (unsigned bits : {8u, 4u, 6u}) {
      const char *unpack = bits == 4   ? ".b8x16.b4x16_p64"
                           : bits == 6 ? ".b8x16.b6x16_p32"
                                       : "";
      // A row is chunks of 16 bytes, of which 16 elements are packed from the
      // first byte on. FP4 goes to bits 2 to 5 of its byte.
      auto word = [&](unsigned row, unsigned column) {
        const uint8_t *chunk = &data[byteOfA(row, column / 4 * 16)];
        uint32_t result = 0;
        for (unsigned i = 0; i < 4; ++i) {
          unsigned first = (column % 4 * 4 + i) * bits;
          unsigned pair = chunk[first / 8];
          if (first / 8 + 1 < 16)
            pair |= unsigned(chunk[first / 8 + 1]) << 8;
          unsigned element = pair >> first % 8 & ((1u << bits) - 1);
          result |= (bits == 4 ? element << 2 : element) << 8 * i;
        }
        return result;
      };
      for (const char *schedule : {"eager", "lazy"}) {
        Options options;
        options.schedule = llvm::cantFail(Schedule::parse(schedule));
        TestDevice device(options);
        uint64_t in = device.upload(data), out = device.allocate(4096);
        uint64_t matrix = uint64_t(128 >> 4) << 32 | uint64_t(1) << 46 |
                          uint64_t(2048 >> 4) << 16;
        expectClean(device.run(
            makeModule(
                2,
                "mov.u32 %r2, s;\nshl.b32 %r3, %r1, 5;\ncvt.u64.u32 %rd5, "
                "%r3;\nadd.s64 %rd6, %rd1, %rd5;\nadd.u32 %r4, %r2, %r3;\n"
                "ld.global.v4.u32 {%r5,%r6,%r7,%r8}, [%rd6];\n"
                "st.shared.v4.u32 [%r4], {%r5,%r6,%r7,%r8};\n"
                "ld.global.v4.u32 {%r5,%r6,%r7,%r8}, [%rd6+16];\n"
                "st.shared.v4.u32 [%r4+16], {%r5,%r6,%r7,%r8};\n"
                "setp.eq.u32 %p2, %r1, 0;\n"
                "@%p2 mbarrier.init.shared.b64 [b], 1;\n"
                "setp.ge.u32 %p3, %r1, 32;\n@%p3 bra X;\n"
                "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [t], "
                "32;\nX: fence.proxy.async.shared::cta;\nbar.sync 0;\n"
                "ld.shared.u32 %r9, [t];\nshr.u32 %r13, %r1, 5;\n"
                "shl.b32 %r13, %r13, 21;\nadd.u32 %r13, %r13, %r9;\n"
                "mov.b32 %r10, -1;\n"
                "tcgen05.st.sync.aligned.32x32b.x8.b32 [%r13], "
                "{%r10,%r10,%r10,%r10,%r10,%r10,%r10,%r10};\n"
                "tcgen05.wait::st.sync.aligned;\n"
                "tcgen05.fence::before_thread_sync;\nbar.sync 0;\n"
                "@!%p2 bra W;\ncvt.u64.u32 %rd7, %r2;\nshr.u64 %rd7, %rd7, 4;\n"
                "or.b64 %rd7, %rd7, " +
                    std::to_string(matrix) + ";\ntcgen05.cp.cta_group::1." +
                    shape.text + unpack +
                    " [%r9], %rd7;\n"
                    "tcgen05.commit.cta_group::1.mbarrier::arrive::one."
                    "shared::cluster.b64 [b];\n"
                    "W: mbarrier.try_wait.parity.shared.b64 %p5, [b], 0;\n"
                    "@!%p5 bra W;\ntcgen05.fence::after_thread_sync;\n"
                    "tcgen05.ld.sync.aligned.32x32b.x8.b32 "
                    "{%r14,%r15,%r16,%r17,%r18,%r19,%r20,%r21}, [%r13];\n"
                    "tcgen05.wait::ld.sync.aligned;\n"
                    "add.s64 %rd8, %rd2, %rd5;\n"
                    "st.global.v4.u32 [%rd8], {%r14,%r15,%r16,%r17};\n"
                    "st.global.v4.u32 [%rd8+16], {%r18,%r19,%r20,%r21};\n"
                    "bar.sync 0;\n@%p3 bra D;\n"
                    "tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r9, 32;\n"
                    "D:\n",
                ".shared .align 1024 .b8 s[4096];\n.shared .align 8 .b64 b;\n"
                ".shared .align 4 .u32 t;\n"),
            {}, {128, 1, 1}, {in, out}));
        std::vector<uint32_t> want(1024, ~0u);
        for (unsigned row = 0; row < shape.rows; ++row)
          for (unsigned lane : shape.lanes(row))
            for (unsigned c = 0; c < shape.columns; ++c)
              want[lane * 8 + c] = word(row, c);
        EXPECT_EQ(device.download<uint32_t>(out, 1024), want)
            << shape.text << unpack;
      }
    }
}

} // namespace
