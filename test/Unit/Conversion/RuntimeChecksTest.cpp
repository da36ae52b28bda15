//===- RuntimeChecksTest.cpp - Inserting run-time checks ------------------===//
//
// What the checks do when run is tested in test/Conversion/RuntimeChecks.
//
//===----------------------------------------------------------------------===//

#include "kvq/Conversion/RuntimeChecks/RuntimeChecks.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

using namespace mlir;

namespace {

class RuntimeChecksTest : public testing::Test {
protected:
  RuntimeChecksTest() {
    DialectRegistry registry;
    kvq::registerRuntimeCheckDialects(registry);
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
  }

  OwningOpRef<ModuleOp> parse(StringRef text) {
    return parseSourceString<ModuleOp>(text, &context);
  }

  static unsigned countFunctions(ModuleOp module) {
    return llvm::range_size(module.getOps<func::FuncOp>());
  }

  MLIRContext context;
};

TEST_F(RuntimeChecksTest, InsertsWhatIsCalled) {
  OwningOpRef<ModuleOp> module = parse("");
  func::FuncOp pages = kvq::getOrInsertRuntimeCheck(*module, "kvq_check_pages");
  ASSERT_TRUE(pages);
  EXPECT_EQ(pages.getName(), "kvq_check_pages");
  EXPECT_TRUE(succeeded(verify(*module)));
  // Itself, the range check, the failure path and the report; no hash table.
  EXPECT_EQ(countFunctions(*module), 4u);
  EXPECT_TRUE(module->lookupSymbol("kvq_report"));
  EXPECT_FALSE(module->lookupSymbol("kvq_table_find"));
}

TEST_F(RuntimeChecksTest, InsertsOnce) {
  OwningOpRef<ModuleOp> module = parse("");
  func::FuncOp first =
      kvq::getOrInsertRuntimeCheck(*module, "kvq_check_slots_i32");
  unsigned functions = countFunctions(*module);
  EXPECT_EQ(kvq::getOrInsertRuntimeCheck(*module, "kvq_check_slots_i32"),
            first);
  EXPECT_EQ(countFunctions(*module), functions);
  // The i64 form shares all but itself.
  ASSERT_TRUE(kvq::getOrInsertRuntimeCheck(*module, "kvq_check_slots_i64"));
  EXPECT_EQ(countFunctions(*module), functions + 1);
  EXPECT_TRUE(succeeded(verify(*module)));
}

TEST_F(RuntimeChecksTest, HasEveryDocumentedCheck) {
  OwningOpRef<ModuleOp> module = parse("");
  for (StringRef name : {"slots_i32", "slots_i64", "block_table", "positions",
                         "positions_batched", "indptr", "max_len", "kv_chunks",
                         "pages", "duplicate_pages", "disjoint_pages",
                         "global_scale", "same_global_scale", "size"}) {
    func::FuncOp check =
        kvq::getOrInsertRuntimeCheck(*module, ("kvq_check_" + name).str());
    ASSERT_TRUE(check) << name.str();
    EXPECT_EQ(check.getFunctionType().getResults(),
              ArrayRef<Type>(IntegerType::get(&context, 32)));
  }
  EXPECT_TRUE(succeeded(verify(*module)));
}

TEST_F(RuntimeChecksTest, LinkageKeepsChecksApartAndReportOverridable) {
  OwningOpRef<ModuleOp> module = parse("");
  kvq::getOrInsertRuntimeCheck(*module, "kvq_check_pages");
  for (auto function : module->getOps<func::FuncOp>()) {
    auto linkage = function->getAttrOfType<LLVM::LinkageAttr>("llvm.linkage");
    ASSERT_TRUE(linkage) << function.getName().str();
    EXPECT_EQ(linkage.getLinkage(), function.getName() == "kvq_report"
                                        ? LLVM::linkage::Linkage::Weak
                                        : LLVM::linkage::Linkage::Internal);
  }
}

TEST_F(RuntimeChecksTest, UnknownNamesAndTakenSymbolsGiveNull) {
  OwningOpRef<ModuleOp> module = parse("");
  EXPECT_FALSE(kvq::getOrInsertRuntimeCheck(*module, "kvq_check_nothing"));
  EXPECT_EQ(countFunctions(*module), 0u);

  module = parse("func.func private @kvq_check_range(i32)");
  EXPECT_FALSE(kvq::getOrInsertRuntimeCheck(*module, "kvq_check_range"));
  EXPECT_FALSE(kvq::getOrInsertRuntimeCheck(*module, "kvq_check_pages"));
  EXPECT_EQ(countFunctions(*module), 1u);

  module = parse("func.func private @kvq_report(i32)");
  EXPECT_FALSE(kvq::getOrInsertRuntimeCheck(*module, "kvq_check_pages"));
}

TEST_F(RuntimeChecksTest, UsesAReportThatIsThere) {
  OwningOpRef<ModuleOp> module =
      parse("func.func private @kvq_report(i32, i64, i64, i64)");
  ASSERT_TRUE(kvq::getOrInsertRuntimeCheck(*module, "kvq_check_pages"));
  EXPECT_TRUE(module->lookupSymbol<func::FuncOp>("kvq_report").isExternal());
  EXPECT_TRUE(succeeded(verify(*module)));
}

} // namespace
