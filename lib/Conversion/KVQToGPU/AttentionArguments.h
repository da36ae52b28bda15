//===- AttentionArguments.h - What every attention kernel is given --------===//
//
// The parameters of the kernels of kvq.dequant_attention, and how its work is
// divided: a block computes some query rows of one KV head of a sequence, over
// one chunk of its tokens. The rows are the sequence's queries times the heads
// that share the KV head, so that they read each cached token once.
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_LIB_CONVERSION_KVQTOGPU_ATTENTIONARGUMENTS_H
#define KVQ_LIB_CONVERSION_KVQTOGPU_ATTENTIONARGUMENTS_H

#include "Arrays.h"
#include "CachePointers.h"
#include "Kernels.h"
#include "RowPlaces.h"

namespace kvq::kernel {

inline constexpr double kLog2E = 1.4426950408889634;
inline constexpr double kLn2 = 0.6931471805599453;

/// Which query rows a block computes.
struct QueryRows {
  /// The sequence, the index of its first query, and how many it has.
  I32 sequence, start, count;
  /// The first row of the block among the sequence's rows.
  I32 first;
};

/// Which tokens a block computes with: those in [begin, end), of a sequence of
/// `length` tokens. Others are seen by no row of the block, and are not read.
struct TokenRange {
  I32 length, begin, end;
  /// The positions of the first and last query of the block.
  I32 firstPosition, lastPosition;
};

/// How the output of a row follows from its weighted sum.
struct RowEnd {
  /// What the sum is multiplied by.
  F32 factor;
  F32 lse;
};

class AttentionArguments {
public:
  /// Begins a kernel `name` whose blocks have `rowsOfBlock` query rows.
  AttentionArguments(DequantAttentionOp op, mlir::OpBuilder &host,
                     KernelTarget target, llvm::StringRef name,
                     int64_t rowsOfBlock);

  /// Emits `body` with the rows of this block, if it has any, and its tokens,
  /// if the sequence's length is one that the block table holds.
  void whenWork(llvm::function_ref<void(QueryRows, TokenRange)> body);

  /// The indices of a query and a query head in q, and in the output without
  /// its dimension of chunks.
  llvm::SmallVector<I32> indexOf(QueryRows rows, I32 query, I32 head);

  /// Those of a row of the block, in q and, with the chunk, in the output.
  llvm::SmallVector<I32> queryIndexOf(QueryRows rows, I32 row);
  llvm::SmallVector<I32> outputIndexOf(QueryRows rows, I32 row);

  /// Whether the block's row `row` is one of the sequence.
  Pred isRow(QueryRows rows, I32 row);

  /// Whether a query at `position` sees a token by the options; empty if it
  /// always does.
  Pred sees(I32 position, I32 token);

  /// Ends a row of query head `head`: `largest` is the shift of the exponents
  /// and `denominator` the sum of the weights exp(logit - largest), 0 without
  /// tokens. Adds the sink.
  RowEnd endRow(F32 largest, F32 denominator, I32 head);

  /// The query head of a row of the block.
  I32 queryHeadOf(QueryRows rows, I32 row);

  /// The factor of logits: the scale, and the global scale of the keys.
  F32 loadLogitFactor();

  /// Ends the kernel, of blocks of `threads` threads.
  void launch(int64_t threads);

  DequantAttentionOp op;
  AttentionOptionsAttr options;
  int64_t rowsOfBlock, heads;
  bool isRagged;
  KernelLaunch kernel;
  KernelBuilder &b;
  CachePointers k, v;
  BlockTable blockTable;
  Array q, seqLens, output;
  std::optional<Array> qoIndptr, sinks, lse;
  F32 scale;
  /// Heads that share a KV head.
  Size group;

private:
  Size queryTokens() const { return q.size(isRagged ? 0 : 1); }
  void whenRows(llvm::function_ref<void(QueryRows)> body);
};

/// The name of a kernel of the operation: formats and options.
std::string getAttentionName(DequantAttentionOp op, llvm::StringRef prefix);

} // namespace kvq::kernel

#endif // KVQ_LIB_CONVERSION_KVQTOGPU_ATTENTIONARGUMENTS_H
