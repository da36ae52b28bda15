//===- CompiledEntryTest.cpp - Tests of calling compiled functions --------===//

#include "kvq/ExecutionEngine/CompiledEntry.h"
#include "mlir/AsmParser/AsmParser.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

using namespace kvq;
using llvm::StringRef;

namespace {

class CompiledEntryTest : public ::testing::Test {
protected:
  CompiledEntryTest() {
    mlir::DialectRegistry registry;
    registry.insert<mlir::LLVM::LLVMDialect>();
    registerExecutionEngine(registry);
    context.appendDialectRegistry(registry);
  }

  /// Compiles what a lowering could have made of `f`.
  llvm::Expected<CompiledEntry> compile(StringRef lowered,
                                        std::initializer_list<StringRef> args,
                                        std::initializer_list<StringRef> outs) {
    module = mlir::parseSourceString<mlir::ModuleOp>(lowered, &context);
    EXPECT_TRUE(module);
    EntrySignature signature;
    signature.name = "f";
    for (StringRef type : args)
      signature.arguments.push_back(
          llvm::cantFail(HostType::get(mlir::parseType(type, &context))));
    for (StringRef type : outs)
      signature.results.push_back(
          llvm::cantFail(HostType::get(mlir::parseType(type, &context))));
    return CompiledEntry::create(*module, std::move(signature));
  }

  static llvm::SmallVector<HostArgument> i32(StringRef text,
                                             mlir::MLIRContext *context) {
    HostType type =
        llvm::cantFail(HostType::get(mlir::IntegerType::get(context, 32)));
    llvm::SmallVector<HostArgument> arguments;
    arguments.push_back(llvm::cantFail(makeArgument(type, text)));
    return arguments;
  }

  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
};

/// `f` returns its argument as the status; the weak report must not be inlined.
constexpr StringRef statusOnly = R"mlir(
  llvm.func weak @kvq_report(%k: i32, %i: i64, %v: i64, %l: i64) {
    llvm.return
  }
  llvm.func @f(%s: i32) -> i32 {
    %zero = llvm.mlir.constant(0 : i32) : i32
    %isZero = llvm.icmp "sle" %s, %zero : i32
    llvm.cond_br %isZero, ^done, ^report
  ^report:
    %i = llvm.mlir.constant(4 : i64) : i64
    %v = llvm.mlir.constant(9 : i64) : i64
    %l = llvm.mlir.constant(8 : i64) : i64
    llvm.call @kvq_report(%s, %i, %v, %l) : (i32, i64, i64, i64) -> ()
    llvm.br ^done
  ^done:
    llvm.return %s : i32
  }
  llvm.func @_mlir_ciface_f(%s: i32) -> i32 {
    %r = llvm.call @f(%s) : (i32) -> i32
    llvm.return %r : i32
  }
)mlir";

TEST_F(CompiledEntryTest, StatusIsNoResult) {
  CompiledEntry entry = llvm::cantFail(compile(statusOnly, {"i32"}, {}));
  auto arguments = i32("0", &context);
  EXPECT_TRUE(llvm::cantFail(entry.call(arguments)).empty());
}

TEST_F(CompiledEntryTest, ReportsAreErrors) {
  CompiledEntry entry = llvm::cantFail(compile(statusOnly, {"i32"}, {}));
  auto arguments = i32("7", &context);
  EXPECT_EQ(llvm::toString(entry.call(arguments).takeError()),
            "page to copy out of range: index 4, value 9, accepted < 8");
  // The next call starts afresh.
  arguments = i32("0", &context);
  EXPECT_TRUE(static_cast<bool>(entry.call(arguments)));
}

TEST_F(CompiledEntryTest, StatusWithoutReportIsAnError) {
  CompiledEntry entry = llvm::cantFail(compile(statusOnly, {"i32"}, {}));
  auto arguments = i32("-3", &context);
  EXPECT_EQ(llvm::toString(entry.call(arguments).takeError()),
            "'f': returned status -3 without a report of what was wrong");
}

TEST_F(CompiledEntryTest, AnI32ResultIsNoStatus) {
  CompiledEntry entry = llvm::cantFail(compile(statusOnly, {"i32"}, {"i32"}));
  auto arguments = i32("-3", &context);
  auto results = llvm::cantFail(entry.call(arguments));
  ASSERT_EQ(results.size(), 1u);
  int32_t value;
  std::memcpy(&value, results[0].data(), sizeof(value));
  EXPECT_EQ(value, -3);
}

TEST_F(CompiledEntryTest, ResultsBeforeAStatus) {
  // A byte, a double and the status: with padding between.
  CompiledEntry entry = llvm::cantFail(compile(R"mlir(
    llvm.func @f() -> !llvm.struct<(i8, f64, i32)> {
      %a = llvm.mlir.constant(65 : i8) : i8
      %b = llvm.mlir.constant(1.5 : f64) : f64
      %c = llvm.mlir.constant(0 : i32) : i32
      %0 = llvm.mlir.poison : !llvm.struct<(i8, f64, i32)>
      %1 = llvm.insertvalue %a, %0[0] : !llvm.struct<(i8, f64, i32)>
      %2 = llvm.insertvalue %b, %1[1] : !llvm.struct<(i8, f64, i32)>
      %3 = llvm.insertvalue %c, %2[2] : !llvm.struct<(i8, f64, i32)>
      llvm.return %3 : !llvm.struct<(i8, f64, i32)>
    }
    llvm.func @_mlir_ciface_f(%out: !llvm.ptr) {
      %r = llvm.call @f() : () -> !llvm.struct<(i8, f64, i32)>
      llvm.store %r, %out : !llvm.struct<(i8, f64, i32)>, !llvm.ptr
      llvm.return
    }
  )mlir",
                                               {}, {"ui8", "f64"}));
  auto results = llvm::cantFail(entry.call({}));
  ASSERT_EQ(results.size(), 2u);
  EXPECT_EQ(results[0].rawBytes(), "A");
  double value;
  std::memcpy(&value, results[1].data(), sizeof(value));
  EXPECT_EQ(value, 1.5);
}

TEST_F(CompiledEntryTest, AnotherReturnTypeIsAnError) {
  std::string diagnostic;
  mlir::ScopedDiagnosticHandler handler(
      &context, [&](mlir::Diagnostic &d) { diagnostic = d.str(); });
  auto entry = compile(statusOnly, {"i32"}, {"f32"});
  EXPECT_FALSE(static_cast<bool>(entry));
  llvm::consumeError(entry.takeError());
  EXPECT_EQ(diagnostic,
            "expected the lowered function to return '!llvm.struct<(f32, "
            "i32)>', where the last i32 may be missing, found 'i32'");
}

TEST_F(CompiledEntryTest, UndefinedSymbolsAreErrors) {
  auto entry = compile(R"mlir(
    llvm.func @nowhere_to_be_found()
    llvm.func @f() {
      llvm.call @nowhere_to_be_found() : () -> ()
      llvm.return
    }
    llvm.func @_mlir_ciface_f() {
      llvm.call @f() : () -> ()
      llvm.return
    }
  )mlir",
                       {}, {});
  ASSERT_FALSE(static_cast<bool>(entry));
  EXPECT_TRUE(StringRef(llvm::toString(entry.takeError()))
                  .starts_with("'f': its code could not be linked: "));
}

TEST_F(CompiledEntryTest, WrongArgumentsAreErrors) {
  CompiledEntry entry = llvm::cantFail(compile(statusOnly, {"i32"}, {}));
  EXPECT_EQ(llvm::toString(entry.call({}).takeError()),
            "'f': expected 1 arguments, found 0");
}

} // namespace
