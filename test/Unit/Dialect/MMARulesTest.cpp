//===- MMARulesTest.cpp - The table of MMA kinds --------------------------===//

#include "kvq/Dialect/KVQ/Analysis/MMARules.h"
#include "kvq/Dialect/KVQ/IR/KVQDialect.h"
#include "kvq/Support/Chip.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/MLIRContext.h"
#include "gtest/gtest.h"

using namespace kvq;
using namespace mlir;

namespace {

struct MMARulesTest : testing::Test {
  MMARulesTest() { context.loadDialect<KVQDialect>(); }

  MMARequest request(MMAProduct product, StringRef format, int64_t headDim,
                     Type query) {
    return {product, FormatAttr::getPreset(&context, format), headDim, query};
  }

  MLIRContext context;
  Builder b{&context};
};

/// Every chip that code is made for has rules, and no other.
TEST_F(MMARulesTest, HasTheChips) {
  SmallVector<StringRef> chips;
  for (const Chip &chip : getChips())
    chips.push_back(chip.name);
  EXPECT_EQ(chips, SmallVector<StringRef>(getMMAChips()));
}

/// What a chip lacks by the table of chips it lacks here.
TEST_F(MMARulesTest, AgreesWithTheChips) {
  for (const MMARule &rule : getMMARules()) {
    auto chip = getChip(rule.chip);
    ASSERT_TRUE(bool(chip));
    if (rule.unit == MMAUnit::F8)
      EXPECT_TRUE(chip->hasFP8Mma || chip->hasTcgen05) << rule.chip.str();
    if (rule.unit == MMAUnit::BlockScaled)
      EXPECT_TRUE(chip->hasBlockScaledMma || chip->hasTcgen05)
          << rule.chip.str();
    EXPECT_EQ(rule.terms != 0, rule.unit == MMAUnit::BlockScaled);
  }
}

/// Each preset has a kernel for both products on each chip, whatever the type
/// of the queries, and head_dim need be no multiple of anything.
TEST_F(MMARulesTest, CoversThePresets) {
  for (StringRef chip : getMMAChips())
    for (StringRef format : FormatAttr::getPresetNames())
      for (MMAProduct product : {MMAProduct::QK, MMAProduct::PV})
        for (Type query : {Type(b.getF32Type()), Type(b.getF16Type()),
                           Type(b.getBF16Type())}) {
          MMAChoice choice =
              chooseMMA(chip, request(product, format, 40, query), 0.01);
          // f16 keys do not fit bf16, nor bf16 queries f16.
          bool hasNone =
              format == "f16" && product == MMAProduct::QK && !query.isF16();
          EXPECT_EQ(choice.rule == nullptr, hasNone)
              << chip.str() << ' ' << format.str();
        }
}

/// A bound on the error that nothing meets gives the least error.
TEST_F(MMARulesTest, BoundsTheError) {
  MMARequest key = request(MMAProduct::QK, "nvfp4", 64, b.getF16Type());
  EXPECT_EQ(chooseMMA("sm_90", key, 0).rule->unit, MMAUnit::F16);
  MMARequest value = request(MMAProduct::PV, "nvfp4", 64, b.getBF16Type());
  EXPECT_EQ(chooseMMA("sm_90", value, 0).rule->unit, MMAUnit::F16);
  // One term of NVFP4 is the cheapest, two the cheapest within a percent.
  EXPECT_EQ(chooseMMA("sm_100a", key, 0.2).rule->terms, 1);
  EXPECT_EQ(chooseMMA("sm_100a", key, 0.01).rule->terms, 2);
}

/// The kernel with tcgen05 takes the keys that feed it as they lie, and scales
/// queries so that none overflows.
TEST_F(MMARulesTest, FeedsTheTensorCores) {
  for (Type query :
       {Type(b.getF32Type()), Type(b.getF16Type()), Type(b.getBF16Type())})
    for (auto [format, unit] :
         {std::pair("fp8", MMAUnit::F8), std::pair("f16", MMAUnit::F16),
          std::pair("bf16", MMAUnit::BF16)}) {
      MMARequest key = request(MMAProduct::QK, format, 128, query);
      const MMARule *rule = chooseMMA("sm_100a", key, 0.001).rule;
      ASSERT_NE(rule, nullptr);
      EXPECT_EQ(rule->unit, unit);
      EXPECT_EQ(rule->kernel, MMAKernel::Blackwell);
    }
  // P in E4M3 is off by more than a percent.
  MMARequest value = request(MMAProduct::PV, "fp8", 128, b.getF16Type());
  EXPECT_EQ(chooseMMA("sm_100a", value, 0.01).rule->unit, MMAUnit::F16);
  EXPECT_EQ(chooseMMA("sm_100a", value, 0.03).rule->unit, MMAUnit::F8);
  // NVFP4 values in E4M3 are rounded, too.
  MMARequest folded = request(MMAProduct::PV, "nvfp4", 128, b.getF16Type());
  EXPECT_EQ(chooseMMA("sm_100a", folded, 0.03).rule->unit, MMAUnit::F16);
  EXPECT_EQ(chooseMMA("sm_100a", folded, 0.04).rule->unit, MMAUnit::F8);
}

/// Products in 16 bits are the portable kernel's unless they are asked for of
/// the one with tcgen05, which has three sizes.
TEST_F(MMARulesTest, FindsTheKernelsRule) {
  auto find = [&](StringRef chip, StringRef format, int64_t headDim,
                  MMAUnit unit, std::optional<MMAKernel> kernel) {
    MMARequest value = request(MMAProduct::PV, format, headDim, b.getF16Type());
    return findMMARule(chip, value, MMAKindAttr::get(&context, unit, 0), kernel)
        ->instruction;
  };
  for (auto [format, unit] :
       {std::pair("nvfp4", MMAUnit::F16), std::pair("mxfp4", MMAUnit::BF16),
        std::pair("fp8", MMAUnit::F16), std::pair("f16", MMAUnit::F16),
        std::pair("bf16", MMAUnit::BF16)}) {
    StringRef portable = unit == MMAUnit::F16 ? "mma.sync.m16n8k16.f16"
                                              : "mma.sync.m16n8k16.bf16";
    EXPECT_EQ(find("sm_100a", format, 128, unit, MMAKernel::Blackwell),
              "tcgen05.mma.kind::f16");
    EXPECT_EQ(find("sm_100a", format, 128, unit, std::nullopt), portable);
    EXPECT_EQ(find("sm_100a", format, 192, unit, MMAKernel::Blackwell),
              portable);
    EXPECT_EQ(find("sm_90", format, 128, unit, MMAKernel::Blackwell), portable);
  }
  EXPECT_EQ(find("sm_100a", "mxfp8", 128, MMAUnit::BF16, MMAKernel::Blackwell),
            "mma.sync.m16n8k16.bf16");
}

/// What the kernel for block-scaled scores does not have is told, and computed
/// by another.
TEST_F(MMARulesTest, KnowsTheKernels) {
  for (int64_t headDim : {64, 128, 192, 256, 320}) {
    MMAChoice choice = chooseMMA(
        "sm_100a", request(MMAProduct::QK, "nvfp4", headDim, b.getF16Type()),
        0.01);
    bool hasKernel = headDim != 192 && headDim != 320;
    EXPECT_EQ(choice.rule->unit,
              hasKernel ? MMAUnit::BlockScaled : MMAUnit::F16);
    EXPECT_EQ(choice.fasterWithoutKernel == nullptr, hasKernel);
  }
}

} // namespace
