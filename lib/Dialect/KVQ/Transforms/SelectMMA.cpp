//===- SelectMMA.cpp - Choose how attention multiplies --------------------===//

#include "TargetRules.h"
#include "kvq/Dialect/KVQ/Transforms/Passes.h"
#include "kvq/Dialect/KVQ/Transforms/Remark.h"
#include "kvq/Dialect/KVQ/Transforms/Transforms.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

namespace kvq {
#define GEN_PASS_DEF_SELECTMMA
#include "kvq/Dialect/KVQ/Transforms/Passes.h.inc"
} // namespace kvq

using namespace mlir;
using namespace kvq;

/// Parses the text of an option: "f16", "block_scaled" (two terms) or
/// "block_scaled:3". Null if it is none.
static MMAKindAttr parseKind(MLIRContext *context, StringRef text) {
  auto [name, termsText] = text.split(':');
  std::optional<MMAUnit> unit = symbolizeMMAUnit(name);
  if (!unit)
    return {};
  bool blockScaled = *unit == MMAUnit::BlockScaled;
  int64_t terms = blockScaled ? 2 : 0;
  if (!termsText.empty() &&
      (!blockScaled || termsText.getAsInteger(10, terms) || terms < 1 ||
       terms > 3))
    return {};
  return MMAKindAttr::get(context, *unit, terms);
}

namespace {

/// Chooses the kinds of operations.
class MMASelector {
public:
  explicit MMASelector(const SelectMMAOptions &options) : options(options) {}

  /// Checks the options; fails with an error at `op`.
  LogicalResult parse(Operation *op) {
    return success(succeeded(verifyChip(op, options.chip)) &&
                   succeeded(parse(op, options.qk, "qk", overrides[0])) &&
                   succeeded(parse(op, options.pv, "pv", overrides[1])));
  }

  /// Decides both products of an operation; what is decided already is checked.
  LogicalResult select(DequantAttentionOp op);

private:
  LogicalResult parse(Operation *op, StringRef text, StringRef option,
                      MMAKindAttr &kind);
  FailureOr<MMAKindAttr> decide(DequantAttentionOp op, MMAProduct product,
                                MMAKindAttr present);
  void reportKinds(DequantAttentionOp op, MMAKindAttr qk, MMAKindAttr pv);

  const SelectMMAOptions &options;
  MMAKindAttr overrides[2];
};

struct SelectMMAPass : public kvq::impl::SelectMMABase<SelectMMAPass> {
  using SelectMMABase::SelectMMABase;

  void runOnOperation() override {
    SelectMMAOptions options{chip, qk, pv, maxError};
    MMASelector selector(options);
    if (failed(selector.parse(getOperation())))
      return signalPassFailure();
    getOperation()->walk([&](DequantAttentionOp op) {
      if (failed(selector.select(op)))
        signalPassFailure();
    });
  }
};

} // namespace

LogicalResult MMASelector::parse(Operation *op, StringRef text,
                                 StringRef option, MMAKindAttr &kind) {
  if (text.empty())
    return success();
  kind = parseKind(op->getContext(), text);
  if (kind)
    return success();
  return reportError<RemarkId::MMAKindOptionMalformed>(op, option, text);
}

LogicalResult MMASelector::select(DequantAttentionOp op) {
  if (op.getQkAttr() && op.getPvAttr())
    return success(succeeded(verifyMMAKind(op, options.chip, MMAProduct::QK,
                                           op.getQkAttr())) &&
                   succeeded(verifyMMAKind(op, options.chip, MMAProduct::PV,
                                           op.getPvAttr())));
  FailureOr<MMAKindAttr> qkKind = decide(op, MMAProduct::QK, op.getQkAttr());
  FailureOr<MMAKindAttr> pvKind = decide(op, MMAProduct::PV, op.getPvAttr());
  if (failed(qkKind) || failed(pvKind))
    return failure();
  op.setQkAttr(*qkKind);
  op.setPvAttr(*pvKind);
  if (*qkKind && *pvKind)
    reportKinds(op, *qkKind, *pvKind);
  return success();
}

FailureOr<MMAKindAttr> MMASelector::decide(DequantAttentionOp op,
                                           MMAProduct product,
                                           MMAKindAttr present) {
  MMAKindAttr wanted =
      present ? present : overrides[product == MMAProduct::QK ? 0 : 1];
  if (wanted) {
    if (failed(verifyMMAKind(op, options.chip, product, wanted)))
      return failure();
    return wanted;
  }
  MMARequest request = getMMARequest(op, product);
  MMAChoice choice = chooseMMA(options.chip, request, options.maxError);
  if (!choice.rule) {
    report<RemarkId::NoMMAKind>(op, stringifyMMAProduct(product), options.chip,
                                Attribute(request.format), request.headDim);
    return MMAKindAttr();
  }
  MMAKindAttr kind = getMMAKind(op.getContext(), *choice.rule);
  if (const MMARule *faster = choice.fasterWithoutKernel)
    report<RemarkId::MMAKindWithoutKernel>(
        op, stringifyMMAProduct(product), describeMMAKind(kind),
        describeMMAKind(getMMAKind(op.getContext(), *faster)),
        faster->instruction,
        llvm::formatv("{0:F1}", getCost(*choice.rule) / getCost(*faster))
            .str());
  return kind;
}

/// "qk as bf16 (mma.sync.m16n8k16.bf16, adds 0.17%)".
static std::string describe(const MMARule &rule, const MMARequest &request,
                            MMAKindAttr kind) {
  return llvm::formatv("{0} as {1} ({2}, which adds {3:P2} of error)",
                       stringifyMMAProduct(request.product),
                       describeMMAKind(kind), rule.instruction,
                       getError(rule, request))
      .str();
}

void MMASelector::reportKinds(DequantAttentionOp op, MMAKindAttr qk,
                              MMAKindAttr pv) {
  MMARequest keys = getMMARequest(op, MMAProduct::QK);
  MMARequest values = getMMARequest(op, MMAProduct::PV);
  const MMARule *first = findMMARule(options.chip, keys, qk);
  // One kernel computes both.
  const MMARule *second = findMMARule(options.chip, values, pv, first->kernel);
  report<RemarkId::SelectedMMA>(op, describe(*first, keys, qk),
                                describe(*second, values, pv));
}

LogicalResult kvq::selectMMA(DequantAttentionOp op,
                             const SelectMMAOptions &options) {
  MMASelector selector(options);
  return success(succeeded(selector.parse(op)) &&
                 succeeded(selector.select(op)));
}
