//===- ChipTest.cpp - Chips and their features ----------------------------===//

#include "kvq/Support/Chip.h"
#include "gtest/gtest.h"

using namespace kvq;

namespace {

TEST(ChipTest, FindsEveryChipByName) {
  ASSERT_EQ(getChips().size(), 7u);
  for (const Chip &chip : getChips()) {
    auto found = getChip(chip.name);
    ASSERT_TRUE(bool(found)) << llvm::toString(found.takeError());
    EXPECT_EQ(&*found, &chip);
    EXPECT_GE(chip.ptxVersion, chip.leastPtxVersion);
  }
}

TEST(ChipTest, UnknownNamesAreErrorsThatListTheChips) {
  for (const char *name :
       {"", "sm_75", "sm_100", "sm_100f", "SM_80", "sm_90 "}) {
    auto found = getChip(name);
    ASSERT_FALSE(bool(found));
    EXPECT_EQ(llvm::toString(found.takeError()),
              "unknown chip '" + std::string(name) +
                  "', expected one of sm_80, sm_86, sm_89, sm_90, sm_90a, "
                  "sm_100a, sm_120a");
  }
}

std::string featuresOf(const char *chip, const char *features) {
  auto result = getChipFeatures(llvm::cantFail(getChip(chip)), features);
  return result ? *result : "error: " + llvm::toString(result.takeError());
}

TEST(ChipTest, Features) {
  EXPECT_EQ(featuresOf("sm_100a", ""), "+ptx88");
  EXPECT_EQ(featuresOf("sm_100a", "+ptx90"), "+ptx90");
  EXPECT_EQ(featuresOf("sm_80", "+ptx70"), "+ptx70");
  EXPECT_EQ(featuresOf("sm_100a", "+ptx86"),
            "error: features '+ptx86' do not go with sm_100a, expected one of "
            "+ptx88, +ptx90");
  for (const char *wrong : {"ptx88", "+ptx89", "+ptx88,+sm_90", "-ptx88"})
    EXPECT_EQ(featuresOf("sm_120a", wrong),
              "error: features '" + std::string(wrong) +
                  "' do not go with sm_120a, expected one of +ptx87, +ptx88, "
                  "+ptx90");
}

} // namespace
