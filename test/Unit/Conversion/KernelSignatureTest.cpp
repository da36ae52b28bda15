//===- KernelSignatureTest.cpp - Signatures as attributes -----------------===//

#include "kvq/Conversion/KVQToGPU/KernelSignature.h"
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
    EXPECT_EQ(found.of, expected.of);
    EXPECT_EQ(found.dimension, expected.dimension);
  }
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
}

} // namespace
