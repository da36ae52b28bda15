//===- TensorCopyFormsTest.cpp - Multicast, gather4, scatter4, replace ----===//

#include "TestKernel.h"

using namespace kvq::emu;
using namespace kvq::emu::test;

namespace {

const std::vector<std::string> schedules = {"eager", "lazy", "random:1",
                                            "random:2"};
const std::string globals = ".shared .align 8 .b64 b;\n"
                            ".shared .align 128 .b8 s[1024];\n";

/// A matrix of 16 rows of 8 words; word x of row y is 100 y + x.
std::vector<uint32_t> matrix() {
  std::vector<uint32_t> values;
  for (unsigned y = 0; y < 16; ++y)
    for (unsigned x = 0; x < 8; ++x)
      values.push_back(100 * y + x);
  return values;
}

TensorMap mapOf(uint64_t address) {
  TensorMap map;
  map.element = TensorElement::U32;
  map.globalAddress = address;
  map.globalDims = {8, 16};
  map.globalStrides = {32};
  map.boxDims = {4, 1};
  map.elementStrides = {1, 1};
  return map;
}

uint64_t uploadMap(TestDevice &device, const TensorMap &map) {
  std::vector<uint8_t> raw(128);
  llvm::cantFail(encodeTensorMap(map, raw.data()));
  return device.upload(raw);
}

/// What one thread does around a copy of `bytes` bytes that signals [b], and
/// 16 words of shared memory written to %rd2.
std::string aroundCopy(unsigned bytes, const std::string &copy) {
  std::string body = "mbarrier.init.shared.b64 [b], 1;\n"
                     "fence.mbarrier_init.release.cluster;\n"
                     "mbarrier.arrive.expect_tx.shared.b64 _, [b], " +
                     std::to_string(bytes) + ";\n" + copy +
                     "L: mbarrier.try_wait.parity.shared.b64 %p2, [b], 0;\n"
                     "@!%p2 bra L;\n";
  for (unsigned i = 0; i < 16; ++i)
    body += "ld.shared.u32 %r4, [s+" + std::to_string(4 * i) +
            "];\nst.global.u32 [%rd2+" + std::to_string(4 * i) + "], %r4;\n";
  return body;
}

TEST(TensorGather, FourRowsWithIndicesOfTheirOwn) {
  for (const std::string &schedule : schedules) {
    TestDevice device(checkedOptions(schedule));
    uint64_t map = uploadMap(device, mapOf(device.upload(matrix()))),
             out = device.allocate(64);
    // Row 16 lies outside and reads as zeros; a row may be named twice.
    Report report = device.run(
        makeModule(2,
                   aroundCopy(64, "cp.async.bulk.tensor.2d.shared::cta.global."
                                  "tile::gather4.mbarrier::complete_tx::bytes "
                                  "[s], [%rd1, {2, 5, 16, 0, 5}], [b];\n"),
                   globals),
        {}, {}, {map, out});
    expectClean(report);
    auto words = device.download<uint32_t>(out, 16);
    const int rows[4] = {5, -1, 0, 5};
    for (unsigned i = 0; i < 16; ++i)
      EXPECT_EQ(words[i],
                rows[i / 4] < 0 ? 0u : uint32_t(100 * rows[i / 4]) + 2 + i % 4);
    EXPECT_EQ(report.counters.globalReadBytes, 48u);
    EXPECT_EQ(report.counters.distinctReadBytes, 32u);
  }
}

TEST(TensorGather, ScatterWritesThem) {
  for (const std::string &schedule : schedules) {
    TestDevice device(checkedOptions(schedule));
    uint64_t target = device.upload(std::vector<uint32_t>(128)),
             map = uploadMap(device, mapOf(target));
    std::string fill;
    for (unsigned i = 0; i < 16; ++i)
      fill += "st.shared.u32 [s+" + std::to_string(4 * i) + "], " +
              std::to_string(i + 1) + ";\n";
    expectClean(device.run(
        makeModule(1,
                   fill + "fence.proxy.async;\n"
                          "cp.async.bulk.tensor.2d.global.shared::cta."
                          "tile::scatter4.bulk_group "
                          "[%rd1, {4, 9, 3, 20, 0}], [s];\n"
                          "cp.async.bulk.commit_group;\n"
                          "cp.async.bulk.wait_group 0;\n",
                   globals),
        {}, {}, {map}));
    auto words = device.download<uint32_t>(target, 128);
    std::vector<uint32_t> want(128);
    const unsigned rows[4] = {9, 3, 20, 0};
    for (unsigned i = 0; i < 16; ++i)
      if (rows[i / 4] < 16)
        want[rows[i / 4] * 8 + 4 + i % 4] = i + 1;
    EXPECT_EQ(words, want);
  }
}

TEST(TensorGather, Errors) {
  TestDevice device;
  TensorMap map = mapOf(device.upload(matrix()));
  map.boxDims = {4, 4};
  const std::string gather = "cp.async.bulk.tensor.2d.shared::cta.global."
                             "tile::gather4.mbarrier::complete_tx::bytes [s], ";
  EXPECT_TRUE(
      has(device.run(makeModule(2,
                                aroundCopy(64, gather + "[%rd1, {2, 5, 1, "
                                                        "0, 5}], [b];\n"),
                                globals),
                     {}, {}, {uploadMap(device, map), 0}),
          FindingKind::IllegalOperand));
  EXPECT_NE(
      device
          .error(makeModule(1, gather + "[%rd1, {2, 5}], [b];\n", globals), {},
                 {}, {0})
          .find("number of coordinates"),
      std::string::npos);
  EXPECT_NE(
      device
          .error(makeModule(1,
                            "cp.async.bulk.tensor.3d.shared::cta.global.im2col"
                            ".mbarrier::complete_tx::bytes [s], "
                            "[%rd1, {2, 5, 1}], [b], {0};\n",
                            globals),
                 {}, {}, {0})
          .find("im2col copies are not supported"),
      std::string::npos);
}

/// CTA 0 of a cluster of four copies to CTAs 1 and 3, each of which waits.
std::string multicastKernel(const std::string &copy) {
  std::string store;
  for (unsigned i = 0; i < 4; ++i)
    store += "ld.shared.u32 %r4, [s+" + std::to_string(4 * i) +
             "];\nst.global.u32 [%rd5+" + std::to_string(4 * i) + "], %r4;\n";
  return makeModule(
      2,
      "mbarrier.init.shared.b64 [b], 1;\n"
      "fence.mbarrier_init.release.cluster;\n"
      "mbarrier.arrive.expect_tx.shared.b64 _, [b], 16;\n"
      "barrier.cluster.arrive;\nbarrier.cluster.wait;\n"
      "mov.u32 %r2, %cluster_ctarank;\nsetp.ne.u32 %p1, %r2, 0;\n"
      "@%p1 bra N;\nmov.u16 %rs1, 10;\n" +
          copy +
          "N: and.b32 %r3, %r2, 1;\nsetp.eq.u32 %p3, %r3, 0;\n@%p3 bra E;\n"
          "L: mbarrier.try_wait.parity.shared.b64 %p2, [b], 0;\n@!%p2 bra L;\n"
          "mul.wide.u32 %rd5, %r2, 16;\nadd.s64 %rd5, %rd2, %rd5;\n" +
          store + "E: barrier.cluster.arrive;\nbarrier.cluster.wait;\n",
      globals);
}

TEST(Multicast, CopiesToTheCTAsOfAMask) {
  const std::string forms[] = {
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes."
      "multicast::cluster [s], [%rd1+32], 16, [b], %rs1;\n",
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::"
      "complete_tx::bytes.multicast::cluster [s], [%rd1, {0, 1}], [b], "
      "%rs1;\n"};
  for (unsigned form = 0; form < 2; ++form)
    for (const std::string &schedule : schedules) {
      TestDevice device(checkedOptions(schedule));
      uint64_t data = device.upload(matrix()),
               from = form ? uploadMap(device, mapOf(data)) : data,
               out = device.upload(std::vector<uint32_t>(16));
      Report report = device.run(multicastKernel(forms[form]), {4, 1, 1},
                                 {1, 1, 1}, {from, out}, 0, {4, 1, 1});
      expectClean(report);
      auto words = device.download<uint32_t>(out, 16);
      for (unsigned i = 0; i < 16; ++i)
        EXPECT_EQ(words[i], i / 4 % 2 ? 100 + i % 4 : 0) << schedule << i;
      // Global memory is read once, shared memory written twice.
      EXPECT_EQ(report.counters.globalReadBytes, 16u);
      EXPECT_EQ(report.counters.sharedWriteBytes, 32u);
    }
}

TEST(TensorMapReplace, FieldsOfAMapInGlobalMemory) {
  TestDevice device(checkedOptions());
  uint64_t wrong = device.upload(std::vector<uint32_t>(128)),
           right = device.upload(matrix()), out = device.allocate(64);
  TensorMap map = mapOf(wrong);
  map.globalDims = {8, 2};
  map.boxDims = {4, 2};
  uint64_t descriptor = uploadMap(device, map);
  expectClean(device.run(
      makeModule(
          3,
          "tensormap.replace.tile.global_address.global.b1024.b64 [%rd1], "
          "%rd3;\n"
          "tensormap.replace.tile.global_dim.global.b1024.b32 [%rd1], 1, 16;\n"
          "tensormap.replace.tile.box_dim.global.b1024.b32 [%rd1], 1, 4;\n"
          "fence.proxy.tensormap::generic.release.gpu;\n"
          "fence.proxy.tensormap::generic.acquire.gpu [%rd1], 128;\n" +
              aroundCopy(64,
                         "cp.async.bulk.tensor.2d.shared::cta.global.tile."
                         "mbarrier::complete_tx::bytes [s], [%rd1, {1, 10}], "
                         "[b];\n"),
          globals),
      {}, {}, {descriptor, out, right}));
  auto words = device.download<uint32_t>(out, 16);
  for (unsigned i = 0; i < 16; ++i)
    EXPECT_EQ(words[i], 100 * (10 + i / 4) + 1 + i % 4);
}

} // namespace
