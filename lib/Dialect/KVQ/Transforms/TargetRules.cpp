//===- TargetRules.cpp - Checks of operations against a chip --------------===//

#include "TargetRules.h"
#include "kvq/Dialect/KVQ/Transforms/Remark.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace kvq;

LogicalResult kvq::verifyChip(Operation *op, StringRef chip, bool allowCPU) {
  SmallVector<StringRef> accepted(getMMAChips());
  if (allowCPU)
    accepted.insert(accepted.begin(), "cpu");
  if (llvm::is_contained(accepted, chip))
    return success();
  return reportError<RemarkId::UnknownChip>(op, chip,
                                            llvm::join(accepted, ", "));
}

MMARequest kvq::getMMARequest(DequantAttentionOp op, MMAProduct product) {
  CacheType cache = product == MMAProduct::QK ? op.getKCache().getType()
                                              : op.getVCache().getType();
  return {product, cache.getFormat(), cache.getHeadDim(),
          getElementTypeOrSelf(op.getQ().getType())};
}

std::string kvq::describeMMAKind(MMAKindAttr kind) {
  std::string text = stringifyMMAUnit(kind.getUnit()).str();
  if (kind.getTerms())
    text += llvm::formatv("<terms = {0}>", kind.getTerms());
  return text;
}

/// Returns the rule of a chip that comes nearest to a kind: one of its unit,
/// else any.
static const MMARule *findNearestRule(StringRef chip, MMAUnit unit) {
  const MMARule *nearest = nullptr;
  for (const MMARule &rule : getMMARules()) {
    if (rule.chip != chip)
      continue;
    if (rule.unit == unit)
      return &rule;
    if (!nearest)
      nearest = &rule;
  }
  return nearest;
}

LogicalResult kvq::verifyMMAKind(DequantAttentionOp op, StringRef chip,
                                 MMAProduct product, MMAKindAttr kind) {
  MMARequest request = getMMARequest(op, product);
  if (findMMARule(chip, request, kind))
    return success();
  std::string accepted = listMMAKinds(chip, request);
  InFlightDiagnostic diag = reportError<RemarkId::IllegalMMAKind>(
      op, stringifyMMAProduct(product), describeMMAKind(kind), chip,
      Attribute(request.format), request.headDim,
      accepted.empty() ? "none" : accepted);
  const MMARule *rule = findNearestRule(chip, kind.getUnit());
  Diagnostic &note = diag.attachNote();
  if (rule->unit != kind.getUnit())
    note << "the rule: no instruction of " << chip << " is "
         << stringifyMMAUnit(kind.getUnit());
  else
    note << "the rule: " << chip << " has " << stringifyMMAUnit(rule->unit)
         << " as " << rule->instruction << " for other formats";
  if (rule->unit == kind.getUnit() && rule->headDimMultiple > 1)
    note << ", and head_dim a multiple of " << rule->headDimMultiple;
  note << "; source: " << rule->source;
  return diag;
}
