//===- TCGen05BuildersTest.cpp - Short builders of kvq_tcgen05 ------------===//

#include "kvq/Dialect/TCGen05/IR/TCGen05Ops.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Verifier.h"
#include "llvm/ADT/StringExtras.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace kvq::tcgen05;

namespace {

std::string print(Operation *op) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  op->print(stream, OpPrintingFlags().useLocalScope().assumeVerified());
  // The names of values are not what is tested: those of a block without a
  // function are all alike. Nor are spaces.
  std::string names;
  StringRef rest = text, unknown = "<<UNKNOWN SSA VALUE>>";
  while (!rest.empty()) {
    if (rest.consume_front(unknown)) {
      names += '%';
      continue;
    }
    if (rest.front() == '%') {
      rest =
          rest.drop_front().drop_while([](char c) { return llvm::isAlnum(c); });
      names += '%';
      continue;
    }
    bool dropped = rest.front() == ' ' &&
                   (rest.starts_with("  ") || rest.starts_with(" ["));
    if (!dropped)
      names += rest.front();
    rest = rest.drop_front();
  }
  return names;
}

// What the short builders make verifies and is what the assembly says.
TEST(TCGen05BuildersTest, ShortForms) {
  MLIRContext context;
  context.loadDialect<TCGen05Dialect, LLVM::LLVMDialect>();
  Location loc = UnknownLoc::get(&context);
  Type f32 = Float32Type::get(&context), f16 = Float16Type::get(&context);
  OpBuilder builder(&context);
  Type i32 = builder.getI32Type();
  auto layout = LayoutAttr::get(&context, Major::K, Swizzle::B64);
  Type a = TileType::get(&context, 128, 32, f16, layout);
  Type b = TileType::get(&context, 16, 32, f16, layout);
  Type region = TMemType::get(&context, 128, 64, f32);
  Type part = TMemType::get(&context, 128, 16, f32);
  Type vector = VectorType::get({16}, f32);

  Block block;
  SmallVector<Value> args;
  for (Type type :
       {Type(LLVM::LLVMPointerType::get(&context, 3)), i32, a, b, vector,
        Type(builder.getIndexType()), Type(builder.getI1Type())})
    args.push_back(block.addArgument(type, loc));
  Value slot = args[0], word = args[1], index = args[5];
  builder.setInsertionPointToStart(&block);

  SmallVector<std::pair<Operation *, std::string>> made;
  auto expect = [&](Operation *op, std::string text) {
    made.push_back({op, std::move(text)});
    return op->getNumResults() ? op->getResult(0) : Value();
  };
  const std::string t64 = "!kvq_tcgen05.tmem<128x64xf32>";
  const std::string t16 = "!kvq_tcgen05.tmem<128x16xf32>";
  const std::string product =
      "kvq_tcgen05.mma f16 ins(%, % : "
      "!kvq_tcgen05.tile<128x32xf16, k, b64>, "
      "!kvq_tcgen05.tile<16x32xf16, k, b64>) outs(% : " +
      t16 + ")";
  expect(AllocOp::create(builder, loc, slot, ValueRange()),
         "kvq_tcgen05.alloc % : !llvm.ptr<3>");
  Value s = expect(RegionOp::create(builder, loc, region, word, "S"),
                   "% = kvq_tcgen05.region % named \"S\" : " + t64);
  Value d =
      expect(SliceOp::create(builder, loc, part, s, builder.getIndexAttr(16)),
             "% = kvq_tcgen05.slice %[16] : " + t64 + " to " + t16);
  expect(SliceOp::create(builder, loc, part, s, OpFoldResult(index)),
         "% = kvq_tcgen05.slice %[%] : " + t64 + " to " + t16);
  expect(MMAOp::create(builder, loc, MMAKind::F16, args[2], args[3], d),
         product);
  expect(
      MMAOp::create(builder, loc, MMAKind::F16, args[2], args[3], d, args[6]),
      product + " accumulate(%)");
  expect(LoadOp::create(builder, loc, vector, AccessShape::S32x32b, s,
                        builder.getIndexAttr(8), word),
         "% = kvq_tcgen05.load shape_32x32b %[8] warp(%) : " + t64 +
             " -> vector<16xf32>");
  expect(LoadOp::create(builder, loc, vector, AccessShape::S16x64b, s,
                        OpFoldResult(index), word, 16),
         "% = kvq_tcgen05.load shape_16x64b %[%] warp(%) {lane = 16 : i64} : " +
             t64 + " -> vector<16xf32>");
  expect(StoreOp::create(builder, loc, AccessShape::S32x32b, args[4], s,
                         builder.getIndexAttr(0), word),
         "kvq_tcgen05.store shape_32x32b % to %[0] warp(%) : vector<16xf32>, " +
             t64);
  expect(DeallocOp::create(builder, loc, word), "kvq_tcgen05.dealloc %");
  for (auto &[op, text] : made) {
    EXPECT_TRUE(succeeded(verify(op)));
    EXPECT_EQ(print(op), text);
  }
}

} // namespace
