//===- Dequantize.cpp - The kernel of kvq.dequantize ----------------------===//
//
// A thread decodes one block, or 16 elements of a format without blocks.
//
//===----------------------------------------------------------------------===//

#include "Arrays.h"
#include "BlockCodec.h"
#include "Kernels.h"

using namespace mlir;
using namespace kvq;
using namespace kvq::kernel;

void kvq::kernel::emitKernel(DequantizeOp op, OpBuilder &host,
                             KernelTarget target) {
  KVFormatInterface format = op.getFormat();
  KernelLaunch kernel(host, target.module, target.chip, op,
                      "dequantize_" + getName(format));
  KernelBuilder &b = kernel.body();
  int64_t chunk = getChunk(format);
  Array data(kernel, "data", op.getData(), Access::Read, chunk);
  Array output(kernel, "output", op.getOutput(), Access::Write, chunk);
  std::optional<Array> scales;
  if (op.getScales())
    scales.emplace(kernel, "scales", op.getScales(), Access::Read);
  F32 globalScale;
  if (op.getGlobalScale())
    globalScale = kernel.scalar("global_scale", op.getGlobalScale());

  SmallVector<Size> sizes;
  for (int64_t dimension = 0; dimension + 1 < output.getRank(); ++dimension)
    sizes.push_back(output.size(dimension));
  sizes.push_back(getChunks(kernel, output.size(output.getRank() - 1), chunk));
  Items items(kernel, sizes);
  items.forEach([&](ArrayRef<I32> at) {
    ArrayRef<I32> row = at.drop_back();
    I32 first = at.back() * chunk;
    StoredBlock block;
    block.words = loadElements(b, data.row(row), first, chunk);
    if (scales)
      block.scale =
          b.loadBits(scales->element(at), format.getScaleType().getWidth());
    SmallVector<F32> values = dequantizeBlock(b, format, block, globalScale);
    Row to = output.row(row);
    storeElements(b, encodeElements(b, to.element, values), to, first);
  });
  items.launch();
}
