//===- HandleAliasAnalysisTest.cpp - Each rule of the handle analysis -----===//

#include "kvq/Dialect/KVQ/Analysis/HandleAliasAnalysis.h"
#include "kvq/Dialect/KVQ/IR/KVQOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace kvq;

namespace {

/// Names values by `copy_pages` operations: the source of the one with the
/// attribute `name = "x"` is the value x.
class HandleAliasAnalysisTest : public ::testing::Test {
protected:
  HandleAliasAnalysisTest() {
    context.loadDialect<KVQDialect, arith::ArithDialect, cf::ControlFlowDialect,
                        func::FuncDialect, memref::MemRefDialect,
                        scf::SCFDialect>();
  }

  void parse(std::string body, StringRef arguments) {
    std::string text = "!k = !kvq.cache<key, 1x1x16, bf16, NHD>\n"
                       "!v = !kvq.cache<value, 1x1x16, bf16, NHD>\n"
                       "!m = memref<?x1x1x16xbf16>\n"
                       "func.func private @unknown() -> !k\n"
                       "func.func private @unknown_memref() -> !m\n"
                       "func.func @f(%i: memref<?xi32>, %p: i1, %n: index, " +
                       arguments.str() + ") {\n" + body + "\nreturn\n}\n";
    module = parseSourceString<ModuleOp>(text, &context);
    ASSERT_TRUE(module) << text;
    module->walk([&](CopyPagesOp op) {
      if (auto name = op->getAttrOfType<StringAttr>("name"))
        values[name.getValue()] = op.getSource();
    });
    analysis.emplace(*module);
  }

  /// A statement that names a handle.
  static std::string name(const std::string &value, const std::string &type,
                          const std::string &name) {
    return "kvq.copy_pages from(" + value + ") to(" + value +
           ") src_pages(%i : memref<?xi32>) dst_pages(%i : memref<?xi32>) "
           "{name = \"" +
           name + "\"} : " + type + "\n";
  }

  AliasResult alias(StringRef lhs, StringRef rhs) {
    AliasResult result = analysis->alias(values.at(lhs), values.at(rhs));
    EXPECT_EQ(result, analysis->alias(values.at(rhs), values.at(lhs)));
    return result;
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
  llvm::StringMap<Value> values;
  std::optional<HandleAliasAnalysis> analysis;
};

TEST_F(HandleAliasAnalysisTest, ArgumentsAreDisjoint) {
  parse(name("%a", "!k", "a") + name("%b", "!k", "b") + name("%c", "!v", "c"),
        "%a: !k, %b: !k, %c: !v");
  EXPECT_TRUE(alias("a", "a").isMust());
  EXPECT_TRUE(alias("a", "b").isNo());
  EXPECT_TRUE(alias("a", "c").isNo());
}

TEST_F(HandleAliasAnalysisTest, MayAliasArgumentSharesWithItsSideOnly) {
  parse(name("%a", "!k", "a") + name("%b", "!k", "b") + name("%c", "!v", "c"),
        "%a: !k {kvq.may_alias}, %b: !k, %c: !v {kvq.may_alias}");
  EXPECT_TRUE(alias("a", "b").isMay());
  EXPECT_TRUE(alias("a", "c").isNo());
}

TEST_F(HandleAliasAnalysisTest, MadeHandlesShareByRoot) {
  parse("%c = memref.cast %m : !m to memref<?x1x1x16xbf16, strided<[?, ?, ?, "
        "1], offset: ?>>\n"
        "%a = kvq.make_cache data(%m : !m) : !k\n"
        "%b = kvq.make_cache data(%c : memref<?x1x1x16xbf16, strided<[?, ?, ?, "
        "1], offset: ?>>) : !k\n"
        "%d = kvq.make_cache data(%o : !m) : !k\n"
        "%e = kvq.make_cache data(%m : !m) : !v\n"
        "%x = memref.alloc(%n) : !m\n"
        "%y = memref.alloc(%n) : !m\n"
        "%g = kvq.make_cache data(%x : !m) : !k\n"
        "%h = kvq.make_cache data(%y : !m) : !k\n" +
            name("%a", "!k", "a") + name("%b", "!k", "b") +
            name("%d", "!k", "d") + name("%e", "!v", "e") +
            name("%g", "!k", "g") + name("%h", "!k", "h"),
        "%m: !m, %o: !m");
  EXPECT_TRUE(alias("a", "b").isMay());
  EXPECT_TRUE(alias("a", "d").isNo());
  // A key and a value never share bytes.
  EXPECT_TRUE(alias("a", "e").isNo());
  EXPECT_TRUE(alias("g", "h").isNo());
  EXPECT_TRUE(alias("g", "a").isNo());
  // A handle shares bytes with the memref that it was made from.
  auto make = values["a"].getDefiningOp<MakeCacheOp>();
  EXPECT_TRUE(analysis->alias(values["b"], make.getData()).isMay());
  EXPECT_TRUE(analysis->alias(values["d"], make.getData()).isNo());
}

TEST_F(HandleAliasAnalysisTest, UnknownOriginSharesWithAnything) {
  parse("%a = call @unknown() : () -> !k\n"
        "%m = call @unknown_memref() : () -> !m\n"
        "%b = kvq.make_cache data(%m : !m) : !k\n" +
            name("%a", "!k", "a") + name("%b", "!k", "b") +
            name("%c", "!k", "c") + name("%d", "!v", "d"),
        "%c: !k, %d: !v");
  EXPECT_TRUE(alias("a", "b").isMay());
  EXPECT_TRUE(alias("a", "c").isMay());
  EXPECT_TRUE(alias("b", "c").isMay());
  EXPECT_TRUE(alias("a", "d").isNo());
}

TEST_F(HandleAliasAnalysisTest, FollowsSelectsBranchesAndLoops) {
  parse("%s = arith.select %p, %a, %b : !k\n"
        "%t = scf.if %p -> !k {\nscf.yield %a : !k\n} else {\n"
        "scf.yield %a : !k\n}\n"
        "%l = scf.for %j = %n to %n step %n iter_args(%x = %b) -> !k {\n" +
            name("%x", "!k", "x") +
            "scf.yield %c : !k\n}\n"
            "cf.cond_br %p, ^bb1(%a : !k), ^bb1(%c : !k)\n^bb1(%y: !k):\n" +
            name("%s", "!k", "s") + name("%t", "!k", "t") +
            name("%l", "!k", "l") + name("%y", "!k", "y") +
            name("%a", "!k", "a") + name("%b", "!k", "b") +
            name("%c", "!k", "c") + name("%d", "!k", "d"),
        "%a: !k, %b: !k, %c: !k, %d: !k");
  auto shares = [&](StringRef value) {
    std::string roots;
    for (StringRef root : {"a", "b", "c", "d"})
      if (!alias(value, root).isNo())
        roots += root;
    return roots;
  };
  EXPECT_EQ(shares("s"), "ab");
  EXPECT_EQ(shares("t"), "a");
  EXPECT_EQ(shares("x"), "bc");
  EXPECT_EQ(shares("l"), "bc");
  EXPECT_EQ(shares("y"), "ac");
  EXPECT_TRUE(alias("s", "y").isMay());
  EXPECT_TRUE(alias("t", "l").isNo());
}

TEST_F(HandleAliasAnalysisTest, EffectsOfOperations) {
  parse("kvq.copy_pages from(%a) to(%b) src_pages(%i : memref<?xi32>) "
        "dst_pages(%i : memref<?xi32>) {under_test} : !k\n" +
            name("%a", "!k", "a") + name("%b", "!k", "b") +
            name("%c", "!k", "c"),
        "%a: !k, %b: !k, %c: !k");
  Operation *copy = nullptr;
  module->walk([&](CopyPagesOp op) {
    if (op->hasAttr("under_test"))
      copy = op;
  });
  EXPECT_TRUE(analysis->getModRef(copy, values["c"]).isNoModRef());
  ModRefResult source = analysis->getModRef(copy, values["a"]);
  EXPECT_TRUE(source.isRef() && !source.isMod());
  EXPECT_TRUE(analysis->getModRef(copy, values["b"]).isMod());
}

TEST_F(HandleAliasAnalysisTest, PartsOfMadeHandles) {
  const std::string q = "!kvq.cache<key, 1x1x16, nvfp4, NHD, linear>";
  auto make = [&](const std::string &data, const std::string &scales,
                  const std::string &globalScale) {
    return " = kvq.make_cache data(" + data +
           " : memref<?x1x1x16xf4E2M1FN>) scales(" + scales +
           " : memref<?x1x1x1xf8E4M3FN>) global_scale(" + globalScale +
           " : memref<f32>) : " + q + "\n";
  };
  parse("%a" + make("%d", "%s", "%g") + "%b" + make("%e", "%t", "%g") + "%c" +
            make("%f", "%s", "%h") +
            "%z = arith.constant 0.0 : f32\n"
            "%one = arith.constant 1.0 : f8E4M3FN\n"
            "memref.store %z, %g[] {name = \"g\"} : memref<f32>\n"
            "memref.store %one, %s[%n, %n, %n, %n] {name = \"s\"} : "
            "memref<?x1x1x1xf8E4M3FN>\n"
            "kvq.copy_pages from(%a) to(%a) src_pages(%i : memref<?xi32>) "
            "dst_pages(%i : memref<?xi32>) {name = \"a\"} : " +
            q + "\n" + name("%b", q, "b") + name("%c", q, "c"),
        "%d: memref<?x1x1x16xf4E2M1FN>, %e: memref<?x1x1x16xf4E2M1FN>, "
        "%f: memref<?x1x1x16xf4E2M1FN>, %s: memref<?x1x1x1xf8E4M3FN>, "
        "%t: memref<?x1x1x1xf8E4M3FN>, %g: memref<f32>, %h: memref<f32>");
  // Appends write data and scales, never a global scale.
  EXPECT_TRUE(alias("a", "b").isNo());
  EXPECT_TRUE(alias("a", "c").isMay());
  llvm::StringMap<Operation *> ops;
  module->walk([&](Operation *op) {
    if (auto attribute = op->getAttrOfType<StringAttr>("name"))
      ops[attribute.getValue()] = op;
  });
  auto writes = [&](StringRef op) {
    std::string handles;
    for (StringRef handle : {"a", "b", "c"})
      if (analysis->mayWrite(ops.at(op), values.at(handle)))
        handles += handle;
    return handles;
  };
  EXPECT_EQ(writes("g"), "ab");
  EXPECT_EQ(writes("s"), "ac");
  EXPECT_EQ(writes("a"), "ac");
  // The copy writes no global scale, though the handle shows one.
  Value globalScale =
      cast<MakeCacheOp>(values.at("a").getDefiningOp()).getGlobalScale();
  EXPECT_FALSE(analysis->mayWriteGlobalScale(ops.at("a"), globalScale));
  EXPECT_TRUE(analysis->mayWriteGlobalScale(ops.at("g"), globalScale));
}

} // namespace
