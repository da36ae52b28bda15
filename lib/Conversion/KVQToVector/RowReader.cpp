//===- RowReader.cpp - Read rows of keys and values as f32 ----------------===//

#include "RowReader.h"
#include "LowBitDecode.h"
#include "kvq/Dialect/KVQ/Transforms/CacheAccess.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace kvq;

void RowReader::emitPlaces(VectorBuilder &b,
                           function_ref<void(Value, Value)> body) {
  b.loop(b.index(0), emitSize(b), 1, [&](Value d) { body(d, d); });
}

namespace {

/// Elements `begin` to `begin + size - 1` of a row, which are decoded at once.
struct Unit {
  int64_t begin, size;
};

/// Cuts a row into units of at most `largest` and at least `least` elements,
/// both powers of two. Returns nothing if that is not possible.
SmallVector<Unit> getUnits(int64_t size, int64_t largest, int64_t least) {
  SmallVector<Unit> units;
  int64_t begin = 0;
  for (int64_t unit = largest; unit >= least; unit /= 2)
    for (; begin + unit <= size; begin += unit)
      units.push_back({begin, unit});
  if (begin != size)
    units.clear();
  return units;
}

/// What the readers of a cache have in common.
class CacheRowReader : public RowReader {
public:
  CacheRowReader(const CacheAccess &cache, Value blockTable)
      : cache(cache), blockTable(blockTable) {}

  Value emitSize(VectorBuilder &b) override {
    return b.index(cache.getType().getHeadDim());
  }
  Value getGlobalScale() const override { return cache.getGlobalScale(); }

protected:
  TokenPlace emitPlace(VectorBuilder &b, Value sequence, Value token) {
    return emitPlaceOfPosition(b, b.getLoc(), blockTable, sequence, token,
                               cache.getType().getPageSize());
  }

  CacheAccess cache;
  Value blockTable;
};

/// Any format, element by element.
class ElementRowReader : public CacheRowReader {
public:
  using CacheRowReader::CacheRowReader;

  void emitRow(VectorBuilder &b, Value sequence, Value token, Value head,
               Value buffer, Value row) override {
    TokenPlace place = emitPlace(b, sequence, token);
    b.loop(cache.getType().getHeadDim(), [&](Value d) {
      Value scale;
      if (cache.getScales())
        scale = b.load(cache.getScales(), cache.emitScaleIndicesOfElement(
                                              b, b.getLoc(), place, head, d));
      Value element =
          b.load(cache.getData(), cache.getDataIndices(place, head, d));
      Value value = cache.getFormat().emitDecode(b, b.getLoc(), element, scale,
                                                 /*globalScale=*/Value());
      b.store(value, buffer, {row, d});
    });
  }
};

/// The formats of the dialect with blocks along head_dim, a unit at a time.
class VectorRowReader : public CacheRowReader {
public:
  /// Returns null for a cache that it does not read.
  static std::unique_ptr<RowReader> create(const CacheAccess &cache,
                                           Value blockTable);

  double getPowerOfTwo() const override {
    if (hasE8M0Scales())
      return 1.0;
    double factor = getElementFactor();
    if (isa_and_nonnull<Float8E4M3FNType>(cache.getFormat().getScaleType()))
      factor *= kE4M3Factor;
    return factor;
  }

  void emitRow(VectorBuilder &b, Value sequence, Value token, Value head,
               Value buffer, Value row) override {
    TokenPlace place = emitPlace(b, sequence, token);
    for (Unit unit : units) {
      Value scales;
      if (cache.getScales())
        scales = emitScales(b, place, head, unit);
      Value elements = b.loadVector(
          cache.getData(),
          cache.getDataIndices(place, head, b.index(unit.begin)), unit.size);
      emitUnit(b, unit, elements, scales, [&](Value vector, int64_t at) {
        b.storeVector(vector, buffer, {row, b.index(at)});
      });
    }
  }

  void emitPrefetch(VectorBuilder &b, Value sequence, Value token,
                    Value head) override {
    TokenPlace place = emitPlace(b, sequence, token);
    constexpr int64_t lineBits = 64 * 8;
    int64_t step = lineBits / cache.getFormat().getElementType().getWidth();
    for (int64_t d = 0; d < cache.getType().getHeadDim(); d += step)
      b.prefetch(cache.getData(),
                 cache.getDataIndices(place, head, b.index(d)));
    if (cache.getScales())
      b.prefetch(cache.getScales(),
                 cache.emitScaleIndices(b, b.getLoc(), place.page, head,
                                        place.offset, b.index(0)));
  }

  void emitPlaces(VectorBuilder &b,
                  function_ref<void(Value, Value)> body) override {
    if (!isPacked())
      return RowReader::emitPlaces(b, body);
    for (Unit unit : units) {
      int64_t quarter = unit.size / 4;
      b.loop(quarter, [&](Value i) {
        b.loop(4, [&](Value j) {
          Value element = b.add(b.add(b.mul(i, 4), j), unit.begin);
          Value place = b.add(b.add(b.mul(j, quarter), i), unit.begin);
          body(element, place);
        });
      });
    }
  }

private:
  VectorRowReader(const CacheAccess &cache, Value blockTable,
                  SmallVector<Unit> units)
      : CacheRowReader(cache, blockTable), units(std::move(units)) {}

  bool isPacked() const {
    return isa<Float4E2M1FNType>(cache.getFormat().getElementType());
  }
  bool hasE8M0Scales() const {
    return isa_and_nonnull<Float8E8M0FNUType>(cache.getFormat().getScaleType());
  }
  double getElementFactor() const {
    if (isPacked())
      return kE2M1Factor;
    return isa<Float8E4M3FNType>(cache.getFormat().getElementType())
               ? kE4M3Factor
               : 1.0;
  }

  /// Emits the decoded scales of the blocks that a unit lies in, one for each.
  Value emitScales(VectorBuilder &b, TokenPlace place, Value head, Unit unit);

  /// Emits the decoding of a unit. `store` writes a vector to a place in the
  /// buffer's row.
  void emitUnit(VectorBuilder &b, Unit unit, Value elements, Value scales,
                function_ref<void(Value, int64_t)> store);

  SmallVector<Unit> units;
};

} // namespace

std::unique_ptr<RowReader> VectorRowReader::create(const CacheAccess &cache,
                                                   Value blockTable) {
  KVFormatInterface format = cache.getFormat();
  if (!isa<FormatAttr>(format))
    return nullptr;
  Type type = format.getElementType();
  Type scaleType = format.getScaleType();
  bool isPacked = isa<Float4E2M1FNType>(type);
  if (!isPacked && !isa<Float8E4M3FNType, Float16Type, BFloat16Type>(type))
    return nullptr;
  if (scaleType && (format.getBlockAxis() != BlockAxis::HeadDim ||
                    !isa<Float8E4M3FNType, Float8E8M0FNUType>(scaleType)))
    return nullptr;
  SmallVector<Unit> units =
      isPacked ? getUnits(cache.getType().getHeadDim(), 128, 16)
               : getUnits(cache.getType().getHeadDim(), 32, 1);
  if (units.empty())
    return nullptr;
  if (int64_t block = format.getBlockSize()) {
    if (block % 4 != 0)
      return nullptr;
    for (Unit unit : units)
      if (unit.size % block != 0 && block % unit.size != 0)
        return nullptr;
  }
  return std::unique_ptr<RowReader>(
      new VectorRowReader(cache, blockTable, std::move(units)));
}

Value VectorRowReader::emitScales(VectorBuilder &b, TokenPlace place,
                                  Value head, Unit unit) {
  int64_t block = cache.getFormat().getBlockSize();
  int64_t first = unit.begin / block;
  int64_t count = std::max<int64_t>(unit.size / block, 1);
  auto indices = [&](int64_t column) {
    return cache.emitScaleIndices(b, b.getLoc(), place.page, head, place.offset,
                                  b.index(column));
  };
  Value scales;
  if (cache.getType().getScaleLayout() == ScaleLayout::Linear) {
    scales = b.loadVector(cache.getScales(), indices(first), count);
  } else {
    SmallVector<Value> each;
    for (int64_t s = 0; s < count; ++s)
      each.push_back(b.load(cache.getScales(), indices(first + s)));
    scales = vector::FromElementsOp::create(
        b, b.vec(count, cache.getFormat().getScaleType()), each);
  }
  return hasE8M0Scales() ? emitDecodeE8M0(b, scales)
                         : emitDecodeE4M3(b, scales);
}

void VectorRowReader::emitUnit(VectorBuilder &b, Unit unit, Value elements,
                               Value scales,
                               function_ref<void(Value, int64_t)> store) {
  int64_t block = cache.getFormat().getBlockSize();
  // Spreads the scales over a vector whose lane i is of element step * i.
  auto apply = [&](Value values, int64_t step) {
    if (!scales)
      return values;
    int64_t count = unit.size / step;
    SmallVector<int64_t> lanes;
    for (int64_t i = 0; i < count; ++i)
      lanes.push_back(step * i / block);
    // E8M0 scales reach the ends of f32's range: nothing is left for later.
    if (hasE8M0Scales() && getElementFactor() != 1.0)
      values = b.mulF(values, b.f32(getElementFactor()));
    return b.mulF(values, b.pick(scales, lanes));
  };
  if (isPacked()) {
    int64_t quarter = unit.size / 4;
    Value words =
        vector::BitCastOp::create(b, b.vec(quarter, b.getI16Type()), elements);
    for (auto [j, values] : llvm::enumerate(emitDecodeE2M1(b, words)))
      store(apply(values, 4), unit.begin + j * quarter);
    return;
  }
  Value values = isa<Float8E4M3FNType>(cache.getFormat().getElementType())
                     ? emitDecodeE4M3(b, elements)
                     : b.toF32(elements);
  store(apply(values, 1), unit.begin);
}

std::unique_ptr<RowReader>
kvq::createCacheRowReader(VectorBuilder &b, TypedValue<CacheType> cache,
                          Value blockTable) {
  CacheAccess access(b, b.getLoc(), cache);
  if (auto reader = VectorRowReader::create(access, blockTable))
    return reader;
  return std::make_unique<ElementRowReader>(access, blockTable);
}

namespace {

class DenseRowReader : public RowReader {
public:
  explicit DenseRowReader(Value memref) : memref(memref) {}

  Value emitSize(VectorBuilder &b) override { return b.size(memref, 3); }

  void emitRow(VectorBuilder &b, Value sequence, Value token, Value head,
               Value buffer, Value row) override {
    Value zero = b.index(0), size = emitSize(b);
    auto copy = [&](Value d, int64_t count) {
      Value values = b.loadVector(memref, {sequence, token, head, d}, count);
      b.storeVector(b.toF32(values), buffer, {row, d});
    };
    Value whole = b.mul(b.div(size, lanes), lanes);
    // vector.load needs neighbours in memory.
    if (!cast<MemRefType>(memref.getType()).isLastDimUnitStride())
      whole = zero;
    else
      b.loop(zero, whole, lanes, [&](Value d) { copy(d, lanes); });
    b.loop(whole, size, 1, [&](Value d) {
      Value value = b.load(memref, {sequence, token, head, d});
      b.store(b.toF32(value), buffer, {row, d});
    });
  }

private:
  Value memref;
};

} // namespace

std::unique_ptr<RowReader> kvq::createDenseRowReader(Value memref) {
  return std::make_unique<DenseRowReader>(memref);
}
