//===- PromisedInterfacesTest.cpp - Interfaces that external models give --===//

#include "kvq/Conversion/RuntimeChecks/RuntimeVerifiableOpInterfaceImpl.h"
#include "kvq/Dialect/KVQ/IR/KVQOps.h"
#include "kvq/Dialect/KVQ/Transforms/AggregatedOpInterfaceImpl.h"
#include "kvq/Dialect/KVQ/Transforms/BufferizableOpInterfaceImpl.h"
#include "kvq/Dialect/KVQ/Transforms/TilingInterfaceImpl.h"
#include "mlir/Dialect/Bufferization/IR/BufferizableOpInterface.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Interfaces/RuntimeVerifiableOpInterface.h"
#include "mlir/Interfaces/TilingInterface.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace kvq;

namespace {

/// Calls `check(promised, implemented)` for each operation and interface of an
/// external model.
template <typename Interface, typename... Ops, typename Check>
void forEachPair(MLIRContext &context, Check check) {
  auto *dialect = context.getOrLoadDialect<KVQDialect>();
  (check(Ops::getOperationName(),
         dialect->hasPromisedInterface<Ops, Interface>(),
         RegisteredOperationName::lookup(TypeID::get<Ops>(), &context)
             ->template hasInterface<Interface>()),
   ...);
}

template <typename Check>
void forEachModel(MLIRContext &context, Check check) {
  forEachPair<bufferization::BufferizableOpInterface, AppendOp, AttentionOp,
              ConvertScaleLayoutOp, CopyPagesOp, DequantAttentionOp,
              DequantizeOp, GatherOp, MergeStatesOp, QuantizeAppendOp,
              QuantizeOp>(context, check);
  forEachPair<RuntimeVerifiableOpInterface, AppendOp, AttentionOp,
              ConvertScaleLayoutOp, CopyPagesOp, DequantAttentionOp,
              DequantizeOp, GatherOp, MakeCacheOp, MergeStatesOp,
              QuantizeAppendOp, QuantizeOp>(context, check);
  forEachPair<linalg::AggregatedOpInterface, AttentionOp, DequantizeOp,
              MergeStatesOp, QuantizeOp>(context, check);
  forEachPair<TilingInterface, AttentionOp, DequantizeOp, QuantizeOp>(context,
                                                                      check);
  forEachPair<PartialReductionOpInterface, AttentionOp>(context, check);
}

TEST(PromisedInterfacesTest, PromisesWhatExternalModelsImplement) {
  MLIRContext context;
  forEachModel(context, [](StringRef name, bool promised, bool implemented) {
    EXPECT_TRUE(promised) << name.str();
    EXPECT_FALSE(implemented) << name.str();
  });
}

TEST(PromisedInterfacesTest, RegistrationKeepsThePromises) {
  DialectRegistry registry;
  registerAggregatedOpInterfaceExternalModels(registry);
  registerBufferizableOpInterfaceExternalModels(registry);
  registerRuntimeVerifiableOpInterfaceExternalModels(registry);
  registerTilingInterfaceExternalModels(registry);
  MLIRContext context(registry);
  forEachModel(context, [](StringRef name, bool promised, bool implemented) {
    EXPECT_FALSE(promised) << name.str();
    EXPECT_TRUE(implemented) << name.str();
  });
}

} // namespace
