//===- ScaleLayoutsTest.cpp - Tests of emitted scale positions ------------===//

#include "kvq/Dialect/KVQ/IR/KVQScaleLayouts.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Matchers.h"
#include "gtest/gtest.h"
#include <set>

using namespace mlir;
using namespace kvq;

namespace {

/// The emitters fold on constants, so that what they compute can be read off.
class ScaleLayoutsTest : public ::testing::Test {
protected:
  ScaleLayoutsTest() : builder(&context) {
    context.loadDialect<arith::ArithDialect>();
    module = ModuleOp::create(builder.getUnknownLoc());
    builder.setInsertionPointToStart(module->getBody());
  }

  Value constant(int64_t value) {
    return arith::ConstantIndexOp::create(builder, builder.getUnknownLoc(),
                                          value);
  }

  Value constant(ArrayRef<int64_t> values) {
    auto type = VectorType::get(static_cast<int64_t>(values.size()),
                                builder.getIndexType());
    SmallVector<APInt> elements;
    for (int64_t value : values)
      elements.push_back(APInt(64, value));
    return arith::ConstantOp::create(builder, builder.getUnknownLoc(),
                                     DenseIntElementsAttr::get(type, elements));
  }

  static int64_t getConstant(Value value) {
    APInt result;
    EXPECT_TRUE(matchPattern(value, m_ConstantInt(&result)));
    return result.getSExtValue();
  }

  MLIRContext context;
  OpBuilder builder;
  OwningOpRef<ModuleOp> module;
};

TEST_F(ScaleLayoutsTest, EmittedPositionsAreTheHostsAndDistinct) {
  struct Case {
    ScaleLayout layout;
    int64_t rows, columns;
  } cases[] = {{ScaleLayout::Linear, 5, 3},
               {ScaleLayout::Interleaved4, 12, 4},
               {ScaleLayout::Interleaved4, 8, 12},
               {ScaleLayout::Blocked128x4, 128, 4},
               {ScaleLayout::Blocked128x4, 256, 8}};
  for (const Case &c : cases) {
    std::set<std::pair<int64_t, int64_t>> seen;
    for (int64_t row = 0; row < c.rows; ++row)
      for (int64_t column = 0; column < c.columns; ++column) {
        auto [r, s] = emitScalePosition(builder, builder.getUnknownLoc(),
                                        c.layout, constant(row),
                                        constant(column), constant(c.columns));
        ScalePosition expected =
            getScalePosition(c.layout, row, column, c.columns);
        ASSERT_EQ(getConstant(r), expected.row);
        ASSERT_EQ(getConstant(s), expected.column);
        ASSERT_LT(expected.row, c.rows);
        ASSERT_TRUE(seen.insert({expected.row, expected.column}).second);
      }
  }
}

TEST_F(ScaleLayoutsTest, VectorsHoldThePositionOfEachLane) {
  int64_t rows[] = {0, 1, 37, 127, 130}, columns[] = {0, 3, 5, 7, 4};
  auto [r, s] =
      emitScalePosition(builder, builder.getUnknownLoc(),
                        ScaleLayout::Blocked128x4, constant(ArrayRef(rows)),
                        constant(ArrayRef(columns)), constant({8, 8, 8, 8, 8}));
  DenseIntElementsAttr foundRows, foundColumns;
  ASSERT_TRUE(matchPattern(r, m_Constant(&foundRows)));
  ASSERT_TRUE(matchPattern(s, m_Constant(&foundColumns)));
  for (unsigned lane = 0; lane < std::size(rows); ++lane) {
    ScalePosition expected = getScalePosition(ScaleLayout::Blocked128x4,
                                              rows[lane], columns[lane], 8);
    EXPECT_EQ(foundRows.getValues<APInt>()[lane].getSExtValue(), expected.row);
    EXPECT_EQ(foundColumns.getValues<APInt>()[lane].getSExtValue(),
              expected.column);
  }
}

} // namespace
