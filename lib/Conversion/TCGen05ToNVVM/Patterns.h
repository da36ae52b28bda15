//===- Patterns.h - Patterns from kvq_tcgen05 to nvvm -----------*- C++ -*-===//

#ifndef KVQ_LIB_CONVERSION_TCGEN05TONVVM_PATTERNS_H
#define KVQ_LIB_CONVERSION_TCGEN05TONVVM_PATTERNS_H

#include "kvq/Dialect/TCGen05/IR/TCGen05Ops.h"
#include "mlir/Conversion/LLVMCommon/Pattern.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

namespace kvq::tcgen05 {

/// Regions, tiles, allocation and synchronization.
void populateRegionPatterns(const mlir::LLVMTypeConverter &converter,
                            mlir::RewritePatternSet &patterns);

/// Loads, stores, copies and shifts.
void populateMovePatterns(const mlir::LLVMTypeConverter &converter,
                          mlir::RewritePatternSet &patterns);

/// Products.
void populateMultiplyPatterns(const mlir::LLVMTypeConverter &converter,
                              mlir::RewritePatternSet &patterns);

/// An i32 or i64 constant.
mlir::Value constant(mlir::OpBuilder &builder, mlir::Location loc,
                     mlir::Type type, int64_t value);

/// The address `lanes` and `words` after a tensor-memory pointer.
mlir::Value offsetTensor(mlir::OpBuilder &builder, mlir::Location loc,
                         mlir::Value pointer, int64_t lanes, int64_t words);

/// The 64-bit matrix descriptor `bytes` after the start of a tile, of which
/// `low` is the low half and `fields` all but the address.
mlir::Value makeDescriptor(mlir::OpBuilder &builder, mlir::Location loc,
                           mlir::Value low, uint64_t fields, int64_t bytes);

/// An inline assembly of no instruction that LLVM takes for a read and write
/// of all memory. tcgen05.mma and cp read shared memory behind LLVM's back:
/// without it stores to a tile could sink below the product.
void emitMemoryClobber(mlir::OpBuilder &builder, mlir::Location loc);

mlir::NVVM::CTAGroupKindAttr ctaGroupAttr(mlir::MLIRContext *context,
                                          uint64_t group);

} // namespace kvq::tcgen05

#endif // KVQ_LIB_CONVERSION_TCGEN05TONVVM_PATTERNS_H
