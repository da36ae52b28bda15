//===- KernelSignatureTest.cpp - Signatures as attributes -----------------===//

#include "kvq/Conversion/KVQToGPU/KernelManifest.h"
#include "mlir/IR/AffineExpr.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/MLIRContext.h"
#include "gtest/gtest.h"

using namespace kvq;
using namespace mlir;

namespace {

TEST(KernelSignatureTest, SurvivesTheAttribute) {
  MLIRContext context;
  KernelSignature signature;
  signature.operation = "kvq.dequantize";
  signature.parameters.resize(4);
  signature.parameters[0].name = "data";
  signature.parameters[0].kind = KernelParameterKind::Pointer;
  signature.parameters[0].alignment = 2;
  signature.parameters[0].isRead = true;
  signature.parameters[0].type =
      MemRefType::get({ShapedType::kDynamic, 64}, Float16Type::get(&context));
  signature.caches.push_back({"k_", IntegerType::get(&context, 7)});
  signature.parameters[1].name = "data_stride1";
  signature.parameters[1].kind = KernelParameterKind::Stride;
  signature.parameters[1].of = "data";
  signature.parameters[1].dimension = 1;
  signature.parameters[2].name = "data_size0";
  signature.parameters[2].kind = KernelParameterKind::Size;
  signature.parameters[2].of = "data";
  signature.parameters[3].name = "global_scale";
  signature.parameters[3].kind = KernelParameterKind::Scalar;
  AffineExpr size = getAffineSymbolExpr(0, &context);
  AffineExpr one = getAffineConstantExpr(1, &context);
  signature.grid =
      AffineMap::get(0, 1, {size.ceilDiv(256), one, one}, &context);
  signature.block = {256, 1, 1};
  signature.sharedBytes = 1024;
  signature.workspaceBytes = AffineMap::get(0, 1, {size * 16}, &context);
  signature.isWorkspaceZeroed = true;

  DictionaryAttr attribute = signature.toAttribute(&context);
  std::optional<KernelSignature> read =
      KernelSignature::fromAttribute(attribute);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->operation, "kvq.dequantize");
  ASSERT_EQ(read->parameters.size(), 4u);
  for (auto [found, expected] :
       llvm::zip(read->parameters, signature.parameters)) {
    EXPECT_EQ(found.name, expected.name);
    EXPECT_EQ(found.kind, expected.kind);
    EXPECT_EQ(found.alignment, expected.alignment);
    EXPECT_EQ(found.isRead, expected.isRead);
    EXPECT_EQ(found.isWritten, expected.isWritten);
    EXPECT_EQ(found.type, expected.type);
    EXPECT_EQ(found.of, expected.of);
    EXPECT_EQ(found.dimension, expected.dimension);
  }
  ASSERT_EQ(read->caches.size(), 1u);
  EXPECT_EQ(read->caches[0].prefix, "k_");
  EXPECT_EQ(read->caches[0].type, signature.caches[0].type);
  EXPECT_EQ(read->grid, signature.grid);
  EXPECT_EQ(read->block, signature.block);
  EXPECT_EQ(read->sharedBytes, 1024);
  EXPECT_EQ(read->workspaceBytes, signature.workspaceBytes);
  EXPECT_TRUE(read->isWorkspaceZeroed);
  EXPECT_EQ(read->toAttribute(&context), attribute);
}

TEST(KernelSignatureTest, OtherAttributesAreNone) {
  MLIRContext context;
  Builder b(&context);
  EXPECT_FALSE(KernelSignature::fromAttribute({}));
  EXPECT_FALSE(KernelSignature::fromAttribute(b.getUnitAttr()));
  EXPECT_FALSE(KernelSignature::fromAttribute(b.getDictionaryAttr({})));

  KernelSignature signature;
  signature.operation = "kvq.append";
  signature.parameters.resize(1);
  signature.parameters[0].name = "data";
  signature.parameters[0].kind = KernelParameterKind::Pointer;
  signature.grid = b.getMultiDimIdentityMap(0);
  DictionaryAttr good = signature.toAttribute(&context);
  ASSERT_TRUE(KernelSignature::fromAttribute(good));
  for (NamedAttribute field : good) {
    NamedAttrList less(good);
    less.erase(field.getName());
    EXPECT_FALSE(KernelSignature::fromAttribute(less.getDictionary(&context)))
        << field.getName().str();
  }
  // A kind that there is not.
  NamedAttrList parameter(cast<DictionaryAttr>(
      cast<ArrayAttr>(good.get("parameters")).getValue().front()));
  parameter.set("kind", b.getStringAttr("beads"));
  NamedAttrList wrong(good);
  wrong.set("parameters", b.getArrayAttr(parameter.getDictionary(&context)));
  EXPECT_FALSE(KernelSignature::fromAttribute(wrong.getDictionary(&context)));
  // A cache without a type.
  wrong = NamedAttrList(good);
  wrong.set("caches", b.getArrayAttr(b.getDictionaryAttr(
                          b.getNamedAttr("prefix", b.getStringAttr("k_")))));
  EXPECT_FALSE(KernelSignature::fromAttribute(wrong.getDictionary(&context)));
}

TEST(KernelManifestTest, FormulasAreInTheirGrammar) {
  MLIRContext context;
  AffineExpr a = getAffineSymbolExpr(0, &context);
  AffineExpr b = getAffineSymbolExpr(1, &context);
  auto print = [](AffineExpr formula) {
    return printFormula(formula, {"x_size0", "y_size1"});
  };
  EXPECT_EQ(print(getAffineConstantExpr(7, &context)), "7");
  EXPECT_EQ(print(a), "x_size0");
  EXPECT_EQ(print(b.ceilDiv(256)), "y_size1 ceildiv 256");
  EXPECT_EQ(print((a + b).floorDiv(2)), "(x_size0 + y_size1) floordiv 2");
  EXPECT_EQ(print(a * b % 3 + 1), "x_size0 * y_size1 mod 3 + 1");
  EXPECT_EQ(print(a * b.ceilDiv(3)), "x_size0 * (y_size1 ceildiv 3)");
  EXPECT_EQ(print((a * 2).ceilDiv(3)), "x_size0 * 2 ceildiv 3");
  EXPECT_EQ(print(a - b), "x_size0 + y_size1 * (0 - 1)");
  EXPECT_EQ(print(a - 1), "x_size0 + (0 - 1)");
}

} // namespace
