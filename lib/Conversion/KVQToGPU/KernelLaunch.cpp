//===- KernelLaunch.cpp - One kernel and the code that launches it --------===//

#include "KernelLaunch.h"
#include "mlir/Dialect/Affine/Utils.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/IR/OperationSupport.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace kvq;
using namespace kvq::kernel;

KernelLaunch::KernelLaunch(OpBuilder &host, gpu::GPUModuleOp module,
                           const Chip &chip, Operation *op, StringRef name)
    : host(host), module(module), op(op) {
  OpBuilder b = OpBuilder::atBlockEnd(module.getBody());
  Location loc = op->getLoc();
  function = gpu::GPUFuncOp::create(b, loc, name, b.getFunctionType({}, {}));
  function->setAttr(gpu::GPUDialect::getKernelFuncAttrName(), b.getUnitAttr());
  builder = std::make_unique<KernelBuilder>(loc, function, chip);
  builder->setErrorWord(declareErrorWord());
}

KernelLaunch::~KernelLaunch() = default;

//===----------------------------------------------------------------------===//
// Parameters
//===----------------------------------------------------------------------===//

Value KernelLaunch::add(KernelParameter parameter, Type type, Value hostValue) {
  Parameter added;
  static_cast<KernelParameter &>(added) = std::move(parameter);
  added.argument = function.getBody().front().addArgument(type, op->getLoc());
  added.host = hostValue;
  parameters.push_back(added);
  return added.argument;
}

Ptr KernelLaunch::toGlobal(Value argument) {
  KernelBuilder &b = *builder;
  // At the top, so that every use is dominated.
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(&function.getBody().front());
  Type global = LLVM::LLVMPointerType::get(b.getContext(), 1);
  return {b, LLVM::AddrSpaceCastOp::create(b, global, argument)};
}

Ptr KernelLaunch::declareErrorWord() {
  Location loc = op->getLoc();
  Type pointerType = LLVM::LLVMPointerType::get(host.getContext());
  Value address;
  op->getParentOfType<FunctionOpInterface>()->walk([&](gpu::AllocOp alloc) {
    if (alloc->hasAttr(errorWordAttrName))
      address = alloc.getMemref();
  });
  Value pointer;
  if (address) {
    Value index =
        memref::ExtractAlignedPointerAsIndexOp::create(host, loc, address);
    Value integer =
        arith::IndexCastOp::create(host, loc, host.getI64Type(), index);
    pointer = LLVM::IntToPtrOp::create(host, loc, pointerType, integer);
  } else {
    pointer = LLVM::ZeroOp::create(host, loc, pointerType);
  }
  KernelParameter parameter;
  parameter.name = "error_word";
  parameter.kind = KernelParameterKind::ErrorWord;
  parameter.alignment = 8;
  parameter.isRead = parameter.isWritten = true;
  return toGlobal(add(std::move(parameter), pointerType, pointer));
}

KernelLaunch::MemrefInfo &KernelLaunch::find(StringRef name) {
  for (MemrefInfo &info : memrefs)
    if (info.name == name)
      return info;
  llvm_unreachable("a pointer that was not declared");
}

Value KernelLaunch::getOperand(StringRef name) const {
  return const_cast<KernelLaunch *>(this)->find(name).memref;
}

memref::ExtractStridedMetadataOp KernelLaunch::getMetadata(MemrefInfo &info) {
  if (!info.metadata)
    info.metadata = memref::ExtractStridedMetadataOp::create(host, op->getLoc(),
                                                             info.memref);
  return info.metadata;
}

/// Bits of an element of a memref.
static int64_t getElementBits(Value memref) {
  return cast<MemRefType>(memref.getType()).getElementTypeBitWidth();
}

/// Emits a number of elements as a number of bytes, both i64.
static Value toBytes(OpBuilder &b, Location loc, Value elements, int64_t bits) {
  Value factor =
      arith::ConstantIntOp::create(b, loc, bits < 8 ? 8 / bits : bits / 8, 64);
  if (bits < 8)
    return b.createOrFold<arith::DivSIOp>(loc, elements, factor);
  return b.createOrFold<arith::MulIOp>(loc, elements, factor);
}

Value KernelLaunch::getHostPointer(MemrefInfo &info) {
  Location loc = op->getLoc();
  Type i64 = host.getI64Type();
  Value index =
      memref::ExtractAlignedPointerAsIndexOp::create(host, loc, info.memref);
  Value address = arith::IndexCastOp::create(host, loc, i64, index);
  auto [strides, offset] =
      cast<MemRefType>(info.memref.getType()).getStridesAndOffset();
  if (offset != 0) {
    Value elements;
    if (ShapedType::isDynamic(offset))
      elements = arith::IndexCastOp::create(host, loc, i64,
                                            getMetadata(info).getOffset());
    else
      elements = arith::ConstantIntOp::create(host, loc, offset, 64);
    address = arith::AddIOp::create(
        host, loc, address,
        toBytes(host, loc, elements, getElementBits(info.memref)));
  }
  return LLVM::IntToPtrOp::create(
      host, loc, LLVM::LLVMPointerType::get(host.getContext()), address);
}

Ptr KernelLaunch::pointer(StringRef name, Value memref, Access access) {
  assert(
      llvm::none_of(memrefs, [&](auto &info) { return info.name == name; }) &&
      "a pointer is declared once");
  memrefs.push_back({name.str(), memref, {}});
  KernelParameter parameter;
  parameter.name = name.str();
  parameter.kind = KernelParameterKind::Pointer;
  parameter.alignment = std::max<int64_t>(1, getElementBits(memref) / 8);
  parameter.isRead = unsigned(access) & unsigned(Access::Read);
  parameter.isWritten = unsigned(access) & unsigned(Access::Write);
  parameter.type = cast<MemRefType>(memref.getType());
  return toGlobal(add(std::move(parameter),
                      LLVM::LLVMPointerType::get(host.getContext()),
                      getHostPointer(memrefs.back())));
}

I64 KernelLaunch::stride(StringRef name, int64_t dimension) {
  MemrefInfo &info = find(name);
  auto type = cast<MemRefType>(info.memref.getType());
  int64_t bits = getElementBits(info.memref);
  int64_t known = type.getStridesAndOffset().first[dimension];
  if (!ShapedType::isDynamic(known))
    return builder->i64(known * bits / 8);
  std::string parameterName = (name + "_stride" + Twine(dimension)).str();
  for (Parameter &parameter : parameters)
    if (parameter.name == parameterName)
      return {*builder, parameter.argument};
  Location loc = op->getLoc();
  Value elements = arith::IndexCastOp::create(
      host, loc, host.getI64Type(), getMetadata(info).getStrides()[dimension]);
  KernelParameter parameter;
  parameter.name = parameterName;
  parameter.kind = KernelParameterKind::Stride;
  parameter.of = name.str();
  parameter.dimension = dimension;
  return {*builder, add(std::move(parameter), host.getI64Type(),
                        toBytes(host, loc, elements, bits))};
}

Size KernelLaunch::size(StringRef name, int64_t dimension) {
  MemrefInfo &info = find(name);
  auto type = cast<MemRefType>(info.memref.getType());
  if (!type.isDynamicDim(dimension)) {
    int64_t known = type.getDimSize(dimension);
    return {builder->i32(known), constant(known)};
  }
  std::string parameterName = (name + "_size" + Twine(dimension)).str();
  unsigned symbol = 0;
  for (Parameter &parameter : parameters) {
    if (parameter.name == parameterName)
      return {{*builder, parameter.argument},
              getAffineSymbolExpr(symbol, host.getContext())};
    symbol += parameter.kind == KernelParameterKind::Size;
  }
  Location loc = op->getLoc();
  Value index = memref::DimOp::create(host, loc, info.memref, dimension);
  KernelParameter parameter;
  parameter.name = parameterName;
  parameter.kind = KernelParameterKind::Size;
  parameter.of = name.str();
  parameter.dimension = dimension;
  Value argument =
      add(std::move(parameter), host.getI32Type(),
          arith::IndexCastOp::create(host, loc, host.getI32Type(), index));
  ++numSizes;
  return {{*builder, argument}, getAffineSymbolExpr(symbol, host.getContext())};
}

F32 KernelLaunch::scalar(StringRef name, Value value) {
  KernelParameter parameter;
  parameter.name = name.str();
  parameter.kind = KernelParameterKind::Scalar;
  return {*builder, add(std::move(parameter), host.getF32Type(), value)};
}

Ptr KernelLaunch::workspace(AffineExpr bytes, bool isZeroed) {
  assert(!workspaceBytes && "a kernel has one workspace");
  workspaceBytes = bytes;
  isWorkspaceZeroed = isZeroed;
  KernelParameter parameter;
  parameter.name = "workspace";
  parameter.kind = KernelParameterKind::Workspace;
  parameter.alignment = 16;
  parameter.isRead = parameter.isWritten = true;
  // The host value is allocated by the launch, when all sizes are known.
  return toGlobal(add(std::move(parameter),
                      LLVM::LLVMPointerType::get(host.getContext()), {}));
}

AffineExpr KernelLaunch::constant(int64_t value) {
  return getAffineConstantExpr(value, host.getContext());
}

//===----------------------------------------------------------------------===//
// The end
//===----------------------------------------------------------------------===//

SmallVector<Value> KernelLaunch::getHostSizes() {
  SmallVector<Value> sizes;
  for (Parameter &parameter : parameters)
    if (parameter.kind == KernelParameterKind::Size)
      sizes.push_back(arith::IndexCastOp::create(
          host, op->getLoc(), host.getIndexType(), parameter.host));
  return sizes;
}

AffineMap KernelLaunch::getMap(ArrayRef<AffineExpr> formulas) {
  return AffineMap::get(/*dimCount=*/0, numSizes, formulas, host.getContext());
}

/// Whether two kernels differ in nothing but their names.
static bool areEqual(gpu::GPUFuncOp a, gpu::GPUFuncOp b) {
  auto signature = [](gpu::GPUFuncOp function) {
    NamedAttrList attributes(function->getAttrs());
    attributes.erase(SymbolTable::getSymbolAttrName());
    return attributes.getDictionary(function.getContext());
  };
  return signature(a) == signature(b) &&
         OperationEquivalence::isRegionEquivalentTo(
             &a.getBody(), &b.getBody(), OperationEquivalence::IgnoreLocations);
}

void KernelLaunch::setBlocksPerProcessor(int64_t blocks) {
  function->setAttr(NVVM::NVVMDialect::getMinctasmAttrName(),
                    host.getI32IntegerAttr(blocks));
}

gpu::GPUFuncOp KernelLaunch::finishFunction(const KernelSignature &signature) {
  gpu::ReturnOp::create(*builder);
  // The arguments in the order of the parameters.
  Block &entry = function.getBody().front();
  unsigned count = parameters.size();
  SmallVector<Type> types;
  for (Parameter &parameter : parameters) {
    Value argument = entry.addArgument(parameter.argument.getType(),
                                       parameter.argument.getLoc());
    parameter.argument.replaceAllUsesWith(argument);
    types.push_back(argument.getType());
  }
  entry.eraseArguments(0, count);
  function.setFunctionType(host.getFunctionType(types, {}));
  function->setAttr(kKernelSignatureAttrName,
                    signature.toAttribute(host.getContext()));
  function->setAttr(gpu::GPUFuncOp::getKnownBlockSizeAttrName(OperationName(
                        gpu::GPUFuncOp::getOperationName(), host.getContext())),
                    host.getDenseI32ArrayAttr(signature.block));

  std::string name = function.getName().str();
  unsigned number = 0;
  while (auto other =
             module.lookupSymbol<gpu::GPUFuncOp>(function.getNameAttr())) {
    if (other != function && areEqual(other, function)) {
      function.erase();
      return other;
    }
    // The first operation of a name is found before the new one.
    if (other == function)
      break;
    function.setName(name + "_" + std::to_string(++number));
  }
  return function;
}

void KernelLaunch::launch(int64_t threads, AffineExpr x, AffineExpr y,
                          AffineExpr z) {
  Location loc = op->getLoc();
  // In the order of the kinds.
  SmallVector<Parameter> ordered;
  for (unsigned kind = 0; kind <= unsigned(KernelParameterKind::Scalar); ++kind)
    for (const Parameter &parameter : parameters)
      if (unsigned(parameter.kind) == kind)
        ordered.push_back(parameter);
  parameters = std::move(ordered);

  KernelSignature signature;
  signature.operation = op->getName().getStringRef().str();
  llvm::append_range(signature.parameters, parameters);
  signature.caches = caches;
  AffineExpr one = constant(1);
  signature.grid = getMap({x, y ? y : one, z ? z : one});
  signature.block = {static_cast<int32_t>(threads), 1, 1};
  signature.sharedBytes = builder->getSharedBytes();
  if (workspaceBytes)
    signature.workspaceBytes = getMap(workspaceBytes);
  signature.isWorkspaceZeroed = isWorkspaceZeroed;
  gpu::GPUFuncOp kernel = finishFunction(signature);

  SmallVector<Value> sizes = getHostSizes();
  Value first = arith::ConstantIndexOp::create(host, loc, 1);
  auto evaluate = [&](AffineExpr formula) -> Value {
    Value value = affine::expandAffineExpr(host, loc, formula, {}, sizes);
    return host.createOrFold<arith::MaxSIOp>(loc, value, first);
  };
  gpu::KernelDim3 grid{evaluate(signature.grid.getResult(0)),
                       evaluate(signature.grid.getResult(1)),
                       evaluate(signature.grid.getResult(2))};
  gpu::KernelDim3 block{arith::ConstantIndexOp::create(host, loc, threads),
                        first, first};
  Value shared;
  if (signature.sharedBytes)
    shared = arith::ConstantIntOp::create(host, loc, signature.sharedBytes, 32);

  // Of what is not shared with the host only asynchronous forms are lowered.
  Type tokenType = gpu::AsyncTokenType::get(host.getContext());
  auto begin = [&]() -> Value {
    return gpu::WaitOp::create(host, loc, tokenType, ValueRange())
        .getAsyncToken();
  };
  Value workspace;
  if (workspaceBytes) {
    auto type = MemRefType::get(ShapedType::kDynamic, host.getI32Type());
    auto alloc = gpu::AllocOp::create(
        host, loc, type, tokenType, /*asyncDependencies=*/begin(),
        /*dynamicSizes=*/evaluate(workspaceBytes.ceilDiv(4)),
        /*symbolOperands=*/ValueRange());
    workspace = alloc.getMemref();
    Value token = alloc.getAsyncToken();
    if (isWorkspaceZeroed)
      token =
          gpu::MemsetOp::create(host, loc, tokenType, token, workspace,
                                arith::ConstantIntOp::create(host, loc, 0, 32))
              .getAsyncToken();
    gpu::WaitOp::create(host, loc, Type(), token);
  }
  SmallVector<Value> arguments;
  for (Parameter &parameter : parameters) {
    if (parameter.kind == KernelParameterKind::Workspace) {
      MemrefInfo info{"workspace", workspace, {}};
      parameter.host = getHostPointer(info);
    }
    arguments.push_back(parameter.host);
  }
  gpu::LaunchFuncOp::create(host, loc, kernel, grid, block, shared, arguments);
  if (!workspace)
    return;
  Value token = gpu::DeallocOp::create(host, loc, tokenType, begin(), workspace)
                    .getAsyncToken();
  gpu::WaitOp::create(host, loc, Type(), token);
}
