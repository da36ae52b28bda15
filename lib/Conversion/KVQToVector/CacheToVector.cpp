//===- CacheToVector.cpp - Lower writes to and copies of a cache ----------===//

#include "Patterns.h"
#include "QuantizeRow.h"
#include "RotateRow.h"
#include "kvq/Dialect/KVQ/Transforms/CacheAccess.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace kvq;
using namespace kvq::detail;

/// Emits a parallel loop over the rows of an append and the heads, with the
/// place of each row that is not padding. Rows have places of their own, and
/// rows of low-bit elements are whole bytes.
template <typename OpTy>
static void emitRows(VectorBuilder &b, OpTy op, Value rows,
                     function_ref<void(Value, TokenPlace, Value)> body) {
  CacheType type = op.getCache().getType();
  Value heads = b.index(type.getNumHeads());
  b.parallel({rows, heads}, [&](ValueRange at) {
    Value row = at[0];
    Value target = b.loadIndex(
        op.getSlotMapping() ? op.getSlotMapping() : op.getPositions(), row);
    Value isRow =
        arith::CmpIOp::create(b, arith::CmpIPredicate::sge, target, b.index(0));
    b.when(isRow, [&] {
      if (op.getSlotMapping())
        return body(row,
                    emitPlaceOfSlot(b, b.getLoc(), target, type.getPageSize()),
                    at[1]);
      Value sequence =
          op.getBatchIndices() ? b.loadIndex(op.getBatchIndices(), row) : row;
      body(row,
           emitPlaceOfPosition(b, b.getLoc(), op.getBlockTable(), sequence,
                               target, type.getPageSize()),
           at[1]);
    });
  });
}

/// Emits the copy of the innermost `size` elements.
static void emitCopy(VectorBuilder &b, Value size, Value from,
                     ValueRange fromIndices, Value to, ValueRange toIndices) {
  emitRuns(b, size, 32, [&](Value d, int64_t lanes) {
    storeRun(b, loadRun(b, from, withIndex(fromIndices, d), lanes), to,
             withIndex(toIndices, d));
  });
}

/// The indices of a token and head in the data, less that of an element.
static SmallVector<Value> getRowIndices(const CacheAccess &cache,
                                        TokenPlace place, Value head) {
  SmallVector<Value> indices = cache.getDataIndices(place, head, Value());
  indices.pop_back();
  return indices;
}

/// Emits a loop over the scales of a token and head with their indices.
static void emitScales(VectorBuilder &b, const CacheAccess &cache,
                       TokenPlace place, Value head,
                       function_ref<void(Value, ValueRange)> body) {
  b.loop(cache.getType().getScaleColumns(), [&](Value s) {
    body(s, cache.emitScaleIndices(b, b.getLoc(), place.page, head,
                                   place.offset, s));
  });
}

namespace {

struct AppendToVector : public ToVectorPattern<AppendOp> {
  using ToVectorPattern::ToVectorPattern;

  void emit(AppendOp op, VectorBuilder &b) const override {
    CacheAccess cache(b, b.getLoc(), op.getCache());
    Value headDim = b.index(cache.getType().getHeadDim());
    emitRows(b, op, b.size(op.getData(), 0),
             [&](Value row, TokenPlace place, Value head) {
               emitCopy(b, headDim, op.getData(), {row, head}, cache.getData(),
                        getRowIndices(cache, place, head));
               if (!op.getScales())
                 return;
               emitScales(b, cache, place, head,
                          [&](Value s, ValueRange indices) {
                            b.store(b.load(op.getScales(), {row, head, s}),
                                    cache.getScales(), indices);
                          });
             });
  }
};

struct QuantizeAppendToVector : public ToVectorPattern<QuantizeAppendOp> {
  using ToVectorPattern::ToVectorPattern;

  void emit(QuantizeAppendOp op, VectorBuilder &b) const override {
    CacheAccess cache(b, b.getLoc(), op.getCache());
    Value headDim = b.index(cache.getType().getHeadDim());
    emitRows(b, op, b.size(op.getInput(), 0),
             [&](Value row, TokenPlace place, Value head) {
               auto storeScale = [&](Value s, Value scale) {
                 b.store(scale, cache.getScales(),
                         cache.emitScaleIndices(b, b.getLoc(), place.page, head,
                                                place.offset, s));
               };
               auto load = [&](Value d, int64_t lanes) {
                 return loadRotated(b, op, row, head, d, lanes);
               };
               emitQuantizeRow(b, cache.getFormat(), op.getFourOverSix(),
                               cache.getGlobalScale(), headDim,
                               {load, cache.getData(),
                                getRowIndices(cache, place, head), storeScale});
             });
  }
};

struct CopyPagesToVector : public ToVectorPattern<CopyPagesOp> {
  using ToVectorPattern::ToVectorPattern;

  void emit(CopyPagesOp op, VectorBuilder &b) const override {
    CacheAccess source(b, b.getLoc(), op.getSource());
    CacheAccess dest(b, b.getLoc(), op.getDest());
    b.parallel(b.size(op.getSrcPages(), 0), [&](ValueRange at) {
      Value from = b.loadIndex(op.getSrcPages(), at[0]);
      Value to = b.loadIndex(op.getDstPages(), at[0]);
      // Both have one type, so places are equal whatever the layouts.
      auto copy = [&](Value sourcePart, Value destPart) {
        Value zero = b.index(0);
        b.loop(zero, b.size(sourcePart, 1), 1, [&](Value i) {
          b.loop(zero, b.size(sourcePart, 2), 1, [&](Value j) {
            emitCopy(b, b.size(sourcePart, 3), sourcePart, {from, i, j},
                     destPart, {to, i, j});
          });
        });
      };
      copy(source.getData(), dest.getData());
      if (source.getScales())
        copy(source.getScales(), dest.getScales());
    });
  }
};

struct GatherToVector : public ToVectorPattern<GatherOp> {
  using ToVectorPattern::ToVectorPattern;

  void emit(GatherOp op, VectorBuilder &b) const override {
    CacheAccess cache(b, b.getLoc(), op.getCache());
    CacheType type = cache.getType();
    Value heads = b.index(type.getNumHeads());
    Value headDim = b.index(type.getHeadDim());
    b.parallel({b.size(op.getSeqLens(), 0), b.size(op.getData(), 1), heads},
               [&](ValueRange at) {
                 Value length = b.loadIndex(op.getSeqLens(), at[0]);
                 b.when(
                     b.isLess(at[1], length),
                     [&] { emitRow(b, op, cache, headDim, at); },
                     [&] { emitZeros(b, op, cache, headDim, at); });
               });
  }

  static void emitRow(VectorBuilder &b, GatherOp op, const CacheAccess &cache,
                      Value headDim, ValueRange at) {
    TokenPlace place =
        emitPlaceOfPosition(b, b.getLoc(), op.getBlockTable(), at[0], at[1],
                            cache.getType().getPageSize());
    emitCopy(b, headDim, cache.getData(), getRowIndices(cache, place, at[2]),
             op.getData(), at);
    if (op.getScales())
      emitScales(b, cache, place, at[2], [&](Value s, ValueRange indices) {
        b.store(b.load(cache.getScales(), indices), op.getScales(),
                withIndex(at, s));
      });
  }

  static void emitZeros(VectorBuilder &b, GatherOp op, const CacheAccess &cache,
                        Value headDim, ValueRange at) {
    KVFormatInterface format = cache.getFormat();
    emitRuns(b, headDim, 32, [&](Value d, int64_t lanes) {
      Type type = format.getElementType();
      if (lanes > 1)
        type = b.vec(lanes, type);
      storeRun(b, b.zeroBits(type), op.getData(), withIndex(at, d));
    });
    if (op.getScales())
      b.loop(cache.getType().getScaleColumns(), [&](Value s) {
        b.store(b.zeroBits(format.getScaleType()), op.getScales(),
                withIndex(at, s));
      });
  }
};

} // namespace

void kvq::detail::populateCachePatterns(RewritePatternSet &patterns) {
  patterns.add<AppendToVector, QuantizeAppendToVector, CopyPagesToVector,
               GatherToVector>(patterns.getContext());
}
