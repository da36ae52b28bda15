//===- RuntimeErrorTest.cpp - Tests of the runtime error texts ------------===//

#include "kvq/Support/RuntimeError.h"
#include "llvm/ADT/StringSet.h"
#include "gtest/gtest.h"

namespace {

std::string message(int32_t kind, int64_t index, int64_t value, int64_t limit) {
  char buffer[256];
  int length =
      kvqRuntimeErrorMessage(buffer, sizeof(buffer), kind, index, value, limit);
  EXPECT_EQ(length, static_cast<int>(std::string(buffer).size()));
  return buffer;
}

TEST(RuntimeError, EachKindHasItsOwnText) {
  llvm::StringSet<> texts;
  for (int32_t kind = 0; kind <= KVQ_RUNTIME_LAST_KIND + 1; ++kind)
    EXPECT_TRUE(texts.insert(kvqRuntimeErrorDescription(kind)).second) << kind;
  EXPECT_STREQ(kvqRuntimeErrorDescription(-1),
               kvqRuntimeErrorDescription(KVQ_RUNTIME_LAST_KIND + 1));
}

TEST(RuntimeError, MessagesNameIndexValueAndLimit) {
  EXPECT_EQ(message(KVQ_RUNTIME_BLOCK_TABLE_PAGE, 3, -7, INT64_MAX),
            "page id in block_table out of range: index 3, value -7, "
            "accepted < 9223372036854775807");
  EXPECT_EQ(message(KVQ_RUNTIME_DUPLICATE_SLOT, 5, 12, 1),
            "slot named twice in slot_mapping: index 5, value 12, named "
            "before at index 1");
  EXPECT_EQ(message(KVQ_RUNTIME_GLOBAL_SCALE, 0, 0xbf000000, 0),
            "global scale is not finite and positive: value -0.5");
  EXPECT_EQ(message(99, 1, 2, 3),
            "unknown kind of runtime error: index 1, value 2, accepted < 3");
}

TEST(RuntimeError, TruncatesLikeSnprintf) {
  char buffer[5] = "";
  EXPECT_GT(kvqRuntimeErrorMessage(buffer, 5, KVQ_RUNTIME_SLOT, 0, 0, 0), 4);
  EXPECT_STREQ(buffer, "slot");
}

} // namespace
