//===- Plan.cpp - Tiles and memory of the Blackwell decode kernel ---------===//

#include "Plan.h"
#include "Synchronization.h"
#include "kvq/Dialect/KVQ/Analysis/MMARules.h"
#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace kvq;
using namespace kvq::kernel;

//===----------------------------------------------------------------------===//
// What applies
//===----------------------------------------------------------------------===//

namespace {

/// Collects the first reason why the kernel does not apply.
class Requirements {
public:
  explicit Requirements(std::string &reason) : os(reason) {}

  /// Returns the stream of the reason if `condition` is the first that does
  /// not hold.
  template <typename... Args>
  void require(bool condition, Args &&...text) {
    if (condition || failed)
      return;
    failed = true;
    (os << ... << text);
  }
  bool hold() const { return !failed; }

private:
  llvm::raw_string_ostream os;
  bool failed = false;
};

} // namespace

/// The query rows that read one KV head of a sequence, or 0 if the types do not
/// say.
static int64_t getRowsOfSequence(DequantAttentionOp op) {
  auto q = cast<ShapedType>(op.getQ().getType());
  if (op.getQoIndptr() || q.isDynamicDim(1) || q.isDynamicDim(2))
    return 0;
  return q.getDimSize(1) * q.getDimSize(2) /
         op.getKCache().getType().getNumHeads();
}

static void checkCache(Requirements &all, CacheType type, StringRef side,
                       ArrayRef<ScaleLayout> layouts) {
  StoredValues values = classifyFormat(type.getFormat());
  all.require(values == StoredValues::F4ScaledByE4M3 ||
                  values == StoredValues::F4ScaledByE8M0,
              "the ", side, " have the format ", Attribute(type.getFormat()),
              ", accepted are nvfp4 and mxfp4");
  all.require(type.getFormat().getBlockAxis() == BlockAxis::HeadDim, "the ",
              side, " have blocks along the tokens");
  all.require(llvm::is_contained({64, 128, 256}, type.getHeadDim()), "the ",
              side, " have head_dim ", type.getHeadDim(),
              ", accepted are 64, 128 and 256");
  // Scales are copied by words.
  all.require(values != StoredValues::F4ScaledByE8M0 || type.getHeadDim() != 64,
              "the ", side,
              " have head_dim 64, accepted for mxfp4 are 128 and ", "256");
  all.require(type.getScaleLayout() &&
                  llvm::is_contained(layouts, *type.getScaleLayout()),
              "the ", side, " have the scale layout ",
              stringifyScaleLayout(
                  type.getScaleLayout().value_or(ScaleLayout::Undecided)));
  // A lane copies up to 32 rows that follow each other.
  int64_t page = type.getPageSize();
  all.require((llvm::isPowerOf2_64(page) && page >= 8) || page % 128 == 0,
              "pages have ", page,
              " tokens, accepted are powers of two from 8 on and multiples of "
              "128");
}

std::optional<DecodePlan>
DecodePlan::make(DequantAttentionOp op, const Chip &chip, std::string &reason) {
  Requirements all(reason);
  CacheType k = op.getKCache().getType(), v = op.getVCache().getType();
  MMAKindAttr qk = op.getQkAttr(), pv = op.getPvAttr();
  checkCache(all, k, "keys", {ScaleLayout::Linear});
  bool isWide = classifyFormat(v.getFormat()) == StoredValues::F4ScaledByE8M0;
  if (isWide)
    checkCache(all, v, "values", {ScaleLayout::Linear});
  else
    checkCache(all, v, "values",
               {ScaleLayout::Linear, ScaleLayout::Interleaved4});
  MMAUnit unit = isWide ? MMAUnit::BF16 : MMAUnit::F16;
  all.require(!pv || pv.getUnit() == unit, "pv = ", Attribute(pv),
              ", accepted is ", stringifyMMAUnit(unit));
  if (!all.hold())
    return std::nullopt;

  DecodePlan plan;
  int64_t rows = getRowsOfSequence(op);
  plan.rows = rows > 0 && rows <= 8 ? 8 : 16;
  plan.terms = qk.getTerms();
  plan.k = {k.getHeadDim(), k.getFormat().getBlockSize()};
  plan.v = {v.getHeadDim(), v.getFormat().getBlockSize()};
  // E2M1 under E4M3 has few exponents, under E8M0 those of f32.
  MLIRContext *context = op.getContext();
  if (isWide)
    plan.weightType = BFloat16Type::get(context);
  else
    plan.weightType = Float16Type::get(context);
  plan.stages = 4;
  plan.placeShared();
  assert(plan.shared.bytes <= int64_t(chip.sharedMemory) &&
         "the largest head_dim has room");
  return plan;
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

int64_t DecodePlan::scoreColumns() const {
  return llvm::alignTo(rows * terms, 16);
}

void DecodePlan::placeShared() {
  // The largest swizzle repeats after 1024 bytes.
  constexpr int64_t pattern = 1024;
  int64_t at = 0;
  auto place = [&](int64_t bytes, int64_t alignment) {
    at = llvm::alignTo(at, alignment);
    int64_t offset = at;
    at += bytes;
    return offset;
  };
  shared.k = place(k.bytes(), pattern);
  shared.v = place(v.bytes(), pattern);
  shared.kScales = place(k.scaleBytes(), 16);
  shared.vScales = place(v.scaleBytes(), 16);
  shared.stageBytes = llvm::alignTo(at, pattern);

  at = 0;
  shared.stages = place(stages * shared.stageBytes, pattern);
  shared.queries = place(scoreColumns() * k.rowBytes(), 128);
  shared.queryScales = place(kTileTokens * k.scales(), 128);
  shared.rowFactors = place(rows * 4, 16);
  shared.weightBytes = weightColumns() * weightDepth() * 2;
  shared.weights = place(kBuffers * shared.weightBytes, 128);
  shared.valueScalesOfWarp = groupTokens() * 8;
  shared.valueScales = place(4 * kBuffers * shared.valueScalesOfWarp, 128);
  shared.maxima = place(4 * rows * 4, 16);
  shared.barriers = place(BarrierRing::getBytes(2 * stages + 4 * kBuffers), 8);
  shared.tensorMemory = place(4, 4);
  // The start of dynamic shared memory is a multiple of 16 only.
  shared.bytes = at + pattern - 16;
}
