//===- Gather.cpp - The kernel of kvq.gather ------------------------------===//
//
// Neighbouring threads copy neighbouring pieces of 16 bytes of the data of a
// token and head, or clear them past the end of the sequence, and each a share
// of the scales.
//
//===----------------------------------------------------------------------===//

#include "Kernels.h"
#include "RowPlaces.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace kvq;
using namespace kvq::kernel;

/// How many threads share a row of `chunks` pieces: each has up to four, and
/// the pieces of two are a sector of memory.
static int64_t getThreadsOfRow(int64_t chunks) {
  for (int64_t threads = 2; threads < chunks; ++threads)
    if (chunks % threads == 0 && chunks / threads <= 4)
      return threads;
  return chunks;
}

void kvq::kernel::emitKernel(GatherOp op, OpBuilder &host,
                             KernelTarget target) {
  CacheType type = op.getCache().getType();
  KernelLaunch kernel(host, target.module, target.chip, op,
                      "gather_" + getName(type));
  KernelBuilder &b = kernel.body();
  FloatType element = type.getFormat().getElementType();
  int64_t chunk = 16 * 8 / element.getWidth();
  int64_t chunks = llvm::divideCeil(type.getHeadDim(), chunk);
  int64_t threads = getThreadsOfRow(chunks);
  int64_t columns = type.getScaleColumns();
  unsigned scaleBits = columns ? type.getFormat().getScaleType().getWidth() : 0;
  // Scales that lie side by side are copied as words.
  int64_t scalesOfThread = llvm::divideCeil(columns, threads);
  bool hasScaleWords = columns > 0 && columns % threads == 0 &&
                       scalesOfThread * scaleBits % 32 == 0 &&
                       type.getScaleLayout() == ScaleLayout::Linear;

  CachePointers cache(kernel, host, "cache_", op.getCache(), Access::Read,
                      chunk);
  BlockTable blockTable(kernel, op.getBlockTable(), type.getPageSize());
  Array seqLens(kernel, "seq_lens", op.getSeqLens(), Access::Read);
  Array data(kernel, "data", op.getData(), Access::Write, chunk);
  std::optional<Array> scales;
  if (op.getScales())
    scales.emplace(kernel, "scales", op.getScales(), Access::Write,
                   hasScaleWords ? scalesOfThread : 1);

  auto fixed = [&](int64_t size) {
    return Size{b.i32(size), kernel.constant(size)};
  };
  Size rows = data.size(1);
  Items items(kernel, {seqLens.size(0), rows, fixed(type.getNumHeads()),
                       fixed(threads)});
  items.forEach([&](ArrayRef<I32> at) {
    ArrayRef<I32> row = at.drop_back();
    I32 sequence = at[0], token = at[1], head = at[2], thread = at[3];
    auto copy = [&] {
      blockTable.whenPage(sequence, token, cache.pages(), [&](I32 page) {
        I32 offset = token % type.getPageSize();
        Row from = cache.row(page, offset, head), to = data.row(row);
        for (int64_t i = 0; i < chunks; i += threads) {
          I32 first = (thread + i) * chunk;
          storeElements(b, loadElements(b, from, first, chunk), to, first);
        }
        if (!scales)
          return;
        I32 first = thread * scalesOfThread;
        if (hasScaleWords) {
          Row fromScales = cache.scaleRow(page, offset, head, scalesOfThread);
          return storeElements(
              b, loadElements(b, fromScales, first, scalesOfThread),
              scales->row(row), first);
        }
        b.loop(first, (first + scalesOfThread).min(columns), 1, [&](I32 s) {
          b.storeBits(b.loadBits(cache.scale(page, head, offset, s), scaleBits),
                      scales->element({sequence, token, head, s}), scaleBits);
        });
      });
    };
    auto clear = [&] {
      Row to = data.row(row);
      SmallVector<I32> zeros(chunk * element.getWidth() / 32, b.i32(0));
      for (int64_t i = 0; i < chunks; i += threads)
        storeElements(b, zeros, to, (thread + i) * chunk);
      if (!scales)
        return;
      I32 first = thread * scalesOfThread;
      b.loop(first, (first + scalesOfThread).min(columns), 1, [&](I32 s) {
        b.storeBits(b.i32(0), scales->element({sequence, token, head, s}),
                    scaleBits);
      });
    };

    I32 length = b.loadI32(seqLens.element(sequence));
    Pred good = b.checkRange(KVQ_RUNTIME_SEQ_LEN, sequence.extend(),
                             length.extend(), blockTable.capacity() + 1) &
                b.checkRange(KVQ_RUNTIME_GATHER_LENGTH, sequence.extend(),
                             length.extend(), rows.value.extend() + 1);
    b.when(good, [&] { b.when(token < length, copy, clear); });
  });
  items.launch();
}
