//===- AssignBlockScales.cpp - Choose block scales and their layouts ------===//
//
// Writers and readers of a cache meet in its pool: all handles that one type
// holds together, and all types over the same memory.
//
// Caches in fp4 get block scales first (BlockScaleFormats.h), and with them the
// memrefs that hold the scales. Then layouts are decided. Every operation of
// the dialect writes and reads each layout, so what decides are the places that
// cannot be changed: layouts that are given, scales that are used as a memref,
// and the kernels that read values. Both times all decisions come first.
//
//===----------------------------------------------------------------------===//

#include "BlockScaleFormats.h"
#include "FormatConversion.h"
#include "GlobalScales.h"
#include "ScaleCopies.h"
#include "TargetRules.h"
#include "kvq/Dialect/KVQ/Transforms/Passes.h"
#include "kvq/Dialect/KVQ/Transforms/Remark.h"
#include "kvq/Dialect/KVQ/Transforms/Transforms.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

namespace kvq {
#define GEN_PASS_DEF_ASSIGNBLOCKSCALES
#include "kvq/Dialect/KVQ/Transforms/Passes.h.inc"
} // namespace kvq

using namespace mlir;
using namespace kvq;

namespace {

/// Who writes and reads a pool.
struct PoolUses {
  unsigned writers = 0, readers = 0;
  /// An operation that uses scales as a memref, or null.
  Operation *rawUse = nullptr;
};

/// Decides for all caches of a module.
class ScaleAssigner {
public:
  ScaleAssigner(ModuleOp module, const AssignBlockScalesOptions &options)
      : module(module), options(options) {}

  LogicalResult run();

private:
  LogicalResult selectReader();
  LogicalResult decideFormats();
  LogicalResult verifyReachable(ArrayRef<CacheClass> classes);
  LogicalResult decideFormat(const ScalePool &pool,
                             SmallVectorImpl<FormatConversion> &conversions,
                             SmallVectorImpl<std::string> &reasons);
  LogicalResult decideLayout(const ScalePool &pool);
  LogicalResult convertReaders();

  /// The type of `type` with the layout that attention needs to read it, null
  /// with an error if there is none.
  CacheType getReadType(CacheType type, Operation *op);

  ModuleOp module;
  const AssignBlockScalesOptions &options;
  const ValueReader *reader = nullptr;
  SmallVector<std::pair<const CacheClass *, CacheType>> decisions;
};

struct AssignBlockScalesPass
    : public kvq::impl::AssignBlockScalesBase<AssignBlockScalesPass> {
  using AssignBlockScalesBase::AssignBlockScalesBase;

  void runOnOperation() override {
    if (failed(
            assignBlockScales(getOperation(), {chip, valueReader, globalScale,
                                               maxError, maxStoredError})))
      signalPassFailure();
  }
};

} // namespace

LogicalResult ScaleAssigner::selectReader() {
  if (failed(verifyChip(module, options.chip, /*allowCPU=*/true)))
    return failure();
  SmallVector<StringRef> names;
  for (const ValueReader &candidate : valueReaders) {
    names.push_back(candidate.name);
    if (candidate.name == options.valueReader)
      reader = &candidate;
  }
  if (!reader)
    return reportError<RemarkId::ValueReaderUnknown>(
        module, options.valueReader, llvm::join(names, " and "));
  if (!reader->chip.empty() && reader->chip != options.chip)
    return reportError<RemarkId::ValueReaderOfOtherChip>(
        module, options.valueReader, reader->chip, options.chip);
  return success();
}

/// Checks that handles with something undecided can be changed.
LogicalResult ScaleAssigner::verifyReachable(ArrayRef<CacheClass> classes) {
  bool failedAny = false;
  for (const CacheClass &cacheClass : classes) {
    if (!cacheClass.getType().isUndecided())
      continue;
    for (BlockArgument argument : cacheClass.arguments) {
      auto function =
          cast<FunctionOpInterface>(argument.getOwner()->getParentOp());
      if (!function.isPublic())
        continue;
      reportError<RemarkId::BlockScalesPublic>(
          function, argument.getArgNumber(), argument.getType());
      failedAny = true;
    }
    if (cacheClass.isPublic || !cacheClass.external)
      continue;
    reportError<RemarkId::BlockScalesOutOfReach>(cacheClass.getReportOp(),
                                                 Type(cacheClass.getType()))
            .attachNote(cacheClass.external->getLoc())
        << cacheClass.external->getName() << " is what it reaches";
    failedAny = true;
  }
  // Functions without a body have no handles, only types.
  module.walk([&](FunctionOpInterface function) {
    if (!function.isExternal())
      return;
    for (Type type : function.getArgumentTypes())
      if (auto cache = dyn_cast<CacheType>(type);
          cache && cache.isUndecided()) {
        reportError<RemarkId::BlockScalesOutOfReach>(function, type);
        failedAny = true;
        return;
      }
  });
  return failure(failedAny);
}

/// Returns an operation that sees scales of a handle as a memref, or null.
static Operation *findRawUse(CacheScalesOp accessor) {
  SmallVector<Value> views{accessor.getPart()};
  while (!views.empty()) {
    Value view = views.pop_back_val();
    for (Operation *user : view.getUsers()) {
      if (isa<memref::DimOp, MakeCacheOp>(user))
        continue;
      if (!isa<memref::CastOp, memref::SubViewOp>(user))
        return user;
      views.push_back(user->getResult(0));
    }
  }
  return nullptr;
}

static PoolUses collectUses(const ScalePool &pool) {
  PoolUses uses;
  llvm::SmallPtrSet<Operation *, 16> seen;
  for (const CacheClass *cacheClass : pool)
    for (Value value : cacheClass->values)
      for (Operation *user : value.getUsers()) {
        if (auto accessor = dyn_cast<CacheScalesOp>(user);
            accessor && !uses.rawUse)
          uses.rawUse = findRawUse(accessor);
        auto paged = dyn_cast<PagedBatchOpInterface>(user);
        if (!paged || !seen.insert(user).second)
          continue;
        uses.writers += llvm::is_contained(paged.getWrittenCaches(), value);
        uses.readers += llvm::is_contained(paged.getReadCaches(), value);
      }
  return uses;
}

CacheType ScaleAssigner::getReadType(CacheType type, Operation *op) {
  if (type.isKey() || !reader->layout)
    return type;
  auto emitError = [&] {
    return reportError<RemarkId::ScaleLayoutIllegal>(
        op, stringifyScaleLayout(*reader->layout), reader->name);
  };
  if (!reader->format.empty() &&
      type.getFormat() !=
          FormatAttr::getPreset(type.getContext(), reader->format)) {
    emitError() << "the format is " << Attribute(type.getFormat())
                << ", expected " << reader->format;
    return {};
  }
  return CacheType::getChecked(emitError, type.getContext(), type.getSide(),
                               type.getPageSize(), type.getNumHeads(),
                               type.getHeadDim(), type.getFormat(),
                               type.getKvLayout(), reader->layout);
}

/// "1 writer and 2 readers".
static std::string describeUses(const PoolUses &uses) {
  auto count = [](unsigned number, StringRef what) {
    return llvm::formatv("{0} {1}{2}", number, what, number == 1 ? "" : "s")
        .str();
  };
  return count(uses.writers, "writer") + " and " +
         count(uses.readers, "reader");
}

/// What the block scales of a cache are, where its global scale comes from, and
/// where attention applies it: to all logits at once, or to its output.
static std::string describeScales(const CacheClass &cacheClass) {
  KVFormatInterface format = cacheClass.getType().getFormat();
  std::string text;
  llvm::raw_string_ostream stream(text);
  stream << Type(format.getScaleType()) << " for each " << format.getBlockSize()
         << " of " << stringifyBlockAxis(format.getBlockAxis());
  if (format.getHasGlobalScale())
    stream << ", times " << describeGlobalScale(cacheClass)
           << (cacheClass.getType().isKey() ? " with the softmax scale"
                                            : " on the output");
  return text;
}

/// Names the second of two caches that disagree, and what keeps both as they
/// are.
static void attachNotes(InFlightDiagnostic diag, const CacheClass &lhs,
                        const CacheClass &rhs) {
  diag.attachNote(rhs.getReportOp()->getLoc())
      << rhs.describe() << " has " << rhs.getType() << " here";
  for (const CacheClass *cacheClass : {&lhs, &rhs})
    if (Operation *external = cacheClass->external)
      diag.attachNote(external->getLoc())
          << external->getName() << " takes " << cacheClass->getType();
}

LogicalResult
ScaleAssigner::decideFormat(const ScalePool &pool,
                            SmallVectorImpl<FormatConversion> &conversions,
                            SmallVectorImpl<std::string> &reasons) {
  ScalePool open;
  for (const CacheClass *cacheClass : pool)
    if (isa<UndecidedFP4Attr>(cacheClass->getType().getFormat()))
      open.push_back(cacheClass);
  if (open.empty())
    return success();
  FailureOr<BlockScaleChoice> choice = chooseBlockScales(
      open, {options.chip, reader, options.maxError, options.maxStoredError});
  if (failed(choice))
    return failure();
  for (const CacheClass *cacheClass : open) {
    if (std::optional<Report> obstacle =
            findConversionObstacle(*cacheClass, choice->format))
      return obstacle->emit(cacheClass->getReportOp(), /*require=*/true);
    CacheType type = cacheClass->getType();
    conversions.push_back(
        {cacheClass, type,
         CacheType::get(type.getContext(), type.getSide(), type.getPageSize(),
                        type.getNumHeads(), type.getHeadDim(), choice->format,
                        type.getKvLayout(), ScaleLayout::Undecided)});
    reasons.push_back(choice->reason);
  }
  return success();
}

LogicalResult ScaleAssigner::decideFormats() {
  SmallVector<CacheClass> classes = collectCacheClasses(module);
  if (failed(verifyReachable(classes)))
    return failure();
  SmallVector<FormatConversion> conversions;
  SmallVector<std::string> reasons;
  SmallVector<PoolUses> uses;
  bool failedAny = false;
  for (const ScalePool &pool : collectScalePools(module, classes)) {
    failedAny |= failed(decideFormat(pool, conversions, reasons));
    uses.resize(conversions.size(), collectUses(pool));
  }
  FailureOr<bool> addArguments =
      parseGlobalScaleOption(module, options.globalScale);
  if (failedAny || failed(addArguments) ||
      failed(convertCaches(module, conversions, *addArguments)))
    return failure();
  for (auto [conversion, reason, count] :
       llvm::zip(conversions, reasons, uses)) {
    const CacheClass &cacheClass = *conversion.cacheClass;
    report<RemarkId::AssignedBlockScales>(
        cacheClass.getReportOp(), cacheClass.describe(),
        describeScales(cacheClass), describeUses(count), reason);
  }
  return success();
}

LogicalResult ScaleAssigner::decideLayout(const ScalePool &pool) {
  const CacheClass *fixed = nullptr, *undecided = nullptr;
  for (const CacheClass *cacheClass : pool) {
    CacheType type = cacheClass->getType();
    if (type.isUndecided()) {
      if (!undecided)
        undecided = cacheClass;
    } else if (!fixed) {
      fixed = cacheClass;
    } else if (type.getScaleLayout() != fixed->getType().getScaleLayout()) {
      attachNotes(reportError<RemarkId::ScaleLayoutsDisagree>(
                      fixed->getReportOp(), fixed->describe(),
                      Type(fixed->getType()), cacheClass->describe(),
                      Type(type)),
                  *fixed, *cacheClass);
      return failure();
    }
  }
  if (!undecided)
    return success();

  PoolUses uses = collectUses(pool);
  for (const CacheClass *cacheClass : pool) {
    CacheType type = cacheClass->getType();
    if (!type.isUndecided())
      continue;
    Operation *op = cacheClass->getReportOp();
    ScaleLayout layout = ScaleLayout::Linear;
    std::string reason = "no reader asks for another";
    Operation *reasonOp = nullptr;
    if (fixed) {
      layout = *fixed->getType().getScaleLayout();
      reason = fixed->describe() + " over the same memory has it";
      reasonOp = fixed->getReportOp();
    } else if (uses.rawUse) {
      reason = "scales are used as a memref";
      reasonOp = uses.rawUse;
    } else if (reader->layout && !type.isKey()) {
      layout = *reader->layout;
      reason = (reader->name + " reads values so").str();
      if (!getReadType(type, op))
        return failure();
    }
    CacheType decided = CacheType::getChecked(
        [&] {
          return reportError<RemarkId::ScaleLayoutIllegal>(
              op, stringifyScaleLayout(layout),
              "another cache over the same memory");
        },
        type.getContext(), type.getSide(), type.getPageSize(),
        type.getNumHeads(), type.getHeadDim(), type.getFormat(),
        type.getKvLayout(), std::optional(layout));
    if (!decided)
      return failure();
    decisions.push_back({cacheClass, decided});
    Report decision = Report::get<RemarkId::AssignedScaleLayout>(
        cacheClass->describe(), stringifyScaleLayout(layout),
        describeScales(*cacheClass), describeUses(uses), reason);
    if (reasonOp)
      decision.at(reasonOp);
    (void)decision.emit(op);
  }
  return success();
}

/// Gives attention values in the layout that it needs.
LogicalResult ScaleAssigner::convertReaders() {
  if (!reader->layout)
    return success();
  SmallVector<std::pair<DequantAttentionOp, CacheType>> conversions;
  bool failedAny = false;
  module.walk([&](DequantAttentionOp op) {
    CacheType type = op.getVCache().getType();
    if (!type.getScaleLayout() || type.getScaleLayout() == reader->layout)
      return;
    CacheType readType = getReadType(type, op);
    failedAny |= !readType;
    conversions.push_back({op, readType});
  });
  if (failedAny)
    return failure();
  ScaleCopies copies(module);
  for (auto [op, type] : conversions) {
    report<RemarkId::CopiedScales>(
        op, stringifyScaleLayout(*type.getScaleLayout()),
        stringifyScaleLayout(*op.getVCache().getType().getScaleLayout()),
        reader->name);
    op.getVCacheMutable().assign(copies.get(op.getVCache(), type, op));
  }
  return success();
}

LogicalResult ScaleAssigner::run() {
  if (failed(selectReader()) || failed(decideFormats()))
    return failure();
  SmallVector<CacheClass> classes = collectCacheClasses(module);
  bool failedAny = failed(verifyGlobalScales(classes));
  for (const ScalePool &pool : collectScalePools(module, classes))
    failedAny |= failed(decideLayout(pool));
  if (failedAny)
    return failure();

  for (auto [cacheClass, type] : decisions)
    for (Value value : cacheClass->values)
      value.setType(type);
  if (!decisions.empty())
    updateFunctionTypes(module);
  return convertReaders();
}

LogicalResult kvq::assignBlockScales(ModuleOp module,
                                     const AssignBlockScalesOptions &options) {
  return ScaleAssigner(module, options).run();
}
