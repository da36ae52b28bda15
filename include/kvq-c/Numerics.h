//===- Numerics.h - Quantize and dequantize on the host ---------*- C -*---===//
//
// Rows as caches store them; a kernel with `rounding = exact` writes the same
// bytes.
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_C_NUMERICS_H
#define KVQ_C_NUMERICS_H

#include "kvq-c/Core.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum KvqElementKind {
  KvqElementE2M1 = 0,
  KvqElementE4M3 = 1,
  KvqElementBF16 = 2,
  KvqElementF16 = 3
} KvqElementKind;

typedef enum KvqBlockScaleKind {
  KvqBlockScaleNone = 0,
  KvqBlockScaleE4M3 = 1,
  KvqBlockScaleE8M0 = 2
} KvqBlockScaleKind;

/// How rows are stored. A value is element x block scale x global scale,
/// without the factors that a format lacks.
typedef struct KvqBlockFormat {
  KvqElementKind element;
  KvqBlockScaleKind scale;
  /// Number of consecutive elements that share a scale; 0 without block scales.
  unsigned blockSize;
  bool hasGlobalScale;
} KvqBlockFormat;

/// Stores the format of a name: nvfp4, mxfp4, mxfp8, fp8, bf16 or f16. Fails
/// and stores nothing for another name.
MLIR_CAPI_EXPORTED MlirLogicalResult
kvqBlockFormatGetPreset(MlirStringRef name, KvqBlockFormat *format);

/// Store the bytes that the elements and the block scales of a row of `columns`
/// values take; `scaleBytes` is 0 without block scales. Fails, and stores
/// nothing, for a format that is not defined, and for a row that does not
/// consist of whole blocks and whole bytes.
MLIR_CAPI_EXPORTED MlirLogicalResult kvqBlockFormatGetRowBytes(
    const KvqBlockFormat *format, size_t columns, size_t *dataBytes,
    size_t *scaleBytes, KvqDiagnosticCallback callback, void *userData);

/// Quantizes `rows` rows of `columns` f32 values that follow each other. `data`
/// and `scales` take the rows one after the other; `dataBytes` and `scaleBytes`
/// are their sizes and must be exact. `globalScale` is the decode scale, finite
/// and positive, and 1 for a format without one. `fourOverSix`, for E2M1
/// elements with E4M3 scales, tries for each block to map its largest magnitude
/// to 4 instead of 6. Fails and writes nothing if one of these does not hold.
MLIR_CAPI_EXPORTED MlirLogicalResult kvqQuantizeRows(
    const KvqBlockFormat *format, const float *values, size_t rows,
    size_t columns, float globalScale, bool fourOverSix, uint8_t *data,
    size_t dataBytes, uint8_t *scales, size_t scaleBytes,
    KvqDiagnosticCallback callback, void *userData);

/// Dequantizes to `values`, under the same rules.
MLIR_CAPI_EXPORTED MlirLogicalResult
kvqDequantizeRows(const KvqBlockFormat *format, const uint8_t *data,
                  size_t dataBytes, const uint8_t *scales, size_t scaleBytes,
                  size_t rows, size_t columns, float globalScale, float *values,
                  KvqDiagnosticCallback callback, void *userData);

#ifdef __cplusplus
}
#endif

#endif // KVQ_C_NUMERICS_H
