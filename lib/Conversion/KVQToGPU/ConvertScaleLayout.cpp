//===- ConvertScaleLayout.cpp - The kernel of kvq.convert_scale_layout ----===//
//
// A thread moves one scale.
//
//===----------------------------------------------------------------------===//

#include "Arrays.h"
#include "CachePointers.h"
#include "Kernels.h"

using namespace mlir;
using namespace kvq;
using namespace kvq::kernel;

void kvq::kernel::emitKernel(ConvertScaleLayoutOp op, OpBuilder &host,
                             KernelTarget target) {
  bool isNHD = op.getKvLayout() == KVLayout::NHD;
  std::string name = "convert_scale_layout_" +
                     stringifyScaleLayout(op.getFrom()).str() + "_to_" +
                     stringifyScaleLayout(op.getTo()).str() + "_" +
                     stringifyKVLayout(op.getKvLayout()).str();
  KernelLaunch kernel(host, target.module, target.chip, op, name);
  KernelBuilder &b = kernel.body();
  Array input(kernel, "input", op.getInput(), Access::Read);
  Array output(kernel, "output", op.getOutput(), Access::Write);
  Size columns = input.size(3);
  Items items(kernel, {input.size(0), input.size(isNHD ? 2 : 1),
                       input.size(isNHD ? 1 : 2), columns});
  unsigned bits = input.getType().getElementTypeBitWidth();
  items.forEach([&](ArrayRef<I32> at) {
    auto address = [&](const Array &array, ScaleLayout layout) {
      auto [row, column] =
          getScalePosition(b, layout, at[2], at[3], columns.value);
      if (isNHD)
        return array.element({at[0], row, at[1], column});
      return array.element({at[0], at[1], row, column});
    };
    b.storeBits(b.loadBits(address(input, op.getFrom()), bits),
                address(output, op.getTo()), bits);
  });
  items.launch();
}
