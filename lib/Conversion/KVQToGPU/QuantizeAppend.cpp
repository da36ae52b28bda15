//===- QuantizeAppend.cpp - The kernel of kvq.quantize_append -------------===//
//
// A thread encodes one block of a row and head, or 16 elements of a format
// without blocks.
//
//===----------------------------------------------------------------------===//

#include "BlockCodec.h"
#include "Kernels.h"
#include "RotatedRows.h"
#include "RowPlaces.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace kvq;
using namespace kvq::kernel;

void kvq::kernel::emitKernel(QuantizeAppendOp op, OpBuilder &host,
                             KernelTarget target) {
  CacheType type = op.getCache().getType();
  KVFormatInterface format = type.getFormat();
  std::string name = "quantize_append_" + getName(type);
  if (op.getFourOverSix())
    name += "_four_over_six";
  if (op.getCos())
    name += "_rope";
  KernelLaunch kernel(host, target.module, target.chip, op, name);
  KernelBuilder &b = kernel.body();
  int64_t chunk = getChunk(format);
  RotatedRows input(kernel, "", op, chunk);
  CachePointers cache(kernel, host, "cache_", op.getCache(), Access::Write,
                      chunk);
  RowPlaces places(kernel, op, type);

  auto fixed = [&](int64_t size) {
    return Size{b.i32(size), kernel.constant(size)};
  };
  Items items(kernel, {input.rows(), fixed(type.getNumHeads()),
                       fixed(llvm::divideCeil(type.getHeadDim(), chunk))});
  items.forEach([&](ArrayRef<I32> at) {
    I32 row = at[0], head = at[1], piece = at[2];
    places.whenPlaced(row, cache.pages(), [&](I32 page, I32 token) {
      PackedValues values = input.load(row, head, piece * chunk);
      auto store = [&](F32 globalScale) {
        StoredBlock block =
            quantizeBlock(b, format, op.getFourOverSix(), values, globalScale);
        storeElements(b, block.words, cache.row(page, token, head),
                      piece * chunk);
        if (block.scale)
          b.storeBits(block.scale, cache.scale(page, head, token, piece),
                      format.getScaleType().getWidth());
      };
      F32 globalScale = cache.loadGlobalScale();
      if (!globalScale)
        return store(globalScale);
      // A scale that is zero, negative, infinite or NaN.
      I32 bits = globalScale.bits();
      Pred isGood = (bits > 0) & (bits < 0x7f800000);
      b.when(
          isGood, [&] { store(globalScale); },
          [&] {
            b.fail(KVQ_RUNTIME_GLOBAL_SCALE, b.i64(0), bits.extendUnsigned(),
                   b.i64(0));
          });
    });
  });
  items.launch();
}
