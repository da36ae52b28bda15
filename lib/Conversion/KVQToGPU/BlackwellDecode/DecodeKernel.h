//===- DecodeKernel.h - Attention of few queries on Blackwell -------------===//
//
// A block computes up to 16 query rows of one KV head of a sequence over one
// chunk of its tokens, in tiles of 128 tokens, with tcgen05. Operands are
// swapped, so that tokens are the rows of 128 that the instruction has:
//
//   S^T = K Q^T   K as it lies, in kind mxf4nvf4 or mxf4 with its block scales,
//                 f8f6f4 or f16; Q as a sum of terms of K's format, which are
//                 further columns. Queries.cpp
//   softmax       along the tokens: a thread has one token and all rows, and
//                 the shift is corrected only where it must be. Softmax.cpp
//   O^T = V^T P^T kind f16 or f8f6f4: V as it lies. DirectValues.cpp
//                 FP8 for kind f16: V expanded exactly in tensor memory, in an
//                 order of the contraction that needs no transpose.
//                 ByteExpansion.cpp
//                 FP4: a block-scaled product with the identity, V^T = I V^T,
//                 decodes and transposes V to f32, exactly, which a register
//                 pass narrows to bf16, or to E4M3. ValueExpansion.cpp
//
// Warps have roles, and hand tiles on through rings of buffers and mbarriers:
//
//   warps 0-3    softmax, and the end of the block
//   warps 4-7    expand V, where it is expanded
//   then a warp  copies cached rows to shared memory. Loader.cpp
//   and another  issues the products. Products.cpp
//
//      barrier        from               to               says that
//      filled         loader             V, products      a stage holds a tile
//      consumed       V, products        loader           the stage is free
//      scored         products           softmax          scores are there
//      transposed     products           V                V is there in f32
//      expanded       V                  products         V is there
//      weighted       softmax            products         P is there
//      accumulated    products           V, softmax,      the output has V and
//                                        products         P
//      finished       products           softmax          all is done
//
// Of those of a tile there are two. That P of a tile is there says that its
// scores have been read, and the products of the scores come after those of the
// output of the tile that had the same buffers, so that scores and P need no
// barrier to say that their buffers are free. Where the output of a tile comes
// before the scores of the next, one buffer does, and `scored` says what
// `accumulated` does.
//
// FP4 values of more than 128 channels have two parts, which are transposed,
// narrowed and multiplied one after the other: a unit is a part of a tile.
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_LIB_CONVERSION_KVQTOGPU_BLACKWELLDECODE_DECODEKERNEL_H
#define KVQ_LIB_CONVERSION_KVQTOGPU_BLACKWELLDECODE_DECODEKERNEL_H

#include "../AttentionArguments.h"
#include "Plan.h"
#include "Synchronization.h"
#include "kvq/Dialect/TCGen05/IR/TCGen05Attributes.h"

namespace kvq::kernel {

/// The upper halves of two words: two f32 cut off to bf16.
I32 joinUpperHalves(KernelBuilder &b, I32 low, I32 high);

/// The swizzle whose pattern is as wide as a row of a panel.
tcgen05::Swizzle getSwizzle(const PackedRows &side);

class DecodeKernel : public AttentionArguments {
public:
  DecodeKernel(DequantAttentionOp op, mlir::OpBuilder &host,
               KernelTarget target, const DecodePlan &plan);

  void emit();

  static constexpr int64_t kSoftmaxThreads = 128, kExpandThreads = 128;

private:
  /// The work of a block: tile `i` of `count` begins at token
  /// `first` + 128 * i, a multiple of 128.
  struct Work {
    QueryRows rows;
    TokenRange tokens;
    I32 first, count;
  };

  /// What the softmax knows of each row: less the shift of its exponents in
  /// powers of two, and of the thread's tokens the sum of weights.
  struct RowState {
    llvm::SmallVector<F32> negatedShifts, sums;
  };
  /// The shift and the sum of weights of a row, of all tokens.
  struct RowSums {
    F32 shift, weights;
  };

  void computeRows(Work work);
  void setUp(Work work);
  I32 loadTensorMemory();

  /// Emits `body` for items 0 to `count` - 1 in turn, once for each of
  /// `buffers`: which buffer an item has then is a constant.
  void forBuffers(I32 count, int64_t buffers,
                  llvm::function_ref<void(I32 item)> body);

  /// Threads of a block, and the warps that load and multiply.
  int64_t threads() const { return 32 * (productWarp() + 1); }
  int64_t loadWarp() const {
    return (kSoftmaxThreads + (plan.expandsValues() ? kExpandThreads : 0)) / 32;
  }
  int64_t productWarp() const { return loadWarp() + 1; }

  //===--------------------------------------------------------------------===//
  // The roles, one file each
  //===--------------------------------------------------------------------===//

  /// Splits the queries into terms, with all threads.
  void splitQueries(QueryRows rows);
  void loadTiles(Work work);
  void issueProducts(Work work);
  void expandValues(Work work);
  void weighAndFinish(Work work);

  // Loader.cpp
  enum class CopyMode {
    /// All tokens, of a cache whose rows follow each other without gaps.
    Dense,
    /// The tokens that are to be read.
    Strided,
    /// The same, a byte at a time.
    Unaligned
  };
  struct LanePages;
  LanePages findPages(Work work, const PackedRows &side, I32 first);
  static bool isCopyLoop(const PackedRows &side, CopyMode mode);
  Pred areCopiesAligned(const CachePointers &cache, const PackedRows &side,
                        int64_t scaleBytes);
  Pred isDense(const CachePointers &cache, const PackedRows &side);
  void loadData(const CachePointers &cache, const PackedRows &side,
                const LanePages &pages, TokenRange tokens, Ptr to,
                CopyMode mode);
  void loadPanel(const CachePointers &cache, const PackedRows &side,
                 const LanePages &pages, TokenRange tokens, I32 panel, Ptr to,
                 CopyMode mode);
  void loadScales(const CachePointers &cache, const PackedRows &side,
                  const LanePages &pages, TokenRange tokens, Ptr to,
                  CopyMode mode);
  I32 findPair(const CachePointers &cache, I32 token);
  void orderPairs(const CachePointers &cache, Ptr scales);
  void loadQuads(const LanePages &pages, TokenRange tokens, Ptr to,
                 CopyMode mode);
  void orderQuads(Work work, I32 tile);
  void loadTile(Work work, I32 tile);

  // Products.cpp
  tcgen05::MMAKind getOutputKind() const;
  void issue(llvm::function_ref<void()> body);
  void issueScores(I32 tile);
  mlir::Value makeTile(mlir::Type type, Ptr at);
  std::pair<mlir::Value, mlir::Value> makeScoreOperands(I32 tile);
  void multiplyScaledKeys(I32 tile);
  void multiplyKeys(I32 tile);
  void issueValues(I32 tile, int64_t part);
  void issueOutput(I32 tile, int64_t part);

  // DirectValues.cpp
  void multiplyValues(I32 tile, mlir::Value weights);
  void storeDirectWeights(I32 tile, llvm::ArrayRef<F32> weights);

  // ByteExpansion.cpp
  void expandByteValues(Work work);
  void expandByteTokens(I32 tile, I32 warp, int64_t first);

  // ValueExpansion.cpp
  void storeIdentity();
  void narrowValues(I32 unit);

  // Softmax.cpp
  RowState initialState();
  llvm::SmallVector<F32> loadScores(I32 tile);
  /// Logits in powers of two, and these less the shifts.
  llvm::SmallVector<F32> scaleScores(llvm::ArrayRef<F32> scores,
                                     llvm::ArrayRef<F32> factors);
  llvm::SmallVector<F32> subtractShifts(llvm::ArrayRef<F32> scores,
                                        llvm::ArrayRef<F32> factors,
                                        const RowState &state);
  void maskLogits(Work work, I32 tile, llvm::SmallVectorImpl<F32> &logits);
  void raiseShifts(I32 tile, llvm::ArrayRef<F32> logits, RowState &state);
  void storeWeights(I32 tile, llvm::ArrayRef<F32> weights);
  RowState weighTile(Work work, I32 tile, llvm::ArrayRef<F32> factors,
                     RowState state);

  // Epilogue.cpp
  void finish(Work work, const RowState &state);
  /// Stores output and lse of the rows, with the first 128 threads. `load`
  /// gives the weighted sum of two channels, `2 * pair` on.
  void
  storeRows(QueryRows rows, llvm::function_ref<RowSums(I32 row)> loadSums,
            llvm::function_ref<llvm::SmallVector<F32>(I32 row, I32 pair)> load);
  void storeEmpty(QueryRows rows);

  // Output.cpp
  /// Loads or stores the thread's part of the output in tensor memory: of its
  /// lane the columns that count, for so many rows from `row` on as are loaded
  /// at once those of each term with the first channel of the lane, then with
  /// the second one where there are two.
  llvm::SmallVector<F32> loadOutput(int64_t row);
  void storeOutput(int64_t row, llvm::ArrayRef<F32> values);
  void scaleOutput(llvm::ArrayRef<F32> factors);
  llvm::SmallVector<mlir::OpFoldResult> outputColumns(int64_t row);
  int64_t rowsOfOutputLoad() const;
  int64_t widthOfOutputLoad() const;
  /// The lane of a channel in the first group, and its number there.
  std::pair<I32, I32> placeOf(I32 channel);

  //===--------------------------------------------------------------------===//
  // Memory
  //===--------------------------------------------------------------------===//

  Ptr shared(int64_t offset) { return sharedMemory + offset; }
  Ptr stage(I32 tile) {
    return shared(plan.shared.stages) +
           filled.buffer(tile) * plan.shared.stageBytes;
  }
  I32 unitOf(I32 tile, int64_t part) { return tile * plan.valueParts() + part; }
  /// The buffer of a tile or unit in a region that has them.
  mlir::Value bufferOf(mlir::Value region, I32 item);

  DecodePlan plan;
  Ptr sharedMemory;
  BarrierRing filled, consumed, scored, transposed, expanded, weighted,
      accumulated, finished;
  /// Tensor memory. There are buffers() side by side of scores, values and
  /// their scales, and the parts of the output.
  mlir::Value tensorMemory, scoreRegion, keyScaleRegion, queryScaleRegion,
      identityScaleRegion, valueScaleRegion, valueRegion, outputRegion;
};

} // namespace kvq::kernel

#endif // KVQ_LIB_CONVERSION_KVQTOGPU_BLACKWELLDECODE_DECODEKERNEL_H
