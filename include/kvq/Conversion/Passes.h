//===- Passes.h - Registration of the conversion passes -------------------===//

#ifndef KVQ_CONVERSION_PASSES_H
#define KVQ_CONVERSION_PASSES_H

#include "kvq/Conversion/DecomposeSoftmax/DecomposeSoftmax.h"
#include "kvq/Conversion/IsolateFloatMode/IsolateFloatMode.h"
#include "kvq/Conversion/KVQToGPU/KVQToGPU.h"
#include "kvq/Conversion/KVQToVector/KVQToVector.h"
#include "kvq/Conversion/KernelsToPTX/KernelsToPTX.h"
#include "kvq/Conversion/LegalizeStorage/LegalizeStorage.h"
#include "kvq/Conversion/LowerFPConversions/LowerFPConversions.h"
#include "kvq/Conversion/RuntimeChecks/InsertRuntimeChecks.h"
#include "kvq/Conversion/TCGen05ToNVVM/TCGen05ToNVVM.h"

namespace kvq {

#define GEN_PASS_REGISTRATION
#include "kvq/Conversion/Passes.h.inc"

} // namespace kvq

#endif // KVQ_CONVERSION_PASSES_H
