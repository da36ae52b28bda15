//===- Append.cpp - The kernel of kvq.append ------------------------------===//
//
// A thread copies 16 bytes of the data of a row and head, and its share of the
// scales.
//
//===----------------------------------------------------------------------===//

#include "Kernels.h"
#include "RowPlaces.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace kvq;
using namespace kvq::kernel;

void kvq::kernel::emitKernel(AppendOp op, OpBuilder &host,
                             KernelTarget target) {
  CacheType type = op.getCache().getType();
  KernelLaunch kernel(host, target.module, target.chip, op,
                      "append_" + getName(type));
  KernelBuilder &b = kernel.body();
  FloatType element = type.getFormat().getElementType();
  int64_t chunk = 16 * 8 / element.getWidth();
  Array data(kernel, "data", op.getData(), Access::Read, chunk);
  std::optional<Array> scales;
  if (op.getScales())
    scales.emplace(kernel, "scales", op.getScales(), Access::Read);
  CachePointers cache(kernel, host, "cache_", op.getCache(), Access::Write,
                      chunk);
  RowPlaces places(kernel, op, type);

  auto fixed = [&](int64_t size) {
    return Size{b.i32(size), kernel.constant(size)};
  };
  int64_t chunks = llvm::divideCeil(type.getHeadDim(), chunk);
  Items items(kernel, {data.size(0), fixed(type.getNumHeads()), fixed(chunks)});
  items.forEach([&](ArrayRef<I32> at) {
    I32 row = at[0], head = at[1], piece = at[2];
    places.whenPlaced(row, cache.pages(), [&](I32 page, I32 token) {
      storeElements(
          b, loadElements(b, data.row({row, head}), piece * chunk, chunk),
          cache.row(page, token, head), piece * chunk);
      if (!scales)
        return;
      unsigned bits = type.getFormat().getScaleType().getWidth();
      b.loop(piece, b.i32(type.getScaleColumns()), chunks, [&](I32 s) {
        b.storeBits(b.loadBits(scales->element({row, head, s}), bits),
                    cache.scale(page, head, token, s), bits);
      });
    });
  });
  items.launch();
}
