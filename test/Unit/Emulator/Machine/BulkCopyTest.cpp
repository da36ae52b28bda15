//===- BulkCopyTest.cpp - Bulk and tensor copies --------------------------===//

#include "TestKernel.h"

using namespace kvq::emu;
using namespace kvq::emu::test;

namespace {

const std::vector<std::string> schedules = {"eager", "lazy", "random:1",
                                            "random:2"};

const std::string barrierWait =
    "L: mbarrier.try_wait.parity.shared.b64 %p2, [b], 0;\n@!%p2 bra L;\n";

const std::string globals = ".shared .align 1024 .b8 s[8192];\n"
                            ".shared .align 8 .b64 b;\n";

TEST(BulkCopy, LoadsAndStores) {
  std::string body =
      "setp.eq.u32 %p1, %r1, 0;\n@!%p1 bra W;\n"
      "mbarrier.init.shared.b64 [b], 1;\n"
      "mbarrier.arrive.expect_tx.shared.b64 _, [b], 256;\n"
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [s], "
      "[%rd1], 256, [b];\nW: bar.sync 0;\nWAIT"
      "mov.u32 %r2, s;\nshl.b32 %r3, %r1, 2;\nadd.u32 %r2, %r2, %r3;\n"
      "ld.shared.u32 %r4, [%r2];\nadd.u32 %r4, %r4, 1;\n"
      "st.shared.u32 [%r2], %r4;\nfence.proxy.async.shared::cta;\nbar.sync 0;\n"
      "@!%p1 bra D;\n"
      "cp.async.bulk.global.shared::cta.bulk_group [%rd2], [s], 256;\n"
      "cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;\nD:\n";
  auto with = [&](const std::string &wait) {
    std::string text = body;
    text.replace(text.find("WAIT"), 4, wait);
    return makeModule(2, text, globals);
  };
  std::vector<uint32_t> in(64);
  for (unsigned i = 0; i < 64; ++i)
    in[i] = i * i;
  for (const std::string &schedule : schedules) {
    TestDevice device(checkedOptions(schedule));
    uint64_t from = device.upload(in), to = device.allocate(256);
    expectClean(device.run(with(barrierWait), {}, {64, 1, 1}, {from, to}));
    auto out = device.download<uint32_t>(to, 64);
    for (unsigned i = 0; i < 64; ++i)
      ASSERT_EQ(out[i], i * i + 1) << schedule;
    // Without the wait the read has no order with the copy.
    from = device.upload(in);
    to = device.allocate(256);
    EXPECT_FALSE(device.run(with(""), {}, {64, 1, 1}, {from, to}).ok())
        << schedule;
  }
}

TEST(BulkCopy, WrongTransactionCountHangs) {
  TestDevice device;
  uint64_t from = device.allocate(256);
  Report report = device.run(
      makeModule(1,
                 "mbarrier.init.shared.b64 [b], 1;\n"
                 "mbarrier.arrive.expect_tx.shared.b64 _, [b], 512;\n"
                 "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::"
                 "bytes [s], [%rd1], 256, [b];\n" +
                     barrierWait,
                 globals),
      {}, {}, {from});
  EXPECT_TRUE(has(report, FindingKind::Deadlock));
}

TEST(BulkCopy, ReducesIntoGlobalMemory) {
  for (const std::string &schedule : schedules) {
    TestDevice device(checkedOptions(schedule));
    uint64_t to = device.upload(std::vector<uint32_t>{1, 2, 3, 4});
    expectClean(device.run(
        makeModule(1,
                   "st.shared.v4.u32 [s], {10, 20, 30, 40};\n"
                   "fence.proxy.async.shared::cta;\n"
                   "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 "
                   "[%rd1], [s], 16;\ncp.async.bulk.commit_group;\n"
                   "cp.async.bulk.wait_group.read 0;\n",
                   globals),
        {}, {}, {to}));
    EXPECT_EQ(device.download<uint32_t>(to, 4),
              (std::vector<uint32_t>{11, 22, 33, 44}));
  }
}

/// Loads the box at (x, y) of a u16 tensor and returns the bytes of shared
/// memory, as many as the box has.
std::vector<uint8_t> loadBox(TestDevice &device, const TensorMap &map, int x,
                             int y, unsigned bytes) {
  std::vector<uint8_t> raw(128);
  llvm::Error error = encodeTensorMap(map, raw.data());
  EXPECT_FALSE(static_cast<bool>(error)) << llvm::toString(std::move(error));
  uint64_t descriptor = device.upload(raw);
  uint64_t to = device.allocate(bytes);
  expectClean(device.run(
      makeModule(
          2,
          "setp.eq.u32 %p1, %r1, 0;\n@!%p1 bra W;\n"
          "mbarrier.init.shared.b64 [b], 1;\n"
          "mbarrier.arrive.expect_tx.shared.b64 _, [b], " +
              std::to_string(bytes) +
              ";\ncp.async.bulk.tensor.2d.shared::cluster.global.tile."
              "mbarrier::complete_tx::bytes [s], [%rd1, {" +
              std::to_string(x) + ", " + std::to_string(y) +
              "}], [b];\nW: bar.sync 0;\n" + barrierWait +
              "mov.u32 %r2, s;\nmov.u32 %r3, 0;\n@!%p1 bra D;\n"
              "C: ld.shared.u32 %r4, [%r2];\nst.global.u32 [%rd2], %r4;\n"
              "add.u32 %r2, %r2, 4;\nadd.s64 %rd2, %rd2, 4;\n"
              "add.u32 %r3, %r3, 4;\nsetp.lt.u32 %p3, %r3, " +
              std::to_string(bytes) + ";\n@%p3 bra C;\nD:\n",
          globals),
      {}, {32, 1, 1}, {descriptor, to}));
  return device.download<uint8_t>(to, bytes);
}

TEST(TensorCopy, SwizzlesAndBounds) {
  // 100 x 20 elements, pitch 128; element (x, y) is 1000 y + x + 1.
  std::vector<uint16_t> tensor(128 * 20);
  for (unsigned y = 0; y < 20; ++y)
    for (unsigned x = 0; x < 128; ++x)
      tensor[128 * y + x] = static_cast<uint16_t>(1000 * y + x + 1);
  for (const std::string &schedule : schedules)
    for (auto [swizzle, inner] : {std::pair(TensorSwizzle::None, 16u),
                                  {TensorSwizzle::B32, 16u},
                                  {TensorSwizzle::B64, 32u},
                                  {TensorSwizzle::B128, 64u}})
      for (auto [x0, y0] : {std::pair(0, 0), {16, 3}, {72, 14}, {-16, -5}}) {
        TestDevice device(checkedOptions(schedule));
        TensorMap map;
        map.element = TensorElement::U16;
        map.globalAddress = device.upload(tensor);
        map.globalDims = {100, 20};
        map.globalStrides = {256};
        map.boxDims = {inner, 16};
        map.elementStrides = {1, 1};
        map.swizzle = swizzle;
        unsigned row = 2 * inner;
        auto bytes = loadBox(device, map, x0, y0, row * 16);
        for (unsigned y = 0; y < 16; ++y)
          for (unsigned x = 0; x < inner; ++x) {
            // The chunk of 16 bytes moves within its 128 (64, 32) bytes.
            unsigned linear = y * row + 2 * x;
            unsigned bits = swizzle == TensorSwizzle::B128  ? 7
                            : swizzle == TensorSwizzle::B64 ? 3
                            : swizzle == TensorSwizzle::B32 ? 1
                                                            : 0;
            unsigned at = linear ^ ((linear / 128 & bits) * 16);
            uint16_t value =
                static_cast<uint16_t>(bytes[at] | bytes[at + 1] << 8);
            int gx = x0 + int(x), gy = y0 + int(y);
            bool inside = gx >= 0 && gx < 100 && gy >= 0 && gy < 20;
            ASSERT_EQ(value, inside ? 1000 * gy + gx + 1 : 0)
                << schedule << " " << x << ", " << y;
          }
      }
}

TEST(TensorCopy, PackedAndPaddedFourBits) {
  // 256 x 2 elements; byte i of the tensor is i.
  std::vector<uint8_t> tensor(256);
  for (unsigned i = 0; i < 256; ++i)
    tensor[i] = static_cast<uint8_t>(i);
  TestDevice device(checkedOptions());
  TensorMap map;
  map.element = TensorElement::B4x16;
  map.globalAddress = device.upload(tensor);
  map.globalDims = {256, 2};
  map.globalStrides = {128};
  map.boxDims = {128, 2};
  map.elementStrides = {1, 1};
  auto packed = loadBox(device, map, 128, 0, 128);
  for (unsigned i = 0; i < 128; ++i)
    ASSERT_EQ(packed[i], i / 64 * 128 + 64 + i % 64);
  // Padded: the transaction count is that of the packed bytes, so read the
  // first 128 of the 256 bytes.
  map.element = TensorElement::B4x16P64;
  auto padded = loadBox(device, map, 0, 1, 128);
  for (unsigned i = 0; i < 128; ++i)
    if (i % 16 < 8)
      ASSERT_EQ(padded[i], 128 + i / 16 * 8 + i % 16);
}

TEST(TensorCopy, StoresClipAtTheEdges) {
  for (const std::string &schedule : schedules) {
    TestDevice device(checkedOptions(schedule));
    std::vector<uint32_t> zero(8 * 4, 0);
    TensorMap map;
    map.element = TensorElement::U32;
    map.globalAddress = device.upload(zero);
    map.globalDims = {6, 4};
    map.globalStrides = {32};
    map.boxDims = {4, 2};
    map.elementStrides = {1, 1};
    std::vector<uint8_t> raw(128);
    llvm::cantFail(encodeTensorMap(map, raw.data()));
    uint64_t descriptor = device.upload(raw);
    expectClean(device.run(
        makeModule(1,
                   "st.shared.v4.u32 [s], {1, 2, 3, 4};\n"
                   "st.shared.v4.u32 [s+16], {5, 6, 7, 8};\n"
                   "fence.proxy.async;\n"
                   "cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group "
                   "[%rd1, {4, 3}], [s];\ncp.async.bulk.commit_group;\n"
                   "cp.async.bulk.wait_group 0;\n",
                   globals),
        {}, {}, {descriptor}));
    auto out = device.download<uint32_t>(map.globalAddress, 32);
    for (unsigned i = 0; i < 32; ++i)
      EXPECT_EQ(out[i], i == 28 ? 1u : i == 29 ? 2u : 0u) << i;
  }
}

TEST(TensorCopy, MapsAreChecked) {
  TensorMap map;
  map.element = TensorElement::U16;
  map.globalAddress = 4096;
  map.globalDims = {64, 64};
  map.globalStrides = {128};
  map.boxDims = {64, 64};
  map.elementStrides = {1, 1};
  uint8_t raw[128];
  EXPECT_FALSE(bool(encodeTensorMap(map, raw)));
  auto decoded = llvm::cantFail(decodeTensorMap(raw));
  EXPECT_EQ(decoded.globalDims, map.globalDims);
  EXPECT_EQ(decoded.boxDims, map.boxDims);
  auto fails = [&](auto change) {
    TensorMap bad = map;
    change(bad);
    return bool(encodeTensorMap(bad, raw));
  };
  EXPECT_TRUE(fails([](TensorMap &m) { m.globalAddress = 8; }));
  EXPECT_TRUE(fails([](TensorMap &m) { m.globalStrides = {100}; }));
  EXPECT_TRUE(fails([](TensorMap &m) { m.boxDims[1] = 257; }));
  EXPECT_TRUE(fails([](TensorMap &m) { m.boxDims[0] = 4; }));
  EXPECT_TRUE(fails([](TensorMap &m) { m.swizzle = TensorSwizzle::B64; }));
  EXPECT_TRUE(fails([](TensorMap &m) { m.globalDims = {}; }));
  memset(raw, 0, 128);
  EXPECT_TRUE(bool(decodeTensorMap(raw).takeError()));
}

} // namespace
