//===- AttentionKernels.cpp - Which kernel computes attention -------------===//

#include "BlackwellDecode/DecodeKernel.h"
#include "Kernels.h"
#include "kvq/Dialect/KVQ/Transforms/Remark.h"

using namespace mlir;
using namespace kvq;
using namespace kvq::kernel;

/// Whether a product of 16-bit operands, as the portable kernel has them, is
/// what an MMA kind asks for.
static bool isPortable(MMAKindAttr kind) {
  return !kind || kind.getUnit() == MMAUnit::F16 ||
         kind.getUnit() == MMAUnit::BF16;
}

LogicalResult kvq::kernel::emitKernel(DequantAttentionOp op, OpBuilder &host,
                                      KernelTarget target) {
  MMAKindAttr qk = op.getQkAttr(), pv = op.getPvAttr();
  if (target.chip.hasTcgen05 && qk) {
    std::string reason;
    if (std::optional<DecodePlan> plan =
            DecodePlan::make(op, target.chip, reason)) {
      DecodeKernel(op, host, target, *plan).emit();
      return success();
    }
    // 16-bit operands feed the tensor cores in the portable kernel as well.
    bool isError =
        target.requireTensorCores && !(isPortable(qk) && isPortable(pv));
    if (failed(Report::get<RemarkId::BlackwellAttentionNotUsed>(reason).emit(
            op, isError)))
      return failure();
    return emitPortableAttention(op, host, target);
  }
  for (auto [name, kind] : {std::pair("qk", qk), std::pair("pv", pv)})
    if (!isPortable(kind) && failed(Report::get<RemarkId::PortableAttention>(
                                        name, Attribute(kind), target.chip.name)
                                        .emit(op, target.requireTensorCores)))
      return failure();
  return emitPortableAttention(op, host, target);
}
