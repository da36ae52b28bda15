//===- Gather.cpp - The kernel of kvq.gather ------------------------------===//
//
// A thread copies 16 bytes of the data of a token and head, or clears them past
// the end of the sequence, and its share of the scales.
//
//===----------------------------------------------------------------------===//

#include "Kernels.h"
#include "RowPlaces.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace kvq;
using namespace kvq::kernel;

void kvq::kernel::emitKernel(GatherOp op, OpBuilder &host,
                             KernelTarget target) {
  CacheType type = op.getCache().getType();
  KernelLaunch kernel(host, target.module, target.chip, op,
                      "gather_" + getName(type));
  KernelBuilder &b = kernel.body();
  FloatType element = type.getFormat().getElementType();
  int64_t chunk = 16 * 8 / element.getWidth();
  CachePointers cache(kernel, host, "cache_", op.getCache(), Access::Read,
                      chunk);
  BlockTable blockTable(kernel, op.getBlockTable(), type.getPageSize());
  Array seqLens(kernel, "seq_lens", op.getSeqLens(), Access::Read);
  Array data(kernel, "data", op.getData(), Access::Write, chunk);
  std::optional<Array> scales;
  if (op.getScales())
    scales.emplace(kernel, "scales", op.getScales(), Access::Write);

  auto fixed = [&](int64_t size) {
    return Size{b.i32(size), kernel.constant(size)};
  };
  int64_t chunks = llvm::divideCeil(type.getHeadDim(), chunk);
  Size rows = data.size(1);
  Items items(kernel, {seqLens.size(0), rows, fixed(type.getNumHeads()),
                       fixed(chunks)});
  items.forEach([&](ArrayRef<I32> at) {
    I32 sequence = at[0], token = at[1], head = at[2], piece = at[3];
    Row to = data.row({sequence, token, head});
    unsigned scaleBits =
        scales ? type.getFormat().getScaleType().getWidth() : 0;
    // Writes what `load` returns for each scale of this thread.
    auto storeScales = [&](function_ref<I32(I32 s)> load) {
      if (!scales)
        return;
      b.loop(piece, b.i32(type.getScaleColumns()), chunks, [&](I32 s) {
        b.storeBits(load(s), scales->element({sequence, token, head, s}),
                    scaleBits);
      });
    };
    auto copy = [&] {
      blockTable.whenPage(sequence, token, cache.pages(), [&](I32 page) {
        I32 offset = token % type.getPageSize();
        storeElements(b,
                      loadElements(b, cache.row(page, offset, head),
                                   piece * chunk, chunk),
                      to, piece * chunk);
        storeScales([&](I32 s) {
          return b.loadBits(cache.scale(page, head, offset, s), scaleBits);
        });
      });
    };
    auto clear = [&] {
      SmallVector<I32> zeros(chunk * element.getWidth() / 32, b.i32(0));
      storeElements(b, zeros, to, piece * chunk);
      storeScales([&](I32) { return b.i32(0); });
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
