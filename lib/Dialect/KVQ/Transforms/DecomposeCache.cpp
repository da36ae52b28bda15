//===- DecomposeCache.cpp - Decompose writes to and copies of a cache -----===//

#include "DecomposePatterns.h"
#include "EmitBlock.h"
#include "kvq/Dialect/KVQ/IR/KVQRope.h"
#include "kvq/Dialect/KVQ/Transforms/CacheAccess.h"
#include "kvq/Dialect/KVQ/Transforms/LoopBuilder.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace kvq;
using namespace kvq::decompose;

/// Emits a loop over the `rows` rows of an append, with the place of each one
/// that is not padding.
template <typename OpTy>
static void emitRows(LoopBuilder &b, OpTy op, Value rows,
                     function_ref<void(Value row, TokenPlace place)> body) {
  int64_t pageSize = op.getCache().getType().getPageSize();
  Value zero = b.index(0);
  b.loop(zero, rows, [&](Value row) {
    bool bySlot = bool(op.getSlotMapping());
    Value target =
        b.loadIndex(bySlot ? op.getSlotMapping() : op.getPositions(), row);
    Value isRow =
        arith::CmpIOp::create(b, arith::CmpIPredicate::sge, target, zero);
    b.when(isRow, [&] {
      if (bySlot)
        return body(row, emitPlaceOfSlot(b, b.getLoc(), target, pageSize));
      Value sequence =
          op.getBatchIndices() ? b.loadIndex(op.getBatchIndices(), row) : row;
      body(row, emitPlaceOfPosition(b, b.getLoc(), op.getBlockTable(), sequence,
                                    target, pageSize));
    });
  });
}

/// Emits channel `d` of a head of a row of the input in f32, rotated if the
/// operation rotates it.
static Value emitChannel(LoopBuilder &b, QuantizeAppendOp op, Value row,
                         Value head, Value d) {
  auto load = [&](Value channel) {
    return b.toF32(b.load(op.getInput(), {row, head, channel}));
  };
  int64_t rotated = op.getNumRotated();
  if (rotated == 0)
    return load(d);
  auto rotate = [&]() -> Value {
    bool isInterleaved = op.getRopeStyle() == RopeStyle::Interleaved;
    Value two = b.index(2), pairs = b.index(rotated / 2);
    Value pair = isInterleaved ? b.div(d, two) : b.rem(d, pairs);
    Value first = isInterleaved ? b.mul(pair, two) : pair;
    Value second = b.add(first, isInterleaved ? b.index(1) : pairs);
    auto [y0, y1] = emitRotation(b, b.getLoc(), load(first), load(second),
                                 b.load(op.getCos(), {row, pair}),
                                 b.load(op.getSin(), {row, pair}));
    return b.select(b.isLess(d, second), y0, y1);
  };
  if (rotated == op.getCache().getType().getHeadDim())
    return rotate();
  return b.choose(b.isLess(d, b.index(rotated)), b.getF32Type(), rotate,
                  [&]() -> Value { return load(d); });
}

/// A zero whose byte is 0, for types whose value 0.0 is another byte or none.
static Value emitZeroBits(LoopBuilder &b, FloatType type) {
  Value zero = arith::ConstantOp::create(
      b, b.getIntegerAttr(b.getIntegerType(type.getWidth()), 0));
  return arith::BitcastOp::create(b, type, zero);
}

namespace {

struct DecomposeAppend : public DecomposePattern<AppendOp> {
  using DecomposePattern::DecomposePattern;

  void decompose(AppendOp op, OpBuilder &builder) const override {
    LoopBuilder b(op.getLoc(), builder);
    CacheAccess cache(b, b.getLoc(), op.getCache());
    Value heads = b.index(cache.getType().getNumHeads());
    Value headDim = b.index(cache.getType().getHeadDim());
    Value columns = b.index(cache.getType().getScaleColumns());
    emitRows(b, op, b.size(op.getData(), 0), [&](Value row, TokenPlace place) {
      b.nest({heads, headDim}, [&](ValueRange at) {
        Value element = b.load(op.getData(), {row, at[0], at[1]});
        b.store(element, cache.getData(),
                cache.getDataIndices(place, at[0], at[1]));
      });
      if (!op.getScales())
        return;
      b.nest({heads, columns}, [&](ValueRange at) {
        Value scale = b.load(op.getScales(), {row, at[0], at[1]});
        b.store(scale, cache.getScales(),
                cache.emitScaleIndices(b, b.getLoc(), place.page, at[0],
                                       place.offset, at[1]));
      });
    });
  }
};

struct DecomposeQuantizeAppend : public DecomposePattern<QuantizeAppendOp> {
  using DecomposePattern::DecomposePattern;

  void decompose(QuantizeAppendOp op, OpBuilder &builder) const override {
    LoopBuilder b(op.getLoc(), builder);
    CacheAccess cache(b, b.getLoc(), op.getCache());
    Value heads = b.index(cache.getType().getNumHeads());
    Value headDim = b.index(cache.getType().getHeadDim());
    emitRows(b, op, b.size(op.getInput(), 0), [&](Value row, TokenPlace place) {
      b.loop(b.index(0), heads, [&](Value head) {
        auto load = [&](Value d) { return emitChannel(b, op, row, head, d); };
        auto storeElement = [&](Value d, Value element) {
          b.store(element, cache.getData(),
                  cache.getDataIndices(place, head, d));
        };
        auto storeScale = [&](Value s, Value scale) {
          b.store(scale, cache.getScales(),
                  cache.emitScaleIndices(b, b.getLoc(), place.page, head,
                                         place.offset, s));
        };
        emitQuantizeRow(b, cache.getFormat(), op.getFourOverSix(),
                        cache.getGlobalScale(), headDim,
                        {load, storeElement, storeScale});
      });
    });
  }
};

struct DecomposeCopyPages : public DecomposePattern<CopyPagesOp> {
  using DecomposePattern::DecomposePattern;

  void decompose(CopyPagesOp op, OpBuilder &builder) const override {
    LoopBuilder b(op.getLoc(), builder);
    CacheAccess source(b, b.getLoc(), op.getSource());
    CacheAccess dest(b, b.getLoc(), op.getDest());
    b.loop(b.index(0), b.size(op.getSrcPages(), 0), [&](Value i) {
      Value from = b.loadIndex(op.getSrcPages(), i);
      Value to = b.loadIndex(op.getDstPages(), i);
      // Both have one type, so places are equal whatever the layouts.
      auto copy = [&](Value sourcePart, Value destPart) {
        SmallVector<Value> sizes = b.sizes(sourcePart);
        b.nest(ArrayRef(sizes).drop_front(), [&](ValueRange at) {
          Value value = b.load(sourcePart, {from, at[0], at[1], at[2]});
          b.store(value, destPart, {to, at[0], at[1], at[2]});
        });
      };
      copy(source.getData(), dest.getData());
      if (source.getScales())
        copy(source.getScales(), dest.getScales());
    });
  }
};

struct DecomposeGather : public DecomposePattern<GatherOp> {
  using DecomposePattern::DecomposePattern;

  void decompose(GatherOp op, OpBuilder &builder) const override {
    LoopBuilder b(op.getLoc(), builder);
    CacheAccess cache(b, b.getLoc(), op.getCache());
    CacheType type = cache.getType();
    KVFormatInterface format = cache.getFormat();
    Value heads = b.index(type.getNumHeads());
    Value headDim = b.index(type.getHeadDim());
    Value columns = b.index(type.getScaleColumns());
    Value sequences = b.size(op.getSeqLens(), 0);
    Value zeroElement = emitZeroBits(b, format.getElementType());
    Value zeroScale;
    if (op.getScales())
      zeroScale = emitZeroBits(b, format.getScaleType());

    b.nest({sequences, b.size(op.getData(), 1)}, [&](ValueRange at) {
      Value sequence = at[0], token = at[1];
      // Writes the rows of all heads, with what the callbacks return.
      auto write = [&](function_ref<Value(Value, Value)> getElement,
                       function_ref<Value(Value, Value)> getScale) {
        b.nest({heads, headDim}, [&](ValueRange at) {
          b.store(getElement(at[0], at[1]), op.getData(),
                  {sequence, token, at[0], at[1]});
        });
        if (!op.getScales())
          return;
        b.nest({heads, columns}, [&](ValueRange at) {
          b.store(getScale(at[0], at[1]), op.getScales(),
                  {sequence, token, at[0], at[1]});
        });
      };
      auto copyRow = [&] {
        TokenPlace place =
            emitPlaceOfPosition(b, b.getLoc(), op.getBlockTable(), sequence,
                                token, type.getPageSize());
        write(
            [&](Value head, Value d) {
              return b.load(cache.getData(),
                            cache.getDataIndices(place, head, d));
            },
            [&](Value head, Value s) {
              return b.load(cache.getScales(),
                            cache.emitScaleIndices(b, b.getLoc(), place.page,
                                                   head, place.offset, s));
            });
      };
      auto clearRow = [&] {
        write([&](Value, Value) { return zeroElement; },
              [&](Value, Value) { return zeroScale; });
      };
      Value length = b.loadIndex(op.getSeqLens(), sequence);
      b.when(b.isLess(token, length), copyRow, clearRow);
    });
  }
};

} // namespace

void kvq::decompose::populateCachePatterns(RewritePatternSet &patterns) {
  patterns.add<DecomposeAppend, DecomposeQuantizeAppend, DecomposeCopyPages,
               DecomposeGather>(patterns.getContext());
}
