//===- CacheType.cpp - Sizes and shapes of cache types from C -------------===//

#include "kvq-c/CacheType.h"
#include "ContextDiagnostics.h"
#include "kvq/Dialect/KVQ/IR/KVQTypes.h"
#include "mlir/AsmParser/AsmParser.h"
#include "mlir/CAPI/IR.h"

using namespace mlir;
using namespace kvq;
using namespace kvq::capi;

/// Null for any other type and for null.
static CacheType getCache(MlirType type) {
  return dyn_cast_or_null<CacheType>(unwrap(type));
}

MlirType kvqTypeParse(MlirContext context, MlirStringRef text,
                      KvqDiagnosticCallback callback, void *userData) {
  DiagnosticSink sink(callback, userData);
  if (mlirContextIsNull(context)) {
    sink.fail("the context is null");
    return {nullptr};
  }
  ContextDiagnostics diagnostics(unwrap(context), sink);
  return wrap(parseType(unwrap(text), unwrap(context)));
}

bool kvqTypeIsACache(MlirType type) { return bool(getCache(type)); }

KvqSide kvqCacheTypeGetSide(MlirType type) {
  CacheType cache = getCache(type);
  if (!cache)
    return KvqSideInvalid;
  return cache.isKey() ? KvqSideKey : KvqSideValue;
}

KvqKVLayout kvqCacheTypeGetKVLayout(MlirType type) {
  CacheType cache = getCache(type);
  if (!cache)
    return KvqKVLayoutInvalid;
  return cache.getKvLayout() == KVLayout::NHD ? KvqKVLayoutNHD : KvqKVLayoutHND;
}

KvqScaleLayout kvqCacheTypeGetScaleLayout(MlirType type) {
  CacheType cache = getCache(type);
  if (!cache)
    return KvqScaleLayoutInvalid;
  if (!cache.getScaleLayout())
    return KvqScaleLayoutNone;
  switch (*cache.getScaleLayout()) {
  case ScaleLayout::Undecided:
    return KvqScaleLayoutUndecided;
  case ScaleLayout::Linear:
    return KvqScaleLayoutLinear;
  case ScaleLayout::Interleaved4:
    return KvqScaleLayoutInterleaved4;
  case ScaleLayout::Blocked128x4:
    return KvqScaleLayoutBlocked128x4;
  }
  llvm_unreachable("unknown scale layout");
}

int64_t kvqCacheTypeGetPageSize(MlirType type) {
  CacheType cache = getCache(type);
  return cache ? cache.getPageSize() : -1;
}

int64_t kvqCacheTypeGetNumHeads(MlirType type) {
  CacheType cache = getCache(type);
  return cache ? cache.getNumHeads() : -1;
}

int64_t kvqCacheTypeGetHeadDim(MlirType type) {
  CacheType cache = getCache(type);
  return cache ? cache.getHeadDim() : -1;
}

int64_t kvqCacheTypeGetBytesPerPage(MlirType type) {
  CacheType cache = getCache(type);
  return cache ? cache.getBytesPerPage() : -1;
}

int64_t kvqCacheTypeGetBytesPerToken(MlirType type) {
  CacheType cache = getCache(type);
  return cache ? cache.getBytesPerToken() : -1;
}

MlirStringRef kvqCacheTypeGetFormatName(MlirType type) {
  CacheType cache = getCache(type);
  return wrap(cache ? getFormatName(cache.getFormat()) : StringRef(""));
}

int64_t kvqCacheTypeGetElementBits(MlirType type) {
  CacheType cache = getCache(type);
  if (!cache)
    return -1;
  return cache.getFormat().getElementType().getWidth();
}

bool kvqCacheTypeHasGlobalScale(MlirType type) {
  CacheType cache = getCache(type);
  return cache && cache.getFormat().getHasGlobalScale();
}

static MlirLogicalResult storeShape(ArrayRef<int64_t> from, int64_t *to) {
  for (int64_t size : from)
    *to++ = ShapedType::isDynamic(size) ? -1 : size;
  return mlirLogicalResultSuccess();
}

MlirLogicalResult kvqCacheTypeGetDataShape(MlirType type, int64_t shape[4]) {
  CacheType cache = getCache(type);
  if (!cache || !shape)
    return mlirLogicalResultFailure();
  return storeShape(cache.getDataShape(), shape);
}

MlirLogicalResult kvqCacheTypeGetScalesShape(MlirType type, int64_t shape[4]) {
  CacheType cache = getCache(type);
  if (!cache || !shape || !cache.getFormat().hasBlockScale())
    return mlirLogicalResultFailure();
  return storeShape(cache.getScalesShape(), shape);
}
