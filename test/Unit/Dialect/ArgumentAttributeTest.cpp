//===- ArgumentAttributeTest.cpp - Attributes of region arguments ---------===//
//
// Functions verify the attributes of their arguments when a module is parsed.
// An operation that is no function can ask the dialect only through C++.
//
//===----------------------------------------------------------------------===//

#include "kvq/Dialect/KVQ/IR/KVQDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace kvq;

namespace {

TEST(ArgumentAttributeTest, MayAliasIsOfFunctionsOnly) {
  MLIRContext context;
  auto *dialect = context.getOrLoadDialect<KVQDialect>();
  OwningOpRef<ModuleOp> module =
      ModuleOp::create(UnknownLoc::get(&context), "m");
  std::string error;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    error = diagnostic.str();
    return success();
  });
  NamedAttribute attribute(KVQDialect::getMayAliasAttrName(),
                           UnitAttr::get(&context));
  EXPECT_TRUE(failed(dialect->verifyRegionArgAttribute(
      *module, /*regionIndex=*/0, /*argIndex=*/0, attribute)));
  EXPECT_EQ(error, "'kvq.may_alias' belongs on an argument of a function");
}

} // namespace
