//===- CacheType.h - Sizes and shapes of cache types ------------*- C -*---===//
//
// What a serving runtime needs to know to allocate a pool of pages. Sizes of a
// type that is not a `!kvq.cache`, or is null, are -1; enumerations of it are
// the -1 of their type.
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_C_CACHETYPE_H
#define KVQ_C_CACHETYPE_H

#include "kvq-c/Core.h"
#include "mlir-c/IR.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum KvqSide {
  KvqSideInvalid = -1,
  KvqSideKey = 0,
  KvqSideValue = 1
} KvqSide;

typedef enum KvqKVLayout {
  KvqKVLayoutInvalid = -1,
  KvqKVLayoutNHD = 0,
  KvqKVLayoutHND = 1
} KvqKVLayout;

typedef enum KvqScaleLayout {
  KvqScaleLayoutInvalid = -1,
  /// The type leaves it to the compiler.
  KvqScaleLayoutUndecided = 0,
  KvqScaleLayoutLinear = 1,
  KvqScaleLayoutInterleaved4 = 2,
  KvqScaleLayoutBlocked128x4 = 3,
  /// The format has no block scales.
  KvqScaleLayoutNone = 4
} KvqScaleLayout;

/// Parses a type, for example "!kvq.cache<key, 16x8x128, nvfp4, NHD, linear>".
/// Returns a null type on failure.
MLIR_CAPI_EXPORTED MlirType kvqTypeParse(MlirContext context,
                                         MlirStringRef text,
                                         KvqDiagnosticCallback callback,
                                         void *userData);

/// Whether a type is a `!kvq.cache`; false for a null type.
MLIR_CAPI_EXPORTED bool kvqTypeIsACache(MlirType type);

MLIR_CAPI_EXPORTED KvqSide kvqCacheTypeGetSide(MlirType type);
MLIR_CAPI_EXPORTED KvqKVLayout kvqCacheTypeGetKVLayout(MlirType type);
MLIR_CAPI_EXPORTED KvqScaleLayout kvqCacheTypeGetScaleLayout(MlirType type);

/// Tokens in a page.
MLIR_CAPI_EXPORTED int64_t kvqCacheTypeGetPageSize(MlirType type);
/// KV heads.
MLIR_CAPI_EXPORTED int64_t kvqCacheTypeGetNumHeads(MlirType type);
/// Elements of a head.
MLIR_CAPI_EXPORTED int64_t kvqCacheTypeGetHeadDim(MlirType type);

/// Bytes of a page: data and block scales of all heads, without padding and
/// without the global scale.
MLIR_CAPI_EXPORTED int64_t kvqCacheTypeGetBytesPerPage(MlirType type);
/// Bytes of a token, data and block scales of all heads, rounded up where it
/// shares a byte with another token.
MLIR_CAPI_EXPORTED int64_t kvqCacheTypeGetBytesPerToken(MlirType type);

/// Returns the name of the format, for example "nvfp4"; an empty string for one
/// without a name.
MLIR_CAPI_EXPORTED MlirStringRef kvqCacheTypeGetFormatName(MlirType type);

/// Bits of an element.
MLIR_CAPI_EXPORTED int64_t kvqCacheTypeGetElementBits(MlirType type);
/// Whether values carry a global scale, an f32 beside the pages.
MLIR_CAPI_EXPORTED bool kvqCacheTypeHasGlobalScale(MlirType type);

/// Stores the shape of the data, in elements: the number of pages, which is not
/// known and stored as -1, then the page in its order. Fails and stores nothing
/// where there is none.
MLIR_CAPI_EXPORTED MlirLogicalResult kvqCacheTypeGetDataShape(MlirType type,
                                                              int64_t shape[4]);

/// The same for the block scales; fails for a format without them.
MLIR_CAPI_EXPORTED MlirLogicalResult
kvqCacheTypeGetScalesShape(MlirType type, int64_t shape[4]);

#ifdef __cplusplus
}
#endif

#endif // KVQ_C_CACHETYPE_H
