//===- TCGen05ToNVVM.h - From kvq_tcgen05 to nvvm ---------------*- C++ -*-===//

#ifndef KVQ_CONVERSION_TCGEN05TONVVM_TCGEN05TONVVM_H
#define KVQ_CONVERSION_TCGEN05TONVVM_TCGEN05TONVVM_H

#include "mlir/Pass/Pass.h"

namespace mlir {
class DialectRegistry;
class LLVMTypeConverter;
class RewritePatternSet;
} // namespace mlir

namespace kvq {

#define GEN_PASS_DECL_CONVERTTCGEN05TONVVM
#include "kvq/Conversion/Passes.h.inc"

/// Adds conversions of the dialect's types: regions of tensor memory become
/// pointers of address space 6, tiles of shared memory the low half of their
/// matrix descriptor (i32); their type has the high half.
void populateTCGen05ToNVVMTypeConversions(mlir::LLVMTypeConverter &converter);

/// Adds the patterns that lower the dialect's operations. `converter` has the
/// conversions above and one of gpu memory spaces.
void populateTCGen05ToNVVMPatterns(const mlir::LLVMTypeConverter &converter,
                                   mlir::RewritePatternSet &patterns);

/// Registers the interface through which convert-gpu-to-nvvm and
/// convert-to-llvm find the above.
void registerConvertTCGen05ToLLVMInterface(mlir::DialectRegistry &registry);

} // namespace kvq

#endif // KVQ_CONVERSION_TCGEN05TONVVM_TCGEN05TONVVM_H
