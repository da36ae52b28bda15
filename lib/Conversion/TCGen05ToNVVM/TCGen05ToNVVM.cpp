//===- TCGen05ToNVVM.cpp - From kvq_tcgen05 to nvvm -----------------------===//

#include "kvq/Conversion/TCGen05ToNVVM/TCGen05ToNVVM.h"
#include "Patterns.h"
#include "mlir/Conversion/ConvertToLLVM/ToLLVMInterface.h"
#include "mlir/Conversion/GPUCommon/GPUCommonPass.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/Transforms/Patterns.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Transforms/DialectConversion.h"

namespace kvq {
#define GEN_PASS_DEF_CONVERTTCGEN05TONVVM
#include "kvq/Conversion/Passes.h.inc"
} // namespace kvq

using namespace mlir;
using namespace kvq;
using namespace kvq::tcgen05;

/// Adds conversions of the types of the dialect alone.
static void addTypeConversions(TypeConverter &converter) {
  auto pointer = [](Type type) {
    return LLVM::LLVMPointerType::get(
        type.getContext(),
        static_cast<unsigned>(NVVM::NVVMMemorySpace::Tensor));
  };
  auto word = [](Type type) { return IntegerType::get(type.getContext(), 32); };
  converter.addConversion([=](TMemType type) { return pointer(type); });
  converter.addConversion([=](ScalesType type) { return pointer(type); });
  converter.addConversion([=](TileType type) { return word(type); });
  converter.addConversion([=](ScaleTileType type) { return word(type); });
}

void kvq::populateTCGen05ToNVVMTypeConversions(LLVMTypeConverter &converter) {
  addTypeConversions(converter);
}

void kvq::populateTCGen05ToNVVMPatterns(const LLVMTypeConverter &converter,
                                        RewritePatternSet &patterns) {
  populateRegionPatterns(converter, patterns);
  populateMovePatterns(converter, patterns);
  populateMultiplyPatterns(converter, patterns);
}

namespace {

struct TCGen05ToLLVMInterface : public ConvertToLLVMPatternInterface {
  using ConvertToLLVMPatternInterface::ConvertToLLVMPatternInterface;

  void loadDependentDialects(MLIRContext *context) const final {
    context->loadDialect<NVVM::NVVMDialect>();
  }

  void populateConvertToLLVMConversionPatterns(
      ConversionTarget &target, LLVMTypeConverter &converter,
      RewritePatternSet &patterns) const final {
    target.addIllegalDialect<TCGen05Dialect>();
    target.addLegalDialect<NVVM::NVVMDialect>();
    populateTCGen05ToNVVMTypeConversions(converter);
    populateTCGen05ToNVVMPatterns(converter, patterns);
  }
};

/// Checks that the instructions of a function agree on the number of CTAs, as
/// those of a kernel must (PTX ISA 9.7.16.7.1).
LogicalResult verifyCtaGroups(FunctionOpInterface function) {
  Operation *first = nullptr;
  int64_t expected = 0;
  WalkResult result = function.walk([&](Operation *op) {
    StringRef name = "cta_group";
    if (!isa_and_nonnull<TCGen05Dialect>(op->getDialect()) ||
        llvm::none_of(op->getName().getAttributeNames(),
                      [&](StringAttr known) { return known == name; }))
      return WalkResult::advance();
    // The default is not there.
    auto number =
        cast_or_null<IntegerAttr>(op->getInherentAttr(name).value_or(nullptr));
    int64_t group = number ? number.getInt() : 1;
    if (!first) {
      first = op;
      expected = group;
    }
    if (group == expected)
      return WalkResult::advance();
    InFlightDiagnostic diag = op->emitOpError()
                              << "has cta_group = " << group
                              << ", but all of a function have the same";
    diag.attachNote(first->getLoc()) << "cta_group = " << expected << " here";
    return WalkResult::interrupt();
  });
  return failure(result.wasInterrupted());
}

struct ConvertTCGen05ToNVVMPass
    : public kvq::impl::ConvertTCGen05ToNVVMBase<ConvertTCGen05ToNVVMPass> {
  void runOnOperation() override {
    bool isBad = false;
    getOperation()->walk([&](Operation *op) {
      StringRef missing;
      if (auto region = dyn_cast<RegionOp>(op))
        missing = region.getColumn() ? "" : "a place";
      else if (auto alloc = dyn_cast<AllocOp>(op))
        missing = alloc.getColumns() ? "" : "a number of columns";
      else if (auto dealloc = dyn_cast<DeallocOp>(op))
        missing = dealloc.getColumns() ? "" : "a number of columns";
      if (missing.empty())
        return;
      isBad = true;
      op->emitOpError() << "has not " << missing
                        << " yet; run kvq-tcgen05-allocate-tmem before";
    });
    getOperation()->walk([&](FunctionOpInterface function) {
      isBad |= failed(verifyCtaGroups(function));
    });
    if (isBad)
      return signalPassFailure();

    MLIRContext *context = &getContext();
    LLVMTypeConverter converter(context);
    populateGpuMemorySpaceAttributeConversions(
        converter, [](gpu::AddressSpace space) -> unsigned {
          switch (space) {
          case gpu::AddressSpace::Global:
            return static_cast<unsigned>(NVVM::NVVMMemorySpace::Global);
          case gpu::AddressSpace::Workgroup:
            return static_cast<unsigned>(NVVM::NVVMMemorySpace::Shared);
          case gpu::AddressSpace::Private:
            return 0;
          }
          llvm_unreachable("all address spaces are handled");
        });
    populateTCGen05ToNVVMTypeConversions(converter);

    // Loops and branches carry values of the dialect; other types stay.
    TypeConverter ownTypes;
    ownTypes.addConversion([](Type type) { return type; });
    addTypeConversions(ownTypes);
    auto cast = [](OpBuilder &builder, Type type, ValueRange inputs,
                   Location loc) -> Value {
      return UnrealizedConversionCastOp::create(builder, loc, type, inputs)
          .getResult(0);
    };
    ownTypes.addSourceMaterialization(cast);
    ownTypes.addTargetMaterialization(cast);

    ConversionTarget target(*context);
    target.markUnknownOpDynamicallyLegal([](Operation *) { return true; });
    target.addIllegalDialect<TCGen05Dialect>();
    RewritePatternSet patterns(context);
    populateTCGen05ToNVVMPatterns(converter, patterns);
    scf::populateSCFStructuralTypeConversionsAndLegality(ownTypes, patterns,
                                                         target);
    if (failed(applyPartialConversion(getOperation(), target,
                                      std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace

void kvq::registerConvertTCGen05ToLLVMInterface(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *, TCGen05Dialect *dialect) {
    dialect->addInterfaces<TCGen05ToLLVMInterface>();
  });
}
