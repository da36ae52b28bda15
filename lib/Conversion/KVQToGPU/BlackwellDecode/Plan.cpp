//===- Plan.cpp - Tiles and memory of the Blackwell decode kernel ---------===//

#include "Plan.h"
#include "Synchronization.h"
#include "kvq/Dialect/KVQ/Analysis/MMARules.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/TypeUtilities.h"
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

namespace {

/// What values of a format are multiplied as, and how.
struct ValueRule {
  StoredValues stored;
  MMAUnit unit;
  ValueRoute route;
};

} // namespace

/// The rules of the kernel; of a format the first one where `pv` says nothing.
static constexpr ValueRule valueRules[] = {
    {StoredValues::F4ScaledByE4M3, MMAUnit::F16, ValueRoute::TransposedFP4},
    {StoredValues::F4ScaledByE4M3, MMAUnit::BF16, ValueRoute::TransposedFP4},
    {StoredValues::F4ScaledByE4M3, MMAUnit::F8, ValueRoute::TransposedFP4},
    {StoredValues::F4ScaledByE8M0, MMAUnit::BF16, ValueRoute::TransposedFP4},
    {StoredValues::F4ScaledByE8M0, MMAUnit::F16, ValueRoute::TransposedFP4},
    {StoredValues::F8, MMAUnit::F16, ValueRoute::ExpandedFP8},
    {StoredValues::F8, MMAUnit::BF16, ValueRoute::ExpandedFP8},
    {StoredValues::F8, MMAUnit::F8, ValueRoute::Direct},
    {StoredValues::F16, MMAUnit::F16, ValueRoute::Direct},
    {StoredValues::BF16, MMAUnit::BF16, ValueRoute::Direct},
};

/// The formats of keys whose scores have a kind. All of them feed the tensor
/// cores as they lie: fp8 keys never become f16 or bf16, but queries in E4M3
/// have the bits of those.
static StoredValues getKeyFormats(MMAUnit unit) {
  switch (unit) {
  case MMAUnit::BlockScaled:
    return StoredValues::F4ScaledByE4M3 | StoredValues::F4ScaledByE8M0;
  case MMAUnit::F8:
    return StoredValues::F8;
  case MMAUnit::F16:
    return StoredValues::F16 | StoredValues::F8;
  case MMAUnit::BF16:
    return StoredValues::BF16 | StoredValues::F8;
  }
  llvm_unreachable("all units are handled");
}

static FloatType getElementType(MLIRContext *context, MMAUnit unit) {
  switch (unit) {
  case MMAUnit::BlockScaled:
    return Float4E2M1FNType::get(context);
  case MMAUnit::F8:
    return Float8E4M3FNType::get(context);
  case MMAUnit::F16:
    return Float16Type::get(context);
  case MMAUnit::BF16:
    return BFloat16Type::get(context);
  }
  llvm_unreachable("all units are handled");
}

/// The terms of queries in the type of keys without block scales: so many that
/// they lose nothing, or in E4M3, which has four bits, two, or for a kind of 16
/// bits the three that have as many as f16.
static int64_t getTerms(Type key, MMAUnit unit, Type query) {
  if (key.isF16())
    return query.isF32() ? 2 : 1;
  if (key.isBF16())
    return query.isBF16() ? 1 : 2;
  return unit == MMAUnit::F8 ? 2 : 3;
}

/// "is a", "are a, b and c".
static std::string list(ArrayRef<StringRef> names) {
  std::string text = names.size() == 1 ? "is " : "are ";
  for (auto [i, name] : llvm::enumerate(names)) {
    if (i > 0)
      text += i + 1 == names.size() ? " and " : ", ";
    text += name;
  }
  return text;
}

static std::string listFormats(StoredValues formats) {
  static constexpr std::pair<StoredValues, llvm::StringLiteral> names[] = {
      {StoredValues::F4ScaledByE4M3, "nvfp4"},
      {StoredValues::F4ScaledByE8M0, "mxfp4"},
      {StoredValues::F8, "fp8"},
      {StoredValues::F16, "f16"},
      {StoredValues::BF16, "bf16"}};
  SmallVector<StringRef> found;
  for (auto [format, name] : names)
    if ((formats & format) != StoredValues::None)
      found.push_back(name);
  return list(found);
}

static void checkCache(Requirements &all, CacheType type, StringRef side,
                       ArrayRef<ScaleLayout> layouts) {
  all.require(llvm::is_contained({64, 128, 256}, type.getHeadDim()), "the ",
              side, " have head_dim ", type.getHeadDim(),
              ", accepted are 64, 128 and 256");
  // A lane copies up to 32 rows that follow each other.
  int64_t page = type.getPageSize();
  all.require((llvm::isPowerOf2_64(page) && page >= 8) || page % 128 == 0,
              "pages have ", page,
              " tokens, accepted are powers of two from 8 on and multiples of "
              "128");
  if (!type.getFormat().hasBlockScale())
    return;
  all.require(type.getFormat().getBlockAxis() == BlockAxis::HeadDim, "the ",
              side, " have blocks along the tokens");
  all.require(type.getScaleLayout() &&
                  llvm::is_contained(layouts, *type.getScaleLayout()),
              "the ", side, " have the scale layout ",
              stringifyScaleLayout(
                  type.getScaleLayout().value_or(ScaleLayout::Undecided)));
}

static void checkKeys(Requirements &all, CacheType type, MMAKindAttr kind) {
  StoredValues accepted = getKeyFormats(kind.getUnit());
  all.require(
      (classifyFormat(type.getFormat()) & accepted) != StoredValues::None,
      "the keys have the format ", Attribute(type.getFormat()),
      ", accepted with qk = ", Attribute(kind), " ", listFormats(accepted));
  checkCache(all, type, "keys", {ScaleLayout::Linear});
}

/// Checks the values; returns the rule that they are multiplied by, or null.
static const ValueRule *checkValues(Requirements &all, CacheType type,
                                    MMAKindAttr kind) {
  StoredValues stored = classifyFormat(type.getFormat());
  StoredValues formats = StoredValues::None;
  SmallVector<StringRef> units;
  const ValueRule *found = nullptr;
  for (const ValueRule &rule : valueRules) {
    formats |= rule.stored;
    if (rule.stored != stored)
      continue;
    units.push_back(stringifyMMAUnit(rule.unit));
    if (!found && (!kind || kind.getUnit() == rule.unit))
      found = &rule;
  }
  all.require(!units.empty(), "the values have the format ",
              Attribute(type.getFormat()), ", accepted ", listFormats(formats));
  checkCache(all, type, "values",
             {ScaleLayout::Linear, ScaleLayout::Interleaved4});
  all.require(found, "pv = ", Attribute(kind), ", accepted ", list(units));
  return found;
}

static PackedRows getRows(CacheType type) {
  KVFormatInterface format = type.getFormat();
  return {type.getHeadDim(), format.hasBlockScale() ? format.getBlockSize() : 0,
          format.getElementType().getIntOrFloatBitWidth()};
}

std::optional<DecodePlan>
DecodePlan::make(DequantAttentionOp op, const Chip &chip, std::string &reason) {
  Requirements all(reason);
  CacheType k = op.getKCache().getType(), v = op.getVCache().getType();
  MMAUnit unit = op.getQkAttr().getUnit();
  checkKeys(all, k, op.getQkAttr());
  const ValueRule *value = checkValues(all, v, op.getPvAttr());
  if (!all.hold())
    return std::nullopt;

  DecodePlan plan;
  int64_t rows = getRowsOfSequence(op);
  plan.rows = rows > 0 && rows <= 8 ? 8 : 16;
  plan.k = getRows(k);
  plan.v = getRows(v);
  if (unit == MMAUnit::BlockScaled) {
    plan.keys = KeyRoute::BlockScaled;
    plan.terms = op.getQkAttr().getTerms();
  } else {
    plan.keys = KeyRoute::Direct;
    plan.terms = getTerms(k.getFormat().getElementType(), unit,
                          getElementTypeOrSelf(op.getQ().getType()));
  }
  plan.values = value->route;
  plan.weightType = getElementType(op.getContext(), value->unit);
  plan.weightTerms = 1;
  plan.hasQuads = v.getScaleLayout() == ScaleLayout::Interleaved4;
  if (plan.transposesValues() && plan.weightType.isF16()) {
    // Values are bf16, and two terms of it hold more of a weight than f16.
    plan.weightType = BFloat16Type::get(op.getContext());
    plan.weightTerms = 2;
  }
  // Fewer rows rather than no tile that is loaded while another one is used.
  int64_t mostRows = plan.rows;
  for (int64_t leastStages : {2, 1})
    for (plan.rows = mostRows; plan.rows >= 8; plan.rows /= 2)
      for (plan.stages = 4; plan.stages >= leastStages; plan.stages /= 2) {
        plan.placeShared();
        if (plan.shared.bytes <= int64_t(chip.sharedMemory))
          return plan;
      }
  llvm_unreachable("one tile of the widest rows fits");
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

int64_t DecodePlan::scoreColumns() const {
  return llvm::alignTo(rows * terms, 16);
}

int64_t DecodePlan::weightColumns() const {
  int64_t columns = groups() * rows * (pairsChannels() ? 2 : weightTerms);
  // Beside a first operand in tensor memory there are multiples of 16, and
  // eight-bit operands that lie along N have whole pieces of 16 bytes.
  return llvm::alignTo(columns, expandsValues() ? 16 : 128 / weightBits());
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
  shared.vQuads = place(hasQuads ? v.scaleBytes() : 0, 16);
  shared.stageBytes = llvm::alignTo(at, pattern);

  at = 0;
  shared.stages = place(stages * shared.stageBytes, pattern);
  shared.queries = place(scoreColumns() * k.rowBytes(), 128);
  shared.queryScales = place(k.scaleBytes(), 128);
  shared.rowFactors = place(rows * 4, 16);
  shared.weightBytes = weightColumns() * weightDepth() * weightBits() / 8;
  // The end of the block keeps the output there.
  int64_t outputBytes = rows * channelsOfLane() * kTileTokens * 4;
  shared.weights =
      place(std::max(buffers() * shared.weightBytes, outputBytes), 128);
  shared.identityBytes =
      transposesValues() ? kTileTokens * partChannels() / 2 : 0;
  shared.identity = place(shared.identityBytes, 128);
  shared.identityScales =
      place(transposesValues() ? kTileTokens * partScales() : 0, 128);
  shared.maxima = place(4 * rows * 4, 16);
  shared.barriers =
      place(BarrierRing::getBytes(2 * stages + 5 * buffers() + 1), 8);
  shared.tensorMemory = place(4, 4);
  // The start of dynamic shared memory is a multiple of 16 only.
  shared.bytes = at + pattern - 16;
}
