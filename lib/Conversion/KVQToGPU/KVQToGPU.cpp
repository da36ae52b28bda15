//===- KVQToGPU.cpp - The pass convert-kvq-to-gpu -------------------------===//

#include "kvq/Conversion/KVQToGPU/KVQToGPU.h"
#include "Kernels.h"
#include "kvq/Dialect/KVQ/Analysis/AppendPairs.h"
#include "kvq/Dialect/TCGen05/IR/TCGen05Dialect.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/NVGPU/IR/NVGPUDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/ADT/TypeSwitch.h"

namespace kvq {
#define GEN_PASS_DEF_CONVERTKVQTOGPU
#include "kvq/Conversion/Passes.h.inc"
} // namespace kvq

using namespace mlir;
using namespace kvq;
using namespace kvq::kernel;

/// The name of the module that holds the kernels.
static constexpr llvm::StringLiteral kModuleName = "kvq_kernels";

/// Text with what a symbol cannot have replaced by '_'.
static std::string toIdentifier(StringRef text) {
  std::string name;
  for (char character : text)
    if (llvm::isAlnum(character))
      name += character;
    else if (!name.empty() && name.back() != '_')
      name += '_';
  while (!name.empty() && name.back() == '_')
    name.pop_back();
  return name;
}

std::string kvq::kernel::getName(KVFormatInterface format) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << Attribute(format);
  StringRef rest = text;
  rest.consume_front("#kvq.format");
  return toIdentifier(rest);
}

std::string kvq::kernel::getName(CacheType type) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << getName(type.getFormat()) << '_' << type.getPageSize() << 'x'
     << type.getNumHeads() << 'x' << type.getHeadDim() << '_'
     << stringifyKVLayout(type.getKvLayout());
  if (type.getScaleLayout())
    os << '_' << stringifyScaleLayout(*type.getScaleLayout());
  return text;
}

/// Checks that `op` is in the form that the kernels take.
static LogicalResult checkForm(Operation *op) {
  for (auto [number, operand] : llvm::enumerate(op->getOperands())) {
    if (isa<TensorType>(operand.getType()))
      return op->emitOpError()
             << "operand #" << number << " is of type " << operand.getType()
             << ", convert-kvq-to-gpu accepts memrefs: bufferize first";
  }
  std::string undecided = describeUndecided(op);
  return undecided.empty() ? success() : op->emitOpError() << undecided;
}

/// Frees the error words of run-time checks where functions return. Only the
/// asynchronous form of gpu.dealloc is lowered by gpu-to-llvm.
static void freeErrorWords(ModuleOp root) {
  root.walk([](gpu::AllocOp alloc) {
    auto function = alloc->getParentOfType<func::FuncOp>();
    if (!function || !alloc->hasAttr(KernelLaunch::errorWordAttrName))
      return;
    function.walk([&](func::ReturnOp ret) {
      OpBuilder b(ret);
      Location loc = ret.getLoc();
      Type token = gpu::AsyncTokenType::get(b.getContext());
      Value begin =
          gpu::WaitOp::create(b, loc, token, ValueRange()).getAsyncToken();
      Value end =
          gpu::DeallocOp::create(b, loc, token, begin, alloc.getMemref())
              .getAsyncToken();
      gpu::WaitOp::create(b, loc, Type(), end);
    });
  });
}

namespace {

struct ConvertKVQToGPU
    : public kvq::impl::ConvertKVQToGPUBase<ConvertKVQToGPU> {
  using ConvertKVQToGPUBase::ConvertKVQToGPUBase;

  void runOnOperation() override;
};

} // namespace

void ConvertKVQToGPU::runOnOperation() {
  ModuleOp root = getOperation();
  llvm::Expected<const Chip &> chipOrError = getChip(chip);
  if (!chipOrError) {
    root.emitError() << "convert-kvq-to-gpu: "
                     << llvm::toString(chipOrError.takeError());
    return signalPassFailure();
  }
  llvm::Expected<std::string> featuresOrError =
      getChipFeatures(*chipOrError, features);
  if (!featuresOrError) {
    root.emitError() << "convert-kvq-to-gpu: "
                     << llvm::toString(featuresOrError.takeError());
    return signalPassFailure();
  }

  SmallVector<Operation *> operations;
  WalkResult result = root.walk([&](Operation *op) {
    if (!isa_and_nonnull<KVQDialect>(op->getDialect()) ||
        isa<MakeCacheOp, CacheDataOp, CacheScalesOp, CacheGlobalScaleOp>(op))
      return WalkResult::advance();
    operations.push_back(op);
    return WalkResult(checkForm(op));
  });
  if (result.wasInterrupted())
    return signalPassFailure();
  if (operations.empty())
    return;

  auto module = root.lookupSymbol<gpu::GPUModuleOp>(kModuleName);
  if (!module) {
    if (Operation *other = root.lookupSymbol(kModuleName)) {
      other->emitOpError() << "has the name of the module of kernels, @"
                           << kModuleName << ": rename it";
      return signalPassFailure();
    }
    OpBuilder b = OpBuilder::atBlockBegin(root.getBody());
    auto nvvm = NVVM::NVVMTargetAttr::get(root.getContext(), /*optLevel=*/3,
                                          "nvptx64-nvidia-cuda",
                                          chipOrError->name, *featuresOrError);
    module = gpu::GPUModuleOp::create(b, root.getLoc(), kModuleName,
                                      ArrayRef<Attribute>(nvvm));
    root->setAttr(gpu::GPUDialect::getContainerModuleAttrName(),
                  b.getUnitAttr());
  }
  KernelTarget target{module, *chipOrError, requireTensorCores};
  llvm::SmallPtrSet<Operation *, 8> done;
  for (Operation *op : operations) {
    if (done.contains(op))
      continue;
    if (auto append = dyn_cast<QuantizeAppendOp>(op))
      if (QuantizeAppendOp partner = findAppendPartner(append)) {
        // The operands of both are defined there.
        OpBuilder host(partner);
        emitKernel(append, partner, host, target);
        done.insert(partner);
        partner->erase();
        op->erase();
        continue;
      }
    OpBuilder host(op);
    LogicalResult status = success();
    bool isKnown =
        llvm::TypeSwitch<Operation *, bool>(op)
            .Case<AppendOp, ConvertScaleLayoutOp, CopyPagesOp, DequantizeOp,
                  GatherOp, MergeStatesOp, QuantizeAppendOp, QuantizeOp>(
                [&](auto op) {
                  emitKernel(op, host, target);
                  return true;
                })
            .Case([&](DequantAttentionOp op) {
              status = emitKernel(op, host, target);
              return true;
            })
            .Default([](Operation *) { return false; });
    if (!isKnown) {
      op->emitOpError("has no GPU kernel; convert-kvq-to-gpu accepts the "
                      "operations on caches and plain arrays, and "
                      "kvq.dequant_attention");
      return signalPassFailure();
    }
    if (failed(status))
      return signalPassFailure();
    op->erase();
  }
  freeErrorWords(root);
}
