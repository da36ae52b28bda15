//===- Quantize.cpp - The kernel of kvq.quantize --------------------------===//
//
// A thread encodes one block, or 16 elements of a format without blocks.
//
//===----------------------------------------------------------------------===//

#include "Arrays.h"
#include "BlockCodec.h"
#include "Kernels.h"

using namespace mlir;
using namespace kvq;
using namespace kvq::kernel;

void kvq::kernel::emitKernel(QuantizeOp op, OpBuilder &host,
                             KernelTarget target) {
  KVFormatInterface format = op.getFormat();
  std::string name = "quantize_" + getName(format);
  if (op.getFourOverSix())
    name += "_four_over_six";
  KernelLaunch kernel(host, target.module, target.chip, op, name);
  KernelBuilder &b = kernel.body();
  int64_t chunk = getChunk(format);
  Array input(kernel, "input", op.getInput(), Access::Read, chunk);
  Array data(kernel, "data", op.getData(), Access::Write, chunk);
  std::optional<Array> scales;
  if (op.getScales())
    scales.emplace(kernel, "scales", op.getScales(), Access::Write);
  F32 globalScale;
  if (op.getGlobalScale())
    globalScale = kernel.scalar("global_scale", op.getGlobalScale());

  SmallVector<Size> sizes;
  for (int64_t dimension = 0; dimension + 1 < input.getRank(); ++dimension)
    sizes.push_back(input.size(dimension));
  sizes.push_back(getChunks(kernel, input.size(input.getRank() - 1), chunk));
  Items items(kernel, sizes);
  items.forEach([&](ArrayRef<I32> at) {
    ArrayRef<I32> row = at.drop_back();
    I32 first = at.back() * chunk;
    Row from = input.row(row);
    PackedValues values{from.element, loadElements(b, from, first, chunk)};
    StoredBlock block =
        quantizeBlock(b, format, op.getFourOverSix(), values, globalScale);
    storeElements(b, block.words, data.row(row), first);
    if (scales)
      b.storeBits(block.scale, scales->element(at),
                  format.getScaleType().getWidth());
  });
  items.launch();
}
