//===- BlockScaleFormats.cpp - Choose the block scales of 4-bit caches ----===//

#include "BlockScaleFormats.h"
#include "TargetRules.h"
#include "kvq/Dialect/KVQ/Transforms/Remark.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace kvq;

namespace {

/// One row of the table: what block scales can be.
struct Candidate {
  llvm::StringLiteral name;
  /// The preset, and the axis where it is not that of the preset.
  llvm::StringLiteral preset;
  BlockAxis axis;
  /// Root mean square of the error of stored values, relative, over Gaussian
  /// data: what one term of the format leaves (MMARules.cpp).
  double error;
};

/// Of those that are equal in everything the first one is chosen.
constexpr Candidate candidates[] = {
    {"nvfp4", "nvfp4", BlockAxis::HeadDim, 0.10},
    {"mxfp4", "mxfp4", BlockAxis::HeadDim, 0.12},
    {"nvfp4 along tokens", "nvfp4", BlockAxis::Token, 0.10},
    {"mxfp4 along tokens", "mxfp4", BlockAxis::Token, 0.12},
};

/// What a candidate means for a pool.
struct Assessment {
  const Candidate *candidate;
  KVFormatInterface format;
  /// Who cannot produce or consume it, and the operation, if it is one.
  std::string rejection;
  Operation *rejectedBy = nullptr;
  /// Clocks per multiply-accumulate, the sum over all products that read it,
  /// and bits of a token.
  double clocks = 0;
  int64_t bits = 0;
  /// Why the chosen one is better.
  std::string reason;
};

} // namespace

static KVFormatInterface getFormat(const Candidate &candidate,
                                   MLIRContext *context) {
  FormatAttr preset = FormatAttr::getPreset(context, candidate.preset);
  return FormatAttr::get(context, preset.getElementType(),
                         preset.getScaleType(), preset.getBlockSize(),
                         candidate.axis, preset.getHasGlobalScale());
}

/// Looks at the sizes of a cache and at everyone who writes or reads it.
static void assess(const CacheClass &cacheClass, const BlockScaleTarget &target,
                   Assessment &result) {
  CacheType type = cacheClass.getType();
  KVFormatInterface format = result.format;
  int64_t block = format.getBlockSize();
  bool alongTokens = format.getBlockAxis() == BlockAxis::Token;
  int64_t size = alongTokens ? type.getPageSize() : type.getHeadDim();
  auto reject = [&](const Twine &why, Operation *op = nullptr) {
    if (!result.rejection.empty())
      return;
    result.rejection = why.str();
    result.rejectedBy = op;
  };
  if (size % block != 0)
    reject((alongTokens ? "a page has " : "head_dim is ") + Twine(size) +
           ", no multiple of " + Twine(block));
  const ValueReader &reader = *target.valueReader;
  if (!type.isKey() && !reader.format.empty() &&
      (result.candidate->preset != reader.format || alongTokens))
    reject(reader.name + " reads " + reader.format);
  for (Value value : cacheClass.values)
    for (OpOperand &use : value.getUses()) {
      Operation *user = use.getOwner();
      if (alongTokens && isa<AppendOp, QuantizeAppendOp, GatherOp>(user))
        reject(user->getName().getStringRef() + " handles single rows", user);
      auto attention = dyn_cast<DequantAttentionOp>(user);
      if (!attention || target.chip == "cpu")
        continue;
      MMARequest request = getMMARequest(
          attention, type.isKey() ? MMAProduct::QK : MMAProduct::PV);
      request.format = format;
      MMAChoice choice = chooseMMA(target.chip, request, target.maxError);
      if (choice.rule)
        result.clocks += getCost(*choice.rule);
      else
        reject(target.chip + " has no kernel for it", user);
    }
  result.bits += format.getSizeInBits(block, type.getHeadDim()) / block;
}

/// Whether `lhs` is chosen over `rhs`; `reason` says what is better about it.
static bool isBetter(const Assessment &lhs, const Assessment &rhs,
                     const BlockScaleTarget &target, std::string &reason) {
  double error = lhs.candidate->error, otherError = rhs.candidate->error;
  bool fits = error <= target.maxStoredError;
  bool otherFits = otherError <= target.maxStoredError;
  if (fits != otherFits || (!fits && error != otherError)) {
    reason = llvm::formatv("its values are off by {0:P0}", otherError);
    return error < otherError;
  }
  if (lhs.clocks != rhs.clocks) {
    reason = llvm::formatv("attention takes {0:F1} times the clocks on {1}",
                           rhs.clocks / lhs.clocks, target.chip);
    return lhs.clocks < rhs.clocks;
  }
  if (lhs.bits != rhs.bits) {
    reason = llvm::formatv("it takes {0:F2} times the memory",
                           double(rhs.bits) / double(lhs.bits));
    return lhs.bits < rhs.bits;
  }
  reason = "it is no better";
  return true;
}

FailureOr<BlockScaleChoice>
kvq::chooseBlockScales(const ScalePool &pool, const BlockScaleTarget &target) {
  Operation *op = pool.front()->getReportOp();
  SmallVector<Assessment> assessments;
  for (const Candidate &candidate : candidates) {
    Assessment &assessment = assessments.emplace_back();
    assessment.candidate = &candidate;
    assessment.format = getFormat(candidate, op->getContext());
    for (const CacheClass *cacheClass : pool)
      assess(*cacheClass, target, assessment);
  }

  Assessment *best = nullptr;
  for (Assessment &assessment : assessments) {
    std::string reason;
    if (assessment.rejection.empty() &&
        (!best || !isBetter(*best, assessment, target, reason)))
      best = &assessment;
  }
  SmallVector<std::string> others;
  for (Assessment &other : assessments) {
    if (&other == best)
      continue;
    std::string reason = other.rejection;
    if (reason.empty())
      (void)isBetter(*best, other, target, reason);
    others.push_back((other.candidate->name + " (" + reason + ")").str());
  }
  if (best)
    return BlockScaleChoice{best->format,
                            "rather than " + llvm::join(others, ", ")};
  InFlightDiagnostic diag = reportError<RemarkId::BlockScalesImpossible>(
      op, pool.front()->describe(), llvm::join(others, ", "));
  for (const Assessment &assessment : assessments)
    if (Operation *by = assessment.rejectedBy)
      diag.attachNote(by->getLoc())
          << by->getName() << " rejects " << assessment.candidate->name;
  return diag;
}
