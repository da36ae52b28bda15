//===- MMARules.h - How chips can compute the products of attention -------===//
//
// One table of what each chip's tensor cores can do with each cache format. The
// passes that choose and check MMA kinds read it; nothing else knows chips.
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_DIALECT_KVQ_ANALYSIS_MMARULES_H
#define KVQ_DIALECT_KVQ_ANALYSIS_MMARULES_H

#include "kvq/Dialect/KVQ/IR/KVQAttributes.h"
#include "mlir/IR/Types.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/BitmaskEnum.h"
#include "llvm/ADT/StringRef.h"
#include <optional>
#include <string>

namespace kvq {

LLVM_ENABLE_BITMASK_ENUMS_IN_NAMESPACE();

/// The two products of attention: Q K^T and P V.
enum class MMAProduct { QK, PV };

/// Returns "qk" or "pv", as the attribute of kvq.dequant_attention is called.
llvm::StringRef stringifyMMAProduct(MMAProduct product);

/// The stored values that a rule accepts, a set.
enum class StoredValues : unsigned {
  None = 0,
  /// E2M1 with an E4M3 scale per 16 (nvfp4).
  F4ScaledByE4M3 = 1 << 0,
  /// E2M1 with an E8M0 scale per 32 (mxfp4).
  F4ScaledByE8M0 = 1 << 1,
  /// E4M3 with an E8M0 scale per 32 (mxfp8).
  F8ScaledByE8M0 = 1 << 2,
  /// E4M3 without block scales (fp8).
  F8 = 1 << 3,
  F16 = 1 << 4,
  BF16 = 1 << 5,
  /// Everything that fits f16 exactly once its block scale is multiplied in.
  FitsF16 = F4ScaledByE4M3 | F8 | F16,
  /// Everything that fits bf16 exactly: at most 8 significant bits, and the
  /// exponents of f32.
  FitsBF16 = F4ScaledByE4M3 | F4ScaledByE8M0 | F8ScaledByE8M0 | F8 | BF16,
  LLVM_MARK_AS_BITMASK_ENUM(BF16)
};

/// Returns what values of a format are; None for a format that is none of
/// those.
StoredValues classifyFormat(KVFormatInterface format);

/// Who computes a product so.
enum class MMAKernel {
  /// Nothing in this project yet.
  None,
  /// The portable kernel, with mma.sync.
  Portable,
  /// The kernel with tcgen05, of head_dim 64, 128 and 256; of block-scaled
  /// products the scores only.
  Blackwell
};

/// The products that a rule computes, a set.
enum class MMAProducts : unsigned {
  QK = 1 << 0,
  PV = 1 << 1,
  Both = QK | PV,
  LLVM_MARK_AS_BITMASK_ENUM(PV)
};

/// One row of the table: a kind that a chip's tensor cores have.
struct MMARule {
  llvm::StringLiteral chip;
  MMAProducts products;
  MMAUnit unit;
  /// The cache formats that the rule takes, blocks along the contraction axis
  /// of the product where `unit` is block_scaled.
  StoredValues stored;
  /// Terms of the float operand; 0 unless `unit` is block_scaled.
  int64_t terms;
  /// head_dim is a multiple of this.
  int64_t headDimMultiple;
  /// Multiply-accumulates per clock and SM, dense.
  int64_t macsPerClock;
  /// Root mean square of the product's error that the kind adds over exact
  /// products of the same cache, relative: rounding of the float operand, and
  /// of the stored one where it does not fit.
  double error;
  MMAKernel kernel;
  /// The instruction, and where its figures come from.
  llvm::StringLiteral instruction;
  llvm::StringLiteral source;
};

/// The whole table. Rows of a chip stand together. Of two that cost the same
/// and add the same error the first one is chosen.
llvm::ArrayRef<MMARule> getMMARules();

/// Returns the chips of the table, each once.
llvm::ArrayRef<llvm::StringLiteral> getMMAChips();

/// A product to compute: what the rules look at.
struct MMARequest {
  MMAProduct product;
  KVFormatInterface format;
  int64_t headDim;
  /// The element type of the queries, f32, f16 or bf16.
  mlir::Type queryType;
};

/// Whether a rule takes the format and head_dim of a request.
bool isApplicable(const MMARule &rule, const MMARequest &request);

/// Whether a kernel computes a request by a rule that applies to it.
bool hasKernel(const MMARule &rule, const MMARequest &request);

/// Relative error that a rule adds for a request: none where the float operand
/// of QK has the type of the queries already.
double getError(const MMARule &rule, const MMARequest &request);

/// Clocks that a rule takes per multiply-accumulate of the request's product,
/// relative to other rules of the chip: the terms are extra columns.
double getCost(const MMARule &rule);

/// The choice for a request.
struct MMAChoice {
  /// Null where the chip has no kernel that computes the product.
  const MMARule *rule = nullptr;
  /// A rule of less cost within the error bound that has no kernel yet, or
  /// null.
  const MMARule *fasterWithoutKernel = nullptr;
};

/// Chooses the rule of least cost among those that apply on `chip`, have a
/// kernel, cannot overflow on the queries' type, and add at most `maxError`;
/// without any, the one that adds the least.
MMAChoice chooseMMA(llvm::StringRef chip, const MMARequest &request,
                    double maxError);

/// Returns the rule that makes `kind` legal for a request on a chip, or null.
/// Of several it is the one that `kernel` computes if there is one, else one
/// that some kernel computes.
const MMARule *findMMARule(llvm::StringRef chip, const MMARequest &request,
                           MMAKindAttr kind,
                           std::optional<MMAKernel> kernel = std::nullopt);

/// Returns the kind that a rule stands for.
MMAKindAttr getMMAKind(mlir::MLIRContext *context, const MMARule &rule);

/// Returns the kinds that a chip has for a request, for a message: "f16, bf16".
std::string listMMAKinds(llvm::StringRef chip, const MMARequest &request);

} // namespace kvq

#endif // KVQ_DIALECT_KVQ_ANALYSIS_MMARULES_H
