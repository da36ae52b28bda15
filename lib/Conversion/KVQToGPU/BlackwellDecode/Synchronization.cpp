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

/// Emits an instruction without results that reads or writes memory. Operands
/// are $0, $1, ...
static void emitAssembly(KernelBuilder &b, std::string text,
                         ValueRange operands) {
  std::string constraints;
  for (size_t i = 0; i < operands.size(); ++i)
    constraints += "r,";
  LLVM::InlineAsmOp::create(
      b, TypeRange(), operands, text, constraints + "~{memory}",
      /*has_side_effects=*/true, /*is_align_stack=*/false,
      LLVM::TailCallKind::None, LLVM::AsmDialectAttr(), ArrayAttr());
}

void BarrierRing::initialize(int64_t arrivals) const {
  for (int64_t i = 0; i < count; ++i)
    NVVM::MBarrierInitOp::create(*b, Value(base + (offset + 8 * i)),
                                 Value(b->i32(arrivals)), Value());
}

I32 BarrierRing::address(I32 item) const {
  return base.address().truncate() + buffer(item) * 8;
}

I32 BarrierRing::parity(I32 item) const {
  return (item >> b->i32(llvm::Log2_64(count))) & 1;
}

// The operations of nvvm have no constant offset of the address, so that each
// barrier would take an addition.

/// The modifiers of an arrival or a wait; without any it releases or acquires.
static StringRef order(Handed handed) {
  return handed == Handed::TensorMemory ? ".relaxed.cta" : "";
}

void BarrierRing::waitParity(I32 item, I32 parity) const {
  emitAssembly(*b,
               llvm::formatv("{{ .reg .pred p; WAIT: "
                             "mbarrier.try_wait.parity{0}.shared.b64 "
                             "p, [$0+{1}], $1; @!p bra WAIT; }",
                             order(handed), offset),
               {address(item), parity});
}

void BarrierRing::wait(I32 item) const { waitParity(item, parity(item)); }

void BarrierRing::waitBefore(I32 item) const {
  waitParity(item, parity(item) ^ 1);
}

void BarrierRing::arrive(I32 item) const {
  emitAssembly(*b,
               llvm::formatv("mbarrier.arrive{0}.shared.b64 _, [$0+{1}];",
                             order(handed), offset),
               {address(item)});
}

void BarrierRing::commit(I32 item) const {
  tcgen05::CommitOp::create(*b, Value(base + offset + buffer(item) * 8),
                            ValueRange(), Value());
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
