//===- Synchronization.cpp - Barriers between the roles of a kernel -------===//

#include "Synchronization.h"
#include "kvq/Dialect/TCGen05/IR/TCGen05Ops.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace kvq;
using namespace kvq::kernel;

Ptr BarrierRing::at(I32 item) const { return base + buffer(item) * 8; }

void BarrierRing::initialize(int64_t arrivals) const {
  for (int64_t i = 0; i < count; ++i)
    NVVM::MBarrierInitOp::create(*b, Value(base + int64_t(8 * i)),
                                 Value(b->i32(arrivals)), Value());
}

void BarrierRing::waitParity(I32 item, I32 parity) const {
  // The time after which the hardware looks again, in ns.
  constexpr int64_t ticks = 1000000;
  NVVM::MBarrierTryWaitParityOp::create(*b, Value(at(item)), Value(parity),
                                        Value(b->i32(ticks)));
}

void BarrierRing::wait(I32 item) const {
  waitParity(item, (item >> b->i32(llvm::Log2_64(count))) & 1);
}

void BarrierRing::waitBefore(I32 item) const {
  waitParity(item, ((item >> b->i32(llvm::Log2_64(count))) & 1) ^ 1);
}

void BarrierRing::arrive(I32 item) const {
  NVVM::MBarrierArriveOp::create(*b, b->getI64Type(), Value(at(item)));
}

void BarrierRing::commit(I32 item) const {
  tcgen05::CommitOp::create(*b, Value(at(item)), ValueRange(), Value());
}

void kvq::kernel::fenceForAsyncProxy(KernelBuilder &b) {
  NVVM::FenceProxyOp::create(
      b,
      NVVM::ProxyKindAttr::get(b.getContext(), NVVM::ProxyKind::async_shared),
      NVVM::SharedSpaceAttr::get(b.getContext(),
                                 NVVM::SharedSpace::shared_cta));
}

void kvq::kernel::syncThreads(KernelBuilder &b, int64_t number,
                              int64_t threads) {
  NVVM::BarrierOp::create(b, TypeRange(), Value(b.i32(number)),
                          Value(b.i32(threads)), NVVM::BarrierReductionAttr(),
                          Value());
}

Pred kvq::kernel::anyOfThreads(KernelBuilder &b, int64_t number,
                               int64_t threads, Pred condition) {
  // nvvm.barrier reduces over all threads of the block only.
  Value flag = arith::ExtUIOp::create(b, b.getI32Type(), Value(condition));
  std::string text =
      llvm::formatv("{{ .reg .pred p, q; setp.ne.b32 p, $1, 0; "
                    "bar.red.or.pred q, {0}, {1}, p; selp.b32 $0, 1, 0, q; }",
                    number, threads);
  auto any = LLVM::InlineAsmOp::create(
      b, b.getI32Type(), flag, text, "=r,r,~{memory}",
      /*has_side_effects=*/true, /*is_align_stack=*/false,
      LLVM::TailCallKind::None, LLVM::AsmDialectAttr(), ArrayAttr());
  return I32(b, any.getResult(0)) != 0;
}
