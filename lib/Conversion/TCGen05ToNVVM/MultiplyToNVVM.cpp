//===- MultiplyToNVVM.cpp - Matrix products -------------------------------===//

#include "Patterns.h"
#include "kvq/Dialect/TCGen05/IR/TCGen05Limits.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace kvq::tcgen05;

static NVVM::Tcgen05MMACollectorOpAttr collectorAttr(MLIRContext *context,
                                                     Collector collector) {
  using Upstream = NVVM::Tcgen05MMACollectorOp;
  static_assert(int(Collector::Discard) == int(Upstream::DISCARD) &&
                int(Collector::LastUse) == int(Upstream::LASTUSE) &&
                int(Collector::Fill) == int(Upstream::FILL) &&
                int(Collector::Use) == int(Upstream::USE));
  return NVVM::Tcgen05MMACollectorOpAttr::get(context,
                                              static_cast<Upstream>(collector));
}

/// Operand A or B of step `step` along K: a descriptor or an address.
static Value operandOfStep(OpBuilder &builder, Location loc, MMAKind kind,
                           Type type, Value converted, int64_t step) {
  if (auto tile = dyn_cast<TileType>(type))
    return makeDescriptor(builder, loc, converted, tile.getDescriptor(),
                          tile.getByteOffset(0, step * getStepElements(kind)));
  return offsetTensor(builder, loc, converted, 0, step * kStepBytes / 4);
}

static bool isTransposed(Type operand) {
  auto tile = dyn_cast<TileType>(operand);
  return tile && !tile.getLayout().isKMajor();
}

static Type elementOf(Type operand) {
  if (auto tile = dyn_cast<TileType>(operand))
    return tile.getElementType();
  return cast<TMemType>(operand).getElementType();
}

template <typename Op>
static InstructionFields fieldsOf(Op op) {
  InstructionFields fields;
  fields.kind = op.getKind();
  fields.a = elementOf(op.getA().getType());
  fields.b = op.getB().getType().getElementType();
  fields.d = op.getD().getType().getElementType();
  fields.m = op.getM();
  fields.n = op.getN();
  fields.transposeA = isTransposed(op.getA().getType());
  fields.transposeB = isTransposed(op.getB().getType());
  fields.negateA = op.getNegateA();
  fields.negateB = op.getNegateB();
  return fields;
}

/// Whether D takes part, as an i1: only the first step may overwrite it.
static Value enableOfStep(OpBuilder &builder, Location loc, Value accumulate,
                          int64_t step) {
  if (!step && accumulate)
    return accumulate;
  return LLVM::ConstantOp::create(builder, loc, builder.getI1Type(),
                                  builder.getBoolAttr(step != 0));
}

namespace {

struct LowerMMA : public ConvertOpToLLVMPattern<MMAOp> {
  using ConvertOpToLLVMPattern::ConvertOpToLLVMPattern;

  static NVVM::Tcgen05MMAKind upstreamKind(MMAKind kind) {
    switch (kind) {
    case MMAKind::F16:
      return NVVM::Tcgen05MMAKind::F16;
    case MMAKind::TF32:
      return NVVM::Tcgen05MMAKind::TF32;
    case MMAKind::F8F6F4:
      return NVVM::Tcgen05MMAKind::F8F6F4;
    case MMAKind::I8:
      return NVVM::Tcgen05MMAKind::I8;
    default:
      llvm_unreachable("the verifier rejects block-scaled kinds");
    }
  }

  LogicalResult
  matchAndRewrite(MMAOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    MLIRContext *context = op.getContext();
    InstructionFields fields = fieldsOf(op);
    fields.saturate = op.getSaturate();
    fields.maxShift = op.getMaxShift().value_or(0);
    Value instruction =
        constant(rewriter, loc, rewriter.getI32Type(), fields.encode());
    auto kind =
        NVVM::Tcgen05MMAKindAttr::get(context, upstreamKind(op.getKind()));
    NVVM::Tcgen05MMACollectorOpAttr collector =
        collectorAttr(context, op.getCollector());
    emitMemoryClobber(rewriter, loc);
    for (int64_t step = 0, steps = op.getNumSteps(); step < steps; ++step) {
      Value a = operandOfStep(rewriter, loc, op.getKind(), op.getA().getType(),
                              adaptor.getA(), step);
      Value b = operandOfStep(rewriter, loc, op.getKind(), op.getB().getType(),
                              adaptor.getB(), step);
      Value enable = enableOfStep(rewriter, loc, adaptor.getAccumulate(), step);
      if (op.getWeightStationary()) {
        auto buffer = NVVM::Tcgen05MMACollectorBBufferAttr::get(
            context, static_cast<NVVM::Tcgen05MMACollectorBBuffer>(
                         op.getCollectorB().value_or(0)));
        NVVM::Tcgen05MMAWsOp::create(rewriter, loc, kind, buffer, collector,
                                     adaptor.getD(), a, b, instruction, enable,
                                     adaptor.getZeroColumns());
        continue;
      }
      // D is scaled once, where it enters.
      Value scale;
      if (op.getScaleD() && !step)
        scale = constant(rewriter, loc, rewriter.getI64Type(), *op.getScaleD());
      NVVM::Tcgen05MMAOp::create(
          rewriter, loc, kind, ctaGroupAttr(context, op.getCtaGroup()),
          collector, op.getShiftA() ? rewriter.getUnitAttr() : UnitAttr(),
          adaptor.getD(), a, b, instruction, enable, scale,
          adaptor.getDisableLanes());
    }
    rewriter.eraseOp(op);
    return success();
  }
};

struct LowerMMABlockScaled : public ConvertOpToLLVMPattern<MMABlockScaledOp> {
  using ConvertOpToLLVMPattern::ConvertOpToLLVMPattern;

  static NVVM::MMABlockScaleKind upstreamKind(MMAKind kind) {
    switch (kind) {
    case MMAKind::MXF8F6F4:
      return NVVM::MMABlockScaleKind::MXF8F6F4;
    case MMAKind::MXF4:
      return NVVM::MMABlockScaleKind::MXF4;
    case MMAKind::MXF4NVF4:
      return NVVM::MMABlockScaleKind::MXF4NVF4;
    default:
      llvm_unreachable("the verifier rejects kinds without block scales");
    }
  }

  LogicalResult
  matchAndRewrite(MMABlockScaledOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    MLIRContext *context = op.getContext();
    InstructionFields fields = fieldsOf(op);
    ScalesType scalesA = op.getScalesA().getType();
    ScalesType scalesB = op.getScalesB().getType();
    fields.scale = scalesA.getElementType();
    auto kind =
        NVVM::MMABlockScaleKindAttr::get(context, upstreamKind(op.getKind()));
    auto block = NVVM::Tcgen05MMABlockScaleAttr::get(
        context, op.getBlock() == 16 ? NVVM::Tcgen05MMABlockScale::BLOCK16
                                     : NVVM::Tcgen05MMABlockScale::BLOCK32);
    int64_t perStep =
        getStepElements(op.getKind()) / static_cast<int64_t>(op.getBlock());
    emitMemoryClobber(rewriter, loc);
    for (int64_t step = 0, steps = op.getNumSteps(); step < steps; ++step) {
      int64_t scale = step * perStep;
      fields.scaleIdA = fields.scaleIdB = static_cast<uint32_t>(scale % 4);
      Value instruction =
          constant(rewriter, loc, rewriter.getI32Type(), fields.encode());
      Value a = operandOfStep(rewriter, loc, op.getKind(), op.getA().getType(),
                              adaptor.getA(), step);
      Value b = operandOfStep(rewriter, loc, op.getKind(), op.getB().getType(),
                              adaptor.getB(), step);
      NVVM::Tcgen05MMABlockScaleOp::create(
          rewriter, loc, kind, ctaGroupAttr(context, op.getCtaGroup()), block,
          collectorAttr(context, op.getCollector()), adaptor.getD(), a, b,
          instruction,
          enableOfStep(rewriter, loc, adaptor.getAccumulate(), step),
          offsetTensor(rewriter, loc, adaptor.getScalesA(), 0,
                       scalesA.getWordOf(scale)),
          offsetTensor(rewriter, loc, adaptor.getScalesB(), 0,
                       scalesB.getWordOf(scale)));
    }
    rewriter.eraseOp(op);
    return success();
  }
};

} // namespace

void kvq::tcgen05::populateMultiplyPatterns(const LLVMTypeConverter &converter,
                                            RewritePatternSet &patterns) {
  patterns.add<LowerMMA, LowerMMABlockScaled>(converter);
}
