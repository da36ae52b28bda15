//===- AttentionEmitter.h - Emit tiled attention --------------------------===//
//
// Work is cut into items: a sequence, a KV head, a tile of up to `tileRows`
// query rows (queries times heads of the group) and a range of keys. An item
// keeps the output of its rows unnormalized and walks its keys in tiles of
// `tileKeys`: read the keys as f32, logits, online softmax, read the values,
// accumulate. Sequences with few query rows have their keys split into ranges
// of `rangeKeys`; the parts meet in a second loop, in order.
//
// How a sequence is cut depends on its own numbers of queries and keys alone,
// so that its result does not depend on the batch or the machine.
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_LIB_CONVERSION_KVQTOVECTOR_ATTENTIONEMITTER_H
#define KVQ_LIB_CONVERSION_KVQTOVECTOR_ATTENTIONEMITTER_H

#include "RowReader.h"

namespace kvq {

/// The operands of an attention operation; null where it has none.
struct AttentionOperands {
  mlir::Value q, scale, seqLens, qoIndptr, mask, sinks, output, lse;
  AttentionOptionsAttr options;
  /// Keys of a chunk of the result, 0 without a split.
  int64_t kvSplit;
  /// Number of sequences, and their length where there are no seq_lens.
  mlir::Value sequences, length;
  mlir::Value kvHeads;
  /// What a part of a larger attention has; null for a whole one.
  mlir::Value kvOffset = {}, queryShift = {};
};

/// Emits the loops of attention.
class AttentionEmitter {
public:
  AttentionEmitter(VectorBuilder &b, const AttentionOperands &operands,
                   RowReader &keys, RowReader &values);

  void emit();

private:
  static constexpr int64_t tileRows = 32;
  static constexpr int64_t tileKeys = RowReader::lanes;
  static constexpr int64_t rangeKeys = 512;
  /// Sequences with more tiles of rows than this are not split.
  static constexpr int64_t maxSplitTiles = 8;

  /// How a sequence is cut.
  struct Sequence {
    mlir::Value index, length;
    /// Where the position after the last query is.
    mlir::Value positionEnd;
    /// The first query's row of q (ragged batches) and the number of queries.
    mlir::Value firstQuery, queries;
    /// Query rows of a KV head, tiles of them, ranges of keys, and items.
    mlir::Value rows, tiles, ranges, items;
  };

  /// An item, its rows, and its buffers.
  struct Item {
    Sequence sequence;
    mlir::Value kvHead, firstRow, rows, range;
    /// Keys from `begin` to `end` - 1.
    mlir::Value begin, end;
    /// [tileRows, size of a key or value padded].
    mlir::Value q, output;
    /// [tileKeys, size padded].
    mlir::Value keys, values;
    /// [tileRows, tileKeys]: logits, then weights.
    mlir::Value weights;
    /// [tileRows]: the largest logit, and the factor of what was before it.
    mlir::Value largest, rescale;
    /// [tileRows, lanes]: the denominator is the sum over the lanes.
    mlir::Value denominators;
    /// [tileRows], i32: the first key that a row admits, and their number.
    mlir::Value firstKeys, numKeys;
  };

  /// A query row of a sequence and KV head.
  struct Row {
    mlir::Value query, head;
    /// Indices in q and lse, and in the output, less the innermost.
    llvm::SmallVector<mlir::Value> indices;
  };

  Sequence emitSequence(mlir::Value index);
  Row emitRow(const Sequence &sequence, mlir::Value kvHead, mlir::Value row);
  /// The keys that options and length admit for a query, [begin, end).
  std::pair<mlir::Value, mlir::Value> emitKeyRange(const Sequence &sequence,
                                                   mlir::Value query);

  void emitPlan();
  void emitItem(const Sequence &sequence, mlir::Value kvHead, mlir::Value item);
  void emitBuffers(Item &item);
  void emitPrologue(const Item &item);
  void emitTile(const Item &item, mlir::Value firstKey, mlir::Value end,
                mlir::Value isEdge);
  void emitLogits(const Item &item);
  void emitSoftmax(const Item &item, mlir::Value firstKey, mlir::Value count);
  void emitAccumulate(const Item &item, mlir::Value count, bool isEdge);
  mlir::Value emitMaskedLogits(const Item &item, mlir::Value row,
                               mlir::Value firstKey, mlir::Value count,
                               mlir::Value logits);
  void emitEpilogue(const Item &item);
  void emitResult(const Row &row, mlir::Value chunk, mlir::Value largest,
                  mlir::Value denominator,
                  llvm::function_ref<mlir::Value(mlir::Value place)> load);
  void emitMerge();

  /// The slot of the workspace of an item.
  mlir::Value emitSlot(const Sequence &sequence, mlir::Value kvHead,
                       mlir::Value tile, mlir::Value range);

  /// A power of two that, times `rowsPerBlock`, is the number of lanes.
  int64_t getKeysPerBlock() const { return RowReader::lanes / rowsPerBlock; }

  mlir::Value minusInfinity();

  VectorBuilder &b;
  AttentionOperands a;
  RowReader &keys, &values;
  /// Rows whose products with keys are formed at once: 1, 2 or 4.
  int64_t rowsPerBlock;
  mlir::Value group, keySize, valueSize, keyPadded, valuePadded;
  /// Where the workspace of each sequence begins; the largest number of items.
  mlir::Value slots, maxItems;
  /// [slots, tileRows, valuePadded] and [slots, tileRows] twice.
  mlir::Value partOutputs, partLargest, partDenominators;
};

} // namespace kvq

#endif // KVQ_LIB_CONVERSION_KVQTOVECTOR_ATTENTIONEMITTER_H
