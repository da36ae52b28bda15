//===- KernelBuilder.h - Builds the body of a kernel ----------------------===//
//
// What a kernel is written with: control flow with lambdas, the ids of the
// thread, global and shared memory, asynchronous copies, warp operations and
// matrix instructions. Structured control flow is scf, arithmetic is arith, and
// what the dialects above PTX have no operation for is nvvm.
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_LIB_CONVERSION_KVQTOGPU_KERNELBUILDER_H
#define KVQ_LIB_CONVERSION_KVQTOGPU_KERNELBUILDER_H

#include "KernelValues.h"
#include "kvq/Support/Chip.h"
#include "kvq/Support/RuntimeError.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include <array>

namespace kvq::kernel {

class KernelBuilder;

/// A matrix in shared memory, rows of `columns` elements at a distance of
/// `pitch` elements. Made by KernelBuilder::shared.
class SharedTile {
public:
  SharedTile() = default;

  mlir::Value memref() const { return base; }
  mlir::Type elementType() const {
    return mlir::cast<mlir::MemRefType>(base.getType()).getElementType();
  }

  /// The shared-memory pointer (`!llvm.ptr<3>`) of an element.
  Ptr pointer(I32 row, I32 column) const;

  /// Loads and stores a scalar, or with `lanes` > 1 a vector of consecutive
  /// elements of a row, which is aligned to its size (16 bytes at most).
  mlir::Value load(I32 row, I32 column, int64_t lanes = 1) const;
  void store(mlir::Value value, I32 row, I32 column) const;

private:
  friend class KernelBuilder;
  KernelBuilder *b = nullptr;
  mlir::Value base;
  int64_t pitch = 0;
};

class KernelBuilder : public mlir::ImplicitLocOpBuilder {
public:
  /// Builds at the end of the entry block of a kernel for a chip.
  KernelBuilder(mlir::Location loc, mlir::gpu::GPUFuncOp function,
                const Chip &chip);

  const Chip &chip() const { return theChip; }

  //===--------------------------------------------------------------------===//
  // Constants
  //===--------------------------------------------------------------------===//

  I32 i32(int64_t value);
  I64 i64(int64_t value);
  F32 f32(double value);
  Pred pred(bool value);

  //===--------------------------------------------------------------------===//
  // Ids
  //===--------------------------------------------------------------------===//

  I32 thread();
  I32 block(mlir::gpu::Dimension dimension = mlir::gpu::Dimension::x);
  /// The thread's place in its warp, and its warp, of blocks along x.
  I32 lane() { return thread() % 32; }
  I32 warp() { return thread() / 32; }

  //===--------------------------------------------------------------------===//
  // Control flow
  //===--------------------------------------------------------------------===//

  /// for (i = begin; i < end; i += step) body(i), signed.
  void loop(I32 begin, I32 end, int64_t step,
            llvm::function_ref<void(I32)> body);

  /// The same, and neither LLVM nor ptxas unrolls it.
  void keptLoop(I32 begin, I32 end, int64_t step,
                llvm::function_ref<void(I32)> body);

  /// The same with values that the body passes on to the next iteration.
  /// Returns the last ones.
  llvm::SmallVector<mlir::Value> carry(
      I32 begin, I32 end, int64_t step, mlir::ValueRange init,
      llvm::function_ref<llvm::SmallVector<mlir::Value>(I32, mlir::ValueRange)>
          body);

  /// carry() of one value.
  template <typename T>
  T reduce(I32 begin, I32 end, int64_t step, T init,
           llvm::function_ref<T(I32, T)> body) {
    mlir::Value result = carry(begin, end, step, mlir::Value(init),
                               [&](I32 i, mlir::ValueRange values) {
                                 mlir::Value next =
                                     body(i, T(*this, values.front()));
                                 return llvm::SmallVector<mlir::Value>{next};
                               })
                             .front();
    return T(*this, result);
  }

  void when(Pred condition, llvm::function_ref<void()> then,
            llvm::function_ref<void()> otherwise = nullptr);

  /// condition ? then() : otherwise(), where only one of them runs. Both
  /// return values of the types `types`.
  llvm::SmallVector<mlir::Value>
  choose(Pred condition, mlir::TypeRange types,
         llvm::function_ref<llvm::SmallVector<mlir::Value>()> then,
         llvm::function_ref<llvm::SmallVector<mlir::Value>()> otherwise);

  //===--------------------------------------------------------------------===//
  // Global memory
  //===--------------------------------------------------------------------===//

  /// Loads and stores a scalar or vector. `alignment` in bytes; 0 is that of
  /// the type's size.
  mlir::Value load(Ptr pointer, mlir::Type type, unsigned alignment = 0);
  void store(mlir::Value value, Ptr pointer, unsigned alignment = 0);

  I32 loadI32(Ptr pointer);
  F32 loadF32(Ptr pointer);
  /// Loads an integer of `bits` bits, at most 32, zero-extended.
  I32 loadBits(Ptr pointer, unsigned bits);
  /// Stores the low bits.
  void storeBits(I32 value, Ptr pointer, unsigned bits);
  /// Loads a sign-extended integer of 32 or 64 bits.
  I64 loadIndex(Ptr pointer, unsigned bits);

  /// Loads `count` 32-bit words from an address that is a multiple of the
  /// largest power of two that divides 4 * count, up to 16: in accesses of 16
  /// bytes as far as they go.
  llvm::SmallVector<I32> loadWords(Ptr pointer, unsigned count);
  void storeWords(llvm::ArrayRef<I32> words, Ptr pointer);

  /// Whether all of some addresses and distances are multiples of `bytes`, a
  /// power of two.
  Pred areMultiples(llvm::ArrayRef<I64> values, int64_t bytes);

  //===--------------------------------------------------------------------===//
  // Shared memory
  //===--------------------------------------------------------------------===//

  /// Allocates a matrix, aligned to 16 bytes, in the block's dynamic shared
  /// memory for the whole kernel. `pitch` is the distance of rows in elements;
  /// 0 is `columns`. Rows that ldmatrix reads want a pitch whose bytes are an
  /// odd multiple of 16, so that eight rows lie in different banks.
  SharedTile shared(int64_t rows, int64_t columns, mlir::Type elementType,
                    int64_t pitch = 0);

  /// Allocates bytes for matrices that viewShared makes, which may share them.
  /// Returns their offset, a multiple of 16.
  int64_t allocateShared(int64_t bytes);
  SharedTile viewShared(int64_t offset, int64_t rows, int64_t columns,
                        mlir::Type elementType, int64_t pitch = 0);

  /// Bytes of shared memory allocated so far.
  int64_t getSharedBytes() const { return sharedBytes; }

  /// Copies `bytes` (4, 8 or 16) asynchronously to shared memory: both
  /// addresses are multiples of that. Where `isRead` is false the source is not
  /// read and zeros are written.
  void copyAsync(Ptr shared, Ptr global, int64_t bytes, Pred isRead);
  /// Ends a group of asynchronous copies of this thread.
  void commitCopies();
  /// Waits until at most `pending` groups of this thread are not complete.
  /// Other threads see the data after barrier().
  void waitCopies(unsigned pending);

  /// Waits for all threads of the block; shared memory is then consistent.
  void barrier();
  /// Waits for all threads of the warp.
  void syncWarp();

  //===--------------------------------------------------------------------===//
  // Warps. All lanes take part.
  //===--------------------------------------------------------------------===//

  /// The value of lane ^ mask.
  F32 shuffleXor(F32 value, int64_t mask);
  I32 shuffleXor(I32 value, int64_t mask);
  /// The value of lane `source`.
  I32 shuffle(I32 value, I32 source);
  /// The value, as LLVM cannot tell: what is made of it is computed here, and
  /// not before a loop, where it takes a register for as long as that runs.
  I32 computeAnew(I32 value);

  /// The sum or maximum over each group of `width` lanes (a power of two) that
  /// are `stride` apart, in every lane of the group. The order of the sum is
  /// fixed.
  F32 groupSum(F32 value, int64_t width, int64_t stride = 1);
  F32 groupMax(F32 value, int64_t width, int64_t stride = 1);

  //===--------------------------------------------------------------------===//
  // Matrices
  //===--------------------------------------------------------------------===//

  /// ldmatrix of `tiles` (1, 2 or 4) 8x8 matrices of 16-bit elements: lane i
  /// gives row i % 8 of matrix i / 8. Returns vector<tiles x 2 x element>.
  mlir::Value loadMatrix(const SharedTile &tile, I32 row, I32 column,
                         int64_t tiles, bool transpose);

  /// d = a * b + c by mma.sync m16n8k16: a is vector<4x2>, b vector<2x2> of
  /// f16 or bf16, c and d vector<2x2xf32>.
  mlir::Value multiply(mlir::Value a, mlir::Value b, mlir::Value c);

  //===--------------------------------------------------------------------===//
  // Vectors
  //===--------------------------------------------------------------------===//

  mlir::Value extract(mlir::Value vector, llvm::ArrayRef<int64_t> at);
  F32 extractF32(mlir::Value vector, llvm::ArrayRef<int64_t> at);
  /// vector<2xelement> from f32 values, rounded to nearest even.
  mlir::Value roundPair(F32 low, F32 high, mlir::Type element);
  /// Reinterprets 32 bits as a vector of two 16-bit elements, and back.
  mlir::Value asPair(I32 bits, mlir::Type element);
  I32 asBits(mlir::Value pair);

  //===--------------------------------------------------------------------===//
  // Errors
  //===--------------------------------------------------------------------===//

  /// Where the first error goes; set by the launch. May be a null pointer.
  void setErrorWord(Ptr pointer) { errorWord = pointer; }

  /// Records an error unless one is recorded: four i64, kind, index, value and
  /// limit as in kvq/Support/RuntimeError.h.
  void fail(KVQRuntimeErrorKind kind, I64 index, I64 value, I64 limit);

  /// Whether 0 <= value < limit; records an error otherwise.
  Pred checkRange(KVQRuntimeErrorKind kind, I64 index, I64 value, I64 limit);

private:
  I32 id(mlir::Value index);

  const Chip &theChip;
  Ptr errorWord;
  int64_t sharedBytes = 0;
};

} // namespace kvq::kernel

#endif // KVQ_LIB_CONVERSION_KVQTOGPU_KERNELBUILDER_H
