//===- KernelBuilder.cpp - Builds the body of a kernel --------------------===//

#include "KernelBuilder.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/NVGPU/IR/NVGPUDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace kvq;
using namespace kvq::kernel;

KernelBuilder::KernelBuilder(Location loc, gpu::GPUFuncOp function,
                             const Chip &chip)
    : ImplicitLocOpBuilder(loc, function.getContext()), theChip(chip) {
  setInsertionPointToEnd(&function.getBody().front());
}

//===----------------------------------------------------------------------===//
// Constants and ids
//===----------------------------------------------------------------------===//

I32 KernelBuilder::i32(int64_t value) {
  return {*this, arith::ConstantOp::create(*this, getI32IntegerAttr(value))};
}

I64 KernelBuilder::i64(int64_t value) {
  return {*this, arith::ConstantOp::create(*this, getI64IntegerAttr(value))};
}

F32 KernelBuilder::f32(double value) {
  return {*this, arith::ConstantOp::create(*this, getF32FloatAttr(value))};
}

Pred KernelBuilder::pred(bool value) {
  return {*this, arith::ConstantOp::create(*this, getBoolAttr(value))};
}

I32 KernelBuilder::id(Value index) {
  return {*this, arith::IndexCastOp::create(*this, getI32Type(), index)};
}

I32 KernelBuilder::thread() {
  return id(gpu::ThreadIdOp::create(*this, gpu::Dimension::x));
}

I32 KernelBuilder::block(gpu::Dimension dimension) {
  return id(gpu::BlockIdOp::create(*this, dimension));
}

//===----------------------------------------------------------------------===//
// Control flow
//===----------------------------------------------------------------------===//

/// A loop that carries `init`; one that carries nothing ends by itself.
static scf::ForOp
makeLoop(KernelBuilder &b, I32 begin, I32 end, int64_t step, ValueRange init,
         function_ref<SmallVector<Value>(I32, ValueRange)> body) {
  auto loop =
      scf::ForOp::create(b, Value(begin), Value(end), Value(b.i32(step)), init);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  SmallVector<Value> next =
      body({b, loop.getInductionVar()}, loop.getRegionIterArgs());
  if (!init.empty())
    scf::YieldOp::create(b, next);
  return loop;
}

static scf::ForOp makeLoop(KernelBuilder &b, I32 begin, I32 end, int64_t step,
                           function_ref<void(I32)> body) {
  return makeLoop(b, begin, end, step, {}, [&](I32 i, ValueRange) {
    body(i);
    return SmallVector<Value>();
  });
}

void KernelBuilder::loop(I32 begin, I32 end, int64_t step,
                         function_ref<void(I32)> body) {
  makeLoop(*this, begin, end, step, body);
}

void KernelBuilder::keptLoop(I32 begin, I32 end, int64_t step,
                             function_ref<void(I32)> body) {
  auto unroll = LLVM::LoopUnrollAttr::get(
      getContext(), /*disable=*/getBoolAttr(true), /*count=*/{},
      /*runtimeDisable=*/{}, /*full=*/{}, /*followupUnrolled=*/{},
      /*followupRemainder=*/{}, /*followupAll=*/{});
  auto annotation = LLVM::LoopAnnotationAttr::get(
      getContext(), /*disableNonforced=*/{}, /*vectorize=*/{},
      /*interleave=*/{}, unroll, /*unrollAndJam=*/{}, /*licm=*/{},
      /*distribute=*/{}, /*pipeline=*/{}, /*peeled=*/{}, /*unswitch=*/{},
      /*mustProgress=*/{}, /*isVectorized=*/{}, /*startLoc=*/{}, /*endLoc=*/{},
      /*parallelAccesses=*/{});
  // Lowered to branches, loops pass on attributes of LLVM by name: this one is
  // the branch's own.
  makeLoop(*this, begin, end, step, body)
      ->setAttr("loop_annotation", annotation);
}

SmallVector<Value>
KernelBuilder::carry(I32 begin, I32 end, int64_t step, ValueRange init,
                     function_ref<SmallVector<Value>(I32, ValueRange)> body) {
  return llvm::to_vector_of<Value>(
      makeLoop(*this, begin, end, step, init, body).getResults());
}

void KernelBuilder::when(Pred condition, function_ref<void()> then,
                         function_ref<void()> otherwise) {
  auto branch = scf::IfOp::create(*this, Value(condition), bool(otherwise));
  InsertionGuard guard(*this);
  setInsertionPointToStart(branch.thenBlock());
  then();
  if (!otherwise)
    return;
  setInsertionPointToStart(branch.elseBlock());
  otherwise();
}

SmallVector<Value>
KernelBuilder::choose(Pred condition, TypeRange types,
                      function_ref<SmallVector<Value>()> then,
                      function_ref<SmallVector<Value>()> otherwise) {
  auto branch = scf::IfOp::create(*this, types, Value(condition),
                                  /*withElseRegion=*/true);
  InsertionGuard guard(*this);
  setInsertionPointToStart(branch.thenBlock());
  scf::YieldOp::create(*this, then());
  setInsertionPointToStart(branch.elseBlock());
  scf::YieldOp::create(*this, otherwise());
  return llvm::to_vector_of<Value>(branch.getResults());
}

//===----------------------------------------------------------------------===//
// Global memory
//===----------------------------------------------------------------------===//

/// The size of a scalar or vector in bytes.
static unsigned getBytes(Type type) {
  unsigned lanes = 1;
  if (auto vector = dyn_cast<VectorType>(type)) {
    lanes = vector.getNumElements();
    type = vector.getElementType();
  }
  return lanes * type.getIntOrFloatBitWidth() / 8;
}

Value KernelBuilder::load(Ptr pointer, Type type, unsigned alignment) {
  return LLVM::LoadOp::create(*this, type, Value(pointer),
                              alignment ? alignment : getBytes(type));
}

void KernelBuilder::store(Value value, Ptr pointer, unsigned alignment) {
  LLVM::StoreOp::create(*this, value, Value(pointer),
                        alignment ? alignment : getBytes(value.getType()));
}

I32 KernelBuilder::loadI32(Ptr pointer) {
  return {*this, load(pointer, getI32Type())};
}

F32 KernelBuilder::loadF32(Ptr pointer) {
  return {*this, load(pointer, getF32Type())};
}

I32 KernelBuilder::loadBits(Ptr pointer, unsigned bits) {
  Value value = load(pointer, getIntegerType(bits));
  if (bits != 32)
    value = arith::ExtUIOp::create(*this, getI32Type(), value);
  return {*this, value};
}

void KernelBuilder::storeBits(I32 value, Ptr pointer, unsigned bits) {
  Value narrow = value;
  if (bits != 32)
    narrow = arith::TruncIOp::create(*this, getIntegerType(bits), narrow);
  store(narrow, pointer);
}

I64 KernelBuilder::loadIndex(Ptr pointer, unsigned bits) {
  Value value = load(pointer, getIntegerType(bits));
  if (bits != 64)
    value = arith::ExtSIOp::create(*this, getI64Type(), value);
  return {*this, value};
}

SmallVector<I32> KernelBuilder::loadWords(Ptr pointer, unsigned count) {
  SmallVector<I32> words;
  while (words.size() < count) {
    unsigned at = words.size();
    unsigned lanes = std::min(4u, 1u << llvm::countr_zero(count));
    Ptr from = pointer + int64_t(4 * at);
    if (lanes == 1) {
      words.push_back(loadI32(from));
      continue;
    }
    Value vector = load(from, VectorType::get(lanes, getI32Type()));
    for (unsigned i = 0; i < lanes; ++i)
      words.push_back({*this, extract(vector, i)});
  }
  return words;
}

void KernelBuilder::storeWords(ArrayRef<I32> words, Ptr pointer) {
  unsigned lanes =
      std::min(4u, 1u << llvm::countr_zero(unsigned(words.size())));
  for (unsigned at = 0; at < words.size(); at += lanes) {
    Ptr to = pointer + int64_t(4 * at);
    if (lanes == 1) {
      store(words[at], to);
      continue;
    }
    SmallVector<Value> values(words.slice(at, lanes));
    store(vector::FromElementsOp::create(
              *this, VectorType::get(lanes, getI32Type()), values),
          to);
  }
}

Pred KernelBuilder::areMultiples(ArrayRef<I64> values, int64_t bytes) {
  I64 all = i64(0);
  for (I64 value : values)
    all = all | value;
  return (all & (bytes - 1)) == 0;
}

//===----------------------------------------------------------------------===//
// Shared memory
//===----------------------------------------------------------------------===//

/// An index for the operations of memref and nvgpu.
static Value toIndex(KernelBuilder &b, I32 value) {
  return b.createOrFold<arith::IndexCastOp>(b.getIndexType(), Value(value));
}

Ptr SharedTile::pointer(I32 row, I32 column) const {
  int64_t bytes = getBytes(elementType());
  Value address = memref::ExtractAlignedPointerAsIndexOp::create(*b, base);
  I32 start(*b, arith::IndexCastOp::create(*b, b->getI32Type(), address));
  I32 at = start + row * (pitch * bytes) + column * bytes;
  Type type = LLVM::LLVMPointerType::get(b->getContext(), 3);
  return {*b, LLVM::IntToPtrOp::create(*b, type, Value(at))};
}

Value SharedTile::load(I32 row, I32 column, int64_t lanes) const {
  SmallVector<Value> at{toIndex(*b, row), toIndex(*b, column)};
  if (lanes == 1)
    return memref::LoadOp::create(*b, base, at);
  auto type = VectorType::get(lanes, elementType());
  return vector::LoadOp::create(*b, type, base, at);
}

void SharedTile::store(Value value, I32 row, I32 column) const {
  SmallVector<Value> at{toIndex(*b, row), toIndex(*b, column)};
  if (isa<VectorType>(value.getType()))
    vector::StoreOp::create(*b, value, base, at);
  else
    memref::StoreOp::create(*b, value, base, at);
}

int64_t KernelBuilder::allocateShared(int64_t bytes) {
  int64_t offset = llvm::alignTo(sharedBytes, 16);
  sharedBytes = offset + bytes;
  return offset;
}

SharedTile KernelBuilder::viewShared(int64_t offset, int64_t rows,
                                     int64_t columns, Type elementType,
                                     int64_t pitch) {
  SharedTile tile;
  tile.b = this;
  tile.pitch = pitch ? pitch : columns;
  Attribute space = gpu::AddressSpaceAttr::get(
      getContext(), gpu::GPUDialect::getWorkgroupAddressSpace());
  auto bytesType = MemRefType::get(ShapedType::kDynamic, getI8Type(),
                                   MemRefLayoutAttrInterface(), space);
  auto type = MemRefType::get({rows, tile.pitch}, elementType,
                              MemRefLayoutAttrInterface(), space);
  Value memory = gpu::DynamicSharedMemoryOp::create(*this, bytesType);
  Value at = arith::ConstantIndexOp::create(*this, offset);
  tile.base = memref::ViewOp::create(*this, type, memory, at, ValueRange());
  return tile;
}

SharedTile KernelBuilder::shared(int64_t rows, int64_t columns,
                                 Type elementType, int64_t pitch) {
  int64_t bytes = rows * (pitch ? pitch : columns) * getBytes(elementType);
  return viewShared(allocateShared(bytes), rows, columns, elementType, pitch);
}

void KernelBuilder::copyAsync(Ptr shared, Ptr global, int64_t bytes,
                              Pred isRead) {
  I32 size = isRead.select(i32(bytes), i32(0));
  NVVM::CpAsyncOp::create(*this, Value(shared), Value(global), bytes,
                          bytes == 16 ? NVVM::LoadCacheModifierKind::CG
                                      : NVVM::LoadCacheModifierKind::CA,
                          Value(size));
}

void KernelBuilder::commitCopies() {
  NVVM::CpAsyncCommitGroupOp::create(*this);
}

void KernelBuilder::waitCopies(unsigned pending) {
  NVVM::CpAsyncWaitGroupOp::create(*this, pending);
}

void KernelBuilder::barrier() { gpu::BarrierOp::create(*this); }

void KernelBuilder::syncWarp() {
  NVVM::SyncWarpOp::create(*this, Value(i32(-1)));
}

//===----------------------------------------------------------------------===//
// Warps
//===----------------------------------------------------------------------===//

static Value shuffleLanes(KernelBuilder &b, Value value, Value lane,
                          NVVM::ShflKind kind) {
  return NVVM::ShflOp::create(b, value.getType(), Value(b.i32(-1)), value, lane,
                              Value(b.i32(31)), kind, UnitAttr());
}

F32 KernelBuilder::shuffleXor(F32 value, int64_t mask) {
  return {*this, shuffleLanes(*this, value, i32(mask), NVVM::ShflKind::bfly)};
}

I32 KernelBuilder::shuffleXor(I32 value, int64_t mask) {
  return {*this, shuffleLanes(*this, value, i32(mask), NVVM::ShflKind::bfly)};
}

I32 KernelBuilder::shuffle(I32 value, I32 source) {
  return {*this, shuffleLanes(*this, value, source, NVVM::ShflKind::idx)};
}

I32 KernelBuilder::computeAnew(I32 value) {
  auto move = LLVM::InlineAsmOp::create(
      *this, getI32Type(), Value(value), "mov.b32 $0, $1;", "=r,r",
      /*has_side_effects=*/true, /*is_align_stack=*/false,
      LLVM::TailCallKind::None, LLVM::AsmDialectAttr(), ArrayAttr());
  return {*this, move.getResult(0)};
}

F32 KernelBuilder::groupSum(F32 value, int64_t width, int64_t stride) {
  for (int64_t mask = stride; mask < width * stride; mask *= 2)
    value = value + shuffleXor(value, mask);
  return value;
}

F32 KernelBuilder::groupMax(F32 value, int64_t width, int64_t stride) {
  for (int64_t mask = stride; mask < width * stride; mask *= 2)
    value = value.max(shuffleXor(value, mask));
  return value;
}

//===----------------------------------------------------------------------===//
// Matrices and vectors
//===----------------------------------------------------------------------===//

Value KernelBuilder::loadMatrix(const SharedTile &tile, I32 row, I32 column,
                                int64_t tiles, bool transpose) {
  auto type = VectorType::get({tiles, 2}, tile.elementType());
  return nvgpu::LdMatrixOp::create(
      *this, type, tile.memref(),
      ValueRange{toIndex(*this, row), toIndex(*this, column)}, transpose,
      static_cast<uint32_t>(tiles));
}

/// The operands of mma.sync, a vector of pairs, as registers.
static SmallVector<Value> toRegisters(KernelBuilder &b, Value pairs) {
  SmallVector<Value> registers;
  for (int64_t i = 0; i < cast<VectorType>(pairs.getType()).getDimSize(0); ++i)
    registers.push_back(b.asBits(b.extract(pairs, i)));
  return registers;
}

/// m16n8k16 with bf16 operands, which nvgpu.mma.sync does not lower.
static Value multiplyBF16(KernelBuilder &b, Value lhs, Value rhs, Value sum) {
  SmallVector<Value> sums;
  for (int64_t row = 0; row < 2; ++row)
    for (int64_t column = 0; column < 2; ++column)
      sums.push_back(b.extract(sum, {row, column}));
  Type f32 = b.getF32Type();
  Type structure =
      LLVM::LLVMStructType::getLiteral(b.getContext(), {f32, f32, f32, f32});
  std::array<NVVM::MMATypes, 2> types{NVVM::MMATypes::bf16,
                                      NVVM::MMATypes::bf16};
  std::array<NVVM::MMALayout, 2> layouts{NVVM::MMALayout::row,
                                         NVVM::MMALayout::col};
  Value product = NVVM::MmaOp::create(
      b, structure, toRegisters(b, lhs), toRegisters(b, rhs), sums,
      ArrayRef<int64_t>{16, 8, 16}, /*b1Op=*/std::nullopt,
      /*intOverflow=*/std::nullopt, types, layouts);
  SmallVector<Value> elements;
  for (int64_t i = 0; i < 4; ++i)
    elements.push_back(
        LLVM::ExtractValueOp::create(b, product, ArrayRef<int64_t>{i}));
  return vector::FromElementsOp::create(b, sum.getType(), elements);
}

Value KernelBuilder::multiply(Value a, Value b, Value c) {
  if (cast<VectorType>(a.getType()).getElementType().isBF16())
    return multiplyBF16(*this, a, b, c);
  return nvgpu::MmaSyncOp::create(*this, a, b, c, ArrayRef<int64_t>{16, 8, 16});
}

Value KernelBuilder::extract(Value vector, ArrayRef<int64_t> at) {
  return vector::ExtractOp::create(*this, vector, at);
}

F32 KernelBuilder::extractF32(Value vector, ArrayRef<int64_t> at) {
  return {*this, extract(vector, at)};
}

Value KernelBuilder::roundPair(F32 low, F32 high, Type element) {
  Value pair = vector::FromElementsOp::create(
      *this, VectorType::get(2, getF32Type()), ValueRange{low, high});
  if (element.isF32())
    return pair;
  // arith.truncf to bf16 is integer arithmetic in kvq; the conversion of the
  // processor rounds in the same way, but for the payload of NaN.
  return LLVM::FPTruncOp::create(*this, VectorType::get(2, element), pair);
}

Value KernelBuilder::asPair(I32 bits, Type element) {
  return LLVM::BitcastOp::create(*this, VectorType::get(2, element),
                                 Value(bits));
}

I32 KernelBuilder::asBits(Value pair) {
  return {*this, LLVM::BitcastOp::create(*this, getI32Type(), pair)};
}

//===----------------------------------------------------------------------===//
// Errors
//===----------------------------------------------------------------------===//

void KernelBuilder::fail(KVQRuntimeErrorKind kind, I64 index, I64 value,
                         I64 limit) {
  assert(errorWord && "no kernel without an error word checks anything");
  when(errorWord.address() != 0, [&] {
    auto exchange = LLVM::AtomicCmpXchgOp::create(
        *this, Value(errorWord), Value(i64(0)), Value(i64(kind)),
        LLVM::AtomicOrdering::monotonic, LLVM::AtomicOrdering::monotonic);
    Value isFirst =
        LLVM::ExtractValueOp::create(*this, exchange, ArrayRef<int64_t>{1});
    when({*this, isFirst}, [&] {
      store(index, errorWord + 8);
      store(value, errorWord + 16);
      store(limit, errorWord + 24);
    });
  });
}

Pred KernelBuilder::checkRange(KVQRuntimeErrorKind kind, I64 index, I64 value,
                               I64 limit) {
  // An unsigned comparison finds negative values too.
  Pred good = value.isBelow(limit);
  when(good.negate(), [&] { fail(kind, index, value, limit); });
  return good;
}
