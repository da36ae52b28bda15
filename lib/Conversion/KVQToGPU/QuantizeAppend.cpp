//===- QuantizeAppend.cpp - The kernel of kvq.quantize_append -------------===//
//
// A thread encodes one block of a row and head, or 16 elements of a format
// without blocks. Where those are 8 bytes, every other thread stores them with
// the next one's. Where a kernel does both sides of a layer, a block of threads
// works on one of them.
//
//===----------------------------------------------------------------------===//

#include "BlockCodec.h"
#include "Kernels.h"
#include "RotatedRows.h"
#include "RowPlaces.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace kvq;
using namespace kvq::kernel;

namespace {

/// One append in a kernel.
class AppendSide {
public:
  AppendSide(KernelLaunch &kernel, OpBuilder &host, StringRef prefix,
             QuantizeAppendOp op);

  /// The name of a kernel that does this.
  static std::string getName(QuantizeAppendOp op);

  /// The threads that a row takes, and the number of rows.
  int64_t getThreadsOfRow() const { return type.getNumHeads() * pieces; }
  Size rows() const { return input.rows(); }

  /// What there is for each thread.
  Items getItems() const;
  void emit(const RowPlaces &places) const;

private:
  /// Whether lanes 2i and 2i + 1 of a warp have pieces of 8 bytes that lie side
  /// by side in a head.
  bool isPaired() const;
  /// Both return what is left for pairs to store together, when all lanes of
  /// the warp are there again: whether this lane stores, where, and its words.
  /// No values for pieces without a pair.
  Values emitPiece(const RowPlaces &places, ArrayRef<I32> item,
                   ValueRange nothing) const;
  Values store(I32 page, I32 token, ArrayRef<I32> item, F32 globalScale) const;
  void storePair(ValueRange rest) const;

  KernelLaunch &kernel;
  KernelBuilder &b;
  CacheType type;
  KVFormatInterface format;
  bool fourOverSix;
  int64_t chunk, pieces;
  RotatedRows input;
  CachePointers cache;
};

} // namespace

AppendSide::AppendSide(KernelLaunch &kernel, OpBuilder &host, StringRef prefix,
                       QuantizeAppendOp op)
    : kernel(kernel), b(kernel.body()), type(op.getCache().getType()),
      format(type.getFormat()), fourOverSix(op.getFourOverSix()),
      chunk(getChunk(format)),
      pieces(llvm::divideCeil(type.getHeadDim(), chunk)),
      input(kernel, prefix, op, chunk),
      cache(kernel, host, (prefix + "cache_").str(), op.getCache(),
            Access::Write, chunk) {}

std::string AppendSide::getName(QuantizeAppendOp op) {
  std::string name = kvq::kernel::getName(op.getCache().getType());
  if (op.getFourOverSix())
    name += "_four_over_six";
  if (op.getCos())
    name += "_rope";
  return name;
}

Items AppendSide::getItems() const {
  auto fixed = [&](int64_t size) {
    return Size{b.i32(size), kernel.constant(size)};
  };
  return Items(kernel, {rows(), fixed(type.getNumHeads()), fixed(pieces)});
}

bool AppendSide::isPaired() const {
  int64_t bits = chunk * format.getElementType().getWidth();
  return bits == 64 && type.getHeadDim() % (2 * chunk) == 0;
}

Values AppendSide::store(I32 page, I32 token, ArrayRef<I32> item,
                         F32 globalScale) const {
  I32 row = item[0], head = item[1], piece = item[2];
  StoredBlock block =
      quantizeBlock(b, format, fourOverSix,
                    input.load(row, head, piece * chunk), globalScale);
  if (block.scale)
    b.storeBits(block.scale, cache.scale(page, head, token, piece),
                format.getScaleType().getWidth());
  Row to = cache.row(page, token, head);
  if (!isPaired()) {
    storeElements(b, block.words, to, piece * chunk);
    return {};
  }
  // Where 16 bytes are not aligned, each lane stores its own.
  Values rest = b.choose(
      cache.areRowsAligned(2 * chunk), b.getI1Type(),
      [&] { return Values{(piece & 1) == 0}; },
      [&] {
        storeElements(b, block.words, to, piece * chunk);
        return Values{b.pred(false)};
      });
  rest.push_back(to.base + piece * 8);
  rest.append(block.words.begin(), block.words.end());
  return rest;
}

Values AppendSide::emitPiece(const RowPlaces &places, ArrayRef<I32> item,
                             ValueRange nothing) const {
  auto emit = [&](I32 page, I32 token) {
    F32 globalScale = cache.loadGlobalScale();
    if (!globalScale)
      return store(page, token, item, globalScale);
    // A scale that is zero, negative, infinite or NaN.
    I32 bits = globalScale.bits();
    Pred isGood = (bits > 0) & (bits < 0x7f800000);
    b.when(isGood.negate(), [&] {
      b.fail(KVQ_RUNTIME_GLOBAL_SCALE, b.i64(0), bits.extendUnsigned(),
             b.i64(0));
    });
    return chooseOr(b, isGood, nothing,
                    [&] { return store(page, token, item, globalScale); });
  };
  return places.choosePlaced(item[0], cache.pages(), nothing, emit);
}

void AppendSide::emit(const RowPlaces &places) const {
  Values nothing;
  if (isPaired()) {
    Value nowhere = LLVM::ZeroOp::create(b, Value(cache.data()).getType());
    nothing = {b.pred(false), nowhere, b.i32(0), b.i32(0)};
  }
  Values rest = getItems().choose(nothing, [&](ArrayRef<I32> item) {
    return emitPiece(places, item, nothing);
  });
  if (isPaired())
    storePair(rest);
}

void AppendSide::storePair(ValueRange rest) const {
  SmallVector<I32> words{{b, rest[2]}, {b, rest[3]}};
  for (int64_t i = 0; i < 2; ++i)
    words.push_back(b.shuffleXor(words[i], 1));
  b.when({b, rest[0]}, [&] { b.storeWords(words, {b, rest[1]}); });
}

/// A rotation needs more than the 48 registers that ptxas gives threads so that
/// five blocks fit on a multiprocessor.
static void setRegisters(KernelLaunch &kernel, QuantizeAppendOp op) {
  if (op.getCos())
    kernel.setBlocksPerProcessor(1);
}

void kvq::kernel::emitKernel(QuantizeAppendOp op, OpBuilder &host,
                             KernelTarget target) {
  KernelLaunch kernel(host, target.module, target.chip, op,
                      "quantize_append_" + AppendSide::getName(op));
  setRegisters(kernel, op);
  AppendSide side(kernel, host, "", op);
  RowPlaces places(kernel, op, op.getCache().getType());
  side.emit(places);
  side.getItems().launch();
}

void kvq::kernel::emitKernel(QuantizeAppendOp first, QuantizeAppendOp second,
                             OpBuilder &host, KernelTarget target) {
  if (first.getCache().getType().getSide() != Side::Key)
    std::swap(first, second);
  KernelLaunch kernel(host, target.module, target.chip, first,
                      "quantize_append_" + AppendSide::getName(first) +
                          "_and_" + AppendSide::getName(second));
  setRegisters(kernel, first);
  KernelBuilder &b = kernel.body();
  AppendSide keys(kernel, host, "key_", first);
  AppendSide values(kernel, host, "value_", second);
  RowPlaces places(kernel, first, first.getCache().getType());
  b.when(
      b.block(gpu::Dimension::y) == 0, [&] { keys.emit(places); },
      [&] { values.emit(places); });
  AffineExpr threads = keys.rows().formula * std::max(keys.getThreadsOfRow(),
                                                      values.getThreadsOfRow());
  kernel.launch(Items::threads, threads.ceilDiv(Items::threads),
                kernel.constant(2));
}
