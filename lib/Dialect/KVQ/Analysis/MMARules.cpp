//===- MMARules.cpp - How chips can compute the products of attention -----===//

#include "kvq/Dialect/KVQ/Analysis/MMARules.h"
#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace kvq;

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

// Errors: a float operand rounded to f16, bf16 or E4M3 is off by 2^-12, 2^-9 or
// 2^-5 at most relative to its binade, which is 0.02%, 0.17% and 2.6% in the
// root mean square over Gaussian data. NVFP4 folded into E4M3 is off by another
// 1.7%, 3.4% in all. The residual of one, two or three NVFP4 terms is 10%, 1.0%
// and 0.1%; a term of MXFP4, whose scale is a power of two, leaves more: 12%,
// 1.5% and 0.2%. Two terms of E4M3 leave 0.06%, and of f16 or bf16 next to
// nothing. benchmarks/mma_error.py measures them.
static constexpr double kF16 = 0.0002, kBF16 = 0.0017, kF8 = 0.026,
                        kF8Folded = 0.034, kF8Twice = 0.0006;

// Rates: dense TFLOP/s of the vendor's data sheet over 2, the number of SMs and
// the boost clock, rounded to the power of two that the SM is built for.
#define KVQ_A100 "A100 data sheet: 312 TFLOP/s dense, 108 SMs, 1.41 GHz"
#define KVQ_GA10X "GA102 white paper: half of GA100's tensor-core rate per SM"
#define KVQ_L40S "L40S data sheet: 362 and 733 TFLOP/s dense, 142 SMs, 2.52 GHz"
#define KVQ_H100                                                               \
  "H100 SXM data sheet: 989 and 1979 TFLOP/s dense, 132 SMs, 1.83 GHz"
#define KVQ_B200                                                               \
  "B200 data sheet: 2.25, 4.5 and 9 PFLOP/s dense, 148 SMs, 1.85 GHz"
#define KVQ_GB202                                                              \
  "RTX PRO 6000 data sheet: 2 PFLOP/s FP4 dense, 188 SMs, 2.6 GHz"
#define KVQ_MMA "mma.sync.m16n8k16"
#define KVQ_MMA_F8 "mma.sync.m16n8k32"

/// The two rows that every chip has: 16-bit operands through mma.sync, which
/// the portable kernel uses. It pads head_dim to whole operands.
#define KVQ_PORTABLE(CHIP, RATE, SOURCE)                                       \
  {CHIP,                                                                       \
   MMAProducts::Both,                                                          \
   MMAUnit::F16,                                                               \
   StoredValues::FitsF16,                                                      \
   0,                                                                          \
   1,                                                                          \
   RATE,                                                                       \
   kF16,                                                                       \
   MMAKernel::Portable,                                                        \
   KVQ_MMA ".f16",                                                             \
   SOURCE},                                                                    \
  {                                                                            \
    CHIP, MMAProducts::Both, MMAUnit::BF16, StoredValues::FitsBF16, 0, 1,      \
        RATE, kBF16, MMAKernel::Portable, KVQ_MMA ".bf16", SOURCE              \
  }

/// E4M3 operands, of values that are E4M3 and of NVFP4 folded into E4M3.
#define KVQ_E4M3(CHIP, RATE, INSTRUCTION, SOURCE)                              \
  {CHIP,                                                                       \
   MMAProducts::Both,                                                          \
   MMAUnit::F8,                                                                \
   StoredValues::F8,                                                           \
   0,                                                                          \
   32,                                                                         \
   RATE,                                                                       \
   kF8,                                                                        \
   MMAKernel::None,                                                            \
   INSTRUCTION,                                                                \
   SOURCE},                                                                    \
  {                                                                            \
    CHIP, MMAProducts::Both, MMAUnit::F8, StoredValues::F4ScaledByE4M3, 0, 32, \
        RATE, kF8Folded, MMAKernel::None, INSTRUCTION, SOURCE                  \
  }

/// FP4 operands with block scales, the float one in terms of the same format.
#define KVQ_BLOCK_SCALED(CHIP, STORED, TERMS, RATE, ERROR, KERNEL,             \
                         INSTRUCTION, SOURCE)                                  \
  {CHIP,                                                                       \
   MMAProducts::Both,                                                          \
   MMAUnit::BlockScaled,                                                       \
   STORED,                                                                     \
   TERMS,                                                                      \
   64,                                                                         \
   RATE,                                                                       \
   ERROR,                                                                      \
   KERNEL,                                                                     \
   INSTRUCTION,                                                                \
   SOURCE}

#define KVQ_NVFP4_TERMS(CHIP, RATE, KERNEL, INSTRUCTION, SOURCE)               \
  KVQ_BLOCK_SCALED(CHIP, StoredValues::F4ScaledByE4M3, 1, RATE, 0.10, KERNEL,  \
                   INSTRUCTION, SOURCE),                                       \
      KVQ_BLOCK_SCALED(CHIP, StoredValues::F4ScaledByE4M3, 2, RATE, 0.010,     \
                       KERNEL, INSTRUCTION, SOURCE),                           \
      KVQ_BLOCK_SCALED(CHIP, StoredValues::F4ScaledByE4M3, 3, RATE, 0.001,     \
                       KERNEL, INSTRUCTION, SOURCE)

#define KVQ_MXFP4_TERMS(CHIP, RATE, KERNEL, INSTRUCTION, SOURCE)               \
  KVQ_BLOCK_SCALED(CHIP, StoredValues::F4ScaledByE8M0, 1, RATE, 0.12, KERNEL,  \
                   INSTRUCTION, SOURCE),                                       \
      KVQ_BLOCK_SCALED(CHIP, StoredValues::F4ScaledByE8M0, 2, RATE, 0.015,     \
                       KERNEL, INSTRUCTION, SOURCE),                           \
      KVQ_BLOCK_SCALED(CHIP, StoredValues::F4ScaledByE8M0, 3, RATE, 0.002,     \
                       KERNEL, INSTRUCTION, SOURCE)

/// What the kernel for sm_100a multiplies by tcgen05 without block scales. It
/// has as many terms of the queries as keep the error, which are columns that
/// an instruction has anyway.
#define KVQ_TCGEN05(PRODUCTS, UNIT, STORED, RATE, ERROR, INSTRUCTION, SOURCE)  \
  {"sm_100a", MMAProducts::PRODUCTS, MMAUnit::UNIT, STORED, 0, 64, RATE,       \
   ERROR,     MMAKernel::Blackwell,  INSTRUCTION,   SOURCE}

/// Values that it expands to bf16; f16 takes all that fit.
static constexpr StoredValues kExpandsToBF16 =
    StoredValues::F4ScaledByE4M3 | StoredValues::F4ScaledByE8M0 |
    StoredValues::F8 | StoredValues::BF16;

// clang-format off
static constexpr MMARule rules[] = {
    KVQ_PORTABLE("sm_80", 1024, KVQ_A100),

    KVQ_PORTABLE("sm_86", 512, KVQ_GA10X),

    KVQ_PORTABLE("sm_89", 512, KVQ_L40S),
    KVQ_E4M3("sm_89", 1024, KVQ_MMA_F8 ".e4m3", KVQ_L40S),

    KVQ_PORTABLE("sm_90", 2048, KVQ_H100),
    KVQ_E4M3("sm_90", 4096, KVQ_MMA_F8 ".e4m3", KVQ_H100),

    KVQ_PORTABLE("sm_90a", 2048, KVQ_H100),
    KVQ_E4M3("sm_90a", 4096, "wgmma.m64nNk32.e4m3", KVQ_H100),

    KVQ_TCGEN05(QK, F8, StoredValues::F8, 8192, kF8Twice, "tcgen05.mma.kind::f8f6f4", KVQ_B200),
    KVQ_TCGEN05(PV, F8, StoredValues::F8, 8192, kF8, "tcgen05.mma.kind::f8f6f4", KVQ_B200),
    KVQ_TCGEN05(PV, F8, StoredValues::F4ScaledByE4M3, 8192, kF8Folded, "tcgen05.mma.kind::f8f6f4", KVQ_B200),
    KVQ_TCGEN05(QK, F16, StoredValues::F16, 4096, 0, "tcgen05.mma.kind::f16", KVQ_B200),
    KVQ_TCGEN05(QK, BF16, StoredValues::BF16, 4096, 0, "tcgen05.mma.kind::f16", KVQ_B200),
    KVQ_PORTABLE("sm_100a", 4096, KVQ_B200),
    KVQ_TCGEN05(PV, F16, StoredValues::FitsF16, 4096, kF16, "tcgen05.mma.kind::f16", KVQ_B200),
    KVQ_TCGEN05(PV, BF16, kExpandsToBF16, 4096, kBF16, "tcgen05.mma.kind::f16", KVQ_B200),
    KVQ_E4M3("sm_100a", 8192, "tcgen05.mma.kind::f8f6f4", KVQ_B200),
    KVQ_NVFP4_TERMS("sm_100a", 16384, MMAKernel::Blackwell, "tcgen05.mma.kind::mxf4nvf4.block16", KVQ_B200),
    KVQ_MXFP4_TERMS("sm_100a", 16384, MMAKernel::Blackwell, "tcgen05.mma.kind::mxf4.block32", KVQ_B200),

    KVQ_PORTABLE("sm_120a", 512, KVQ_GB202),
    KVQ_E4M3("sm_120a", 1024, "mma.sync.m16n8k32.kind::f8f6f4", KVQ_GB202),
    KVQ_NVFP4_TERMS("sm_120a", 2048, MMAKernel::None, "mma.sync.m16n8k64.kind::mxf4nvf4", KVQ_GB202),
    KVQ_MXFP4_TERMS("sm_120a", 2048, MMAKernel::None, "mma.sync.m16n8k64.kind::mxf4", KVQ_GB202),
};
// clang-format on

#undef KVQ_PORTABLE
#undef KVQ_E4M3
#undef KVQ_TCGEN05
#undef KVQ_BLOCK_SCALED
#undef KVQ_NVFP4_TERMS
#undef KVQ_MXFP4_TERMS

ArrayRef<MMARule> kvq::getMMARules() { return rules; }

ArrayRef<StringLiteral> kvq::getMMAChips() {
  static const llvm::SmallVector<StringLiteral> chips = [] {
    llvm::SmallVector<StringLiteral> result;
    for (const MMARule &rule : rules)
      if (result.empty() || result.back() != rule.chip)
        result.push_back(rule.chip);
    return result;
  }();
  return chips;
}

//===----------------------------------------------------------------------===//
// Reading it
//===----------------------------------------------------------------------===//

StringRef kvq::stringifyMMAProduct(MMAProduct product) {
  return product == MMAProduct::QK ? "qk" : "pv";
}

StoredValues kvq::classifyFormat(KVFormatInterface format) {
  Type element = format.getElementType(), scale = format.getScaleType();
  int64_t block = format.getBlockSize();
  if (isa<Float4E2M1FNType>(element) && block == 16 &&
      isa<Float8E4M3FNType>(scale))
    return StoredValues::F4ScaledByE4M3;
  if (isa<Float4E2M1FNType>(element) && block == 32 &&
      isa<Float8E8M0FNUType>(scale))
    return StoredValues::F4ScaledByE8M0;
  if (isa<Float8E4M3FNType>(element)) {
    if (!format.hasBlockScale())
      return StoredValues::F8;
    if (block == 32 && isa<Float8E8M0FNUType>(scale))
      return StoredValues::F8ScaledByE8M0;
  }
  if (!format.hasBlockScale() && element.isF16())
    return StoredValues::F16;
  if (!format.hasBlockScale() && element.isBF16())
    return StoredValues::BF16;
  return StoredValues::None;
}

bool kvq::isApplicable(const MMARule &rule, const MMARequest &request) {
  MMAProducts product =
      request.product == MMAProduct::QK ? MMAProducts::QK : MMAProducts::PV;
  if ((rule.products & product) == MMAProducts(0) ||
      (rule.stored & classifyFormat(request.format)) == StoredValues::None ||
      request.headDim % rule.headDimMultiple != 0)
    return false;
  if (rule.unit != MMAUnit::BlockScaled)
    return true;
  BlockAxis contraction =
      request.product == MMAProduct::QK ? BlockAxis::HeadDim : BlockAxis::Token;
  return request.format.getBlockAxis() == contraction;
}

bool kvq::hasKernel(const MMARule &rule, const MMARequest &request) {
  if (rule.kernel == MMAKernel::Blackwell)
    return (request.product == MMAProduct::QK ||
            rule.unit != MMAUnit::BlockScaled) &&
           llvm::is_contained({64, 128, 256}, request.headDim);
  return rule.kernel != MMAKernel::None;
}

/// Whether the float operand of a product has the type of the unit already.
static bool isExactOperand(const MMARule &rule, const MMARequest &request) {
  if (request.product != MMAProduct::QK)
    return false;
  return (rule.unit == MMAUnit::F16 && request.queryType.isF16()) ||
         (rule.unit == MMAUnit::BF16 && request.queryType.isBF16());
}

/// Whether queries of a type may exceed what the unit holds, which the kernel
/// for sm_100a scales them into. P is at most 1.
static bool mayOverflow(const MMARule &rule, const MMARequest &request) {
  return request.product == MMAProduct::QK && rule.unit == MMAUnit::F16 &&
         !request.queryType.isF16() && rule.kernel != MMAKernel::Blackwell;
}

double kvq::getError(const MMARule &rule, const MMARequest &request) {
  return isExactOperand(rule, request) ? 0 : rule.error;
}

double kvq::getCost(const MMARule &rule) {
  return double(std::max<int64_t>(rule.terms, 1)) / double(rule.macsPerClock);
}

MMAChoice kvq::chooseMMA(StringRef chip, const MMARequest &request,
                         double maxError) {
  MMAChoice choice;
  const MMARule *fastest = nullptr;
  auto better = [&](const MMARule &rule, const MMARule *than) {
    if (!than)
      return true;
    bool fits = getError(rule, request) <= maxError;
    bool thanFits = getError(*than, request) <= maxError;
    if (fits != thanFits)
      return fits;
    if (fits && getCost(rule) != getCost(*than))
      return getCost(rule) < getCost(*than);
    return getError(rule, request) < getError(*than, request);
  };
  for (const MMARule &rule : rules) {
    if (rule.chip != chip || !isApplicable(rule, request) ||
        mayOverflow(rule, request))
      continue;
    if (better(rule, fastest))
      fastest = &rule;
    if (hasKernel(rule, request) && better(rule, choice.rule))
      choice.rule = &rule;
  }
  if (fastest != choice.rule)
    choice.fasterWithoutKernel = fastest;
  return choice;
}

const MMARule *kvq::findMMARule(StringRef chip, const MMARequest &request,
                                MMAKindAttr kind,
                                std::optional<MMAKernel> kernel) {
  const MMARule *found = nullptr;
  for (const MMARule &rule : rules) {
    if (rule.chip != chip || rule.unit != kind.getUnit() ||
        rule.terms != kind.getTerms() || !isApplicable(rule, request))
      continue;
    if (kernel && rule.kernel == *kernel && hasKernel(rule, request))
      return &rule;
    if (!found || (!hasKernel(*found, request) && hasKernel(rule, request)))
      found = &rule;
  }
  return found;
}

MMAKindAttr kvq::getMMAKind(MLIRContext *context, const MMARule &rule) {
  return MMAKindAttr::get(context, rule.unit, rule.terms);
}

std::string kvq::listMMAKinds(StringRef chip, const MMARequest &request) {
  llvm::SmallSetVector<StringRef, 4> units;
  for (const MMARule &rule : rules)
    if (rule.chip == chip && isApplicable(rule, request))
      units.insert(stringifyMMAUnit(rule.unit));
  return llvm::join(units, ", ");
}
