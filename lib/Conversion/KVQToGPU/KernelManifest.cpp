//===- KernelManifest.cpp - Kernels described for a runtime ---------------===//

#include "kvq/Conversion/KVQToGPU/KernelManifest.h"
#include "kvq/Dialect/KVQ/IR/KVQTypes.h"
#include "kvq/Support/RuntimeError.h"
#include "kvq/Support/Version.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/AffineExpr.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/Support/JSON.h"

using namespace mlir;
using namespace kvq;
using llvm::json::OStream;

SmallVector<NamedKernel, 0> kvq::getNamedKernels(ModuleOp module) {
  SmallVector<NamedKernel, 0> kernels;
  for (auto kernelModule : module.getOps<gpu::GPUModuleOp>())
    for (auto function : kernelModule.getOps<FunctionOpInterface>())
      if (auto signature = KernelSignature::fromAttribute(
              function->getAttr(kKernelSignatureAttrName)))
        kernels.push_back({function.getName().str(), *signature});
  return kernels;
}

/// The sign of a binary formula.
static StringRef getOperator(AffineExprKind kind) {
  switch (kind) {
  case AffineExprKind::Add:
    return " + ";
  case AffineExprKind::Mul:
    return " * ";
  case AffineExprKind::Mod:
    return " mod ";
  case AffineExprKind::FloorDiv:
    return " floordiv ";
  case AffineExprKind::CeilDiv:
    return " ceildiv ";
  default:
    llvm_unreachable("not a binary formula");
  }
}

std::string kvq::printFormula(AffineExpr formula, ArrayRef<StringRef> names) {
  if (auto constant = dyn_cast<AffineConstantExpr>(formula)) {
    // The grammar has no sign.
    std::string digits = std::to_string(constant.getValue());
    return constant.getValue() < 0 ? "(0 - " + digits.substr(1) + ")" : digits;
  }
  if (auto symbol = dyn_cast<AffineSymbolExpr>(formula))
    return names[symbol.getPosition()].str();
  auto binary = cast<AffineBinaryOpExpr>(formula);
  // All signs bind to the left: only what is on the right of another sign, or
  // a sum beside one that binds tighter, needs parentheses.
  auto print = [&](AffineExpr part, bool isRight) {
    std::string text = printFormula(part, names);
    bool isSum = part.getKind() == AffineExprKind::Add;
    bool needsParentheses =
        isa<AffineBinaryOpExpr>(part) &&
        (formula.getKind() == AffineExprKind::Add ? isRight && isSum
                                                  : isRight || isSum);
    return needsParentheses ? "(" + text + ")" : text;
  };
  return print(binary.getLHS(), false) + getOperator(formula.getKind()).str() +
         print(binary.getRHS(), true);
}

static std::string toString(Type type) {
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return text;
}

/// Writes numbers, null for what is not known when compiling.
static void writeNumbers(OStream &json, StringRef name,
                         ArrayRef<int64_t> numbers) {
  json.attributeArray(name, [&] {
    for (int64_t number : numbers)
      if (ShapedType::isDynamic(number))
        json.value(nullptr);
      else
        json.value(number);
  });
}

static void writeParameter(OStream &json, const KernelParameter &parameter) {
  using Kind = KernelParameterKind;
  json.attribute("name", parameter.name);
  json.attribute("kind", stringifyKernelParameterKind(parameter.kind));
  bool isShort = parameter.kind == Kind::Size || parameter.kind == Kind::Scalar;
  json.attribute("bytes", isShort ? 4 : 8);
  bool isAddress = parameter.kind == Kind::Pointer ||
                   parameter.kind == Kind::Workspace ||
                   parameter.kind == Kind::ErrorWord;
  if (isAddress) {
    json.attribute("alignment", parameter.alignment);
    json.attribute("read", parameter.isRead);
    json.attribute("written", parameter.isWritten);
  }
  if (MemRefType type = parameter.type) {
    json.attribute("element", toString(type.getElementType()));
    json.attribute("element_bits", type.getElementTypeBitWidth());
    writeNumbers(json, "shape", type.getShape());
    writeNumbers(json, "element_strides", type.getStridesAndOffset().first);
  }
  if (!parameter.of.empty()) {
    json.attribute("of", parameter.of);
    json.attribute("dimension", parameter.dimension);
  }
}

static void writeCache(OStream &json, const KernelCache &cache) {
  auto type = cast<CacheType>(cache.type);
  KVFormatInterface format = type.getFormat();
  json.attribute("prefix", cache.prefix);
  json.attribute("type", toString(type));
  json.attribute("side", stringifySide(type.getSide()));
  json.attribute("page", type.getPageSize());
  json.attribute("heads", type.getNumHeads());
  json.attribute("head_dim", type.getHeadDim());
  json.attributeObject("format", [&] {
    json.attribute("element", toString(format.getElementType()));
    if (FloatType scale = format.getScaleType()) {
      json.attribute("scale", toString(scale));
      json.attribute("block", format.getBlockSize());
      json.attribute("block_axis", stringifyBlockAxis(format.getBlockAxis()));
    }
    json.attribute("global_scale", format.getHasGlobalScale());
  });
  json.attribute("kv_layout", stringifyKVLayout(type.getKvLayout()));
  if (type.getScaleLayout())
    json.attribute("scale_layout",
                   stringifyScaleLayout(*type.getScaleLayout()));
  json.attribute("bytes_per_page", type.getBytesPerPage());
  json.attribute("bytes_per_token", type.getBytesPerToken());
}

static void writeKernel(OStream &json, const NamedKernel &kernel) {
  const KernelSignature &signature = kernel.signature;
  SmallVector<StringRef> sizes;
  for (const KernelParameter &parameter : signature.parameters)
    if (parameter.kind == KernelParameterKind::Size)
      sizes.push_back(parameter.name);

  json.attribute("name", kernel.name);
  json.attribute("operation", signature.operation);
  json.attributeArray("parameters", [&] {
    for (const KernelParameter &parameter : signature.parameters)
      json.object([&] { writeParameter(json, parameter); });
  });
  json.attributeArray("grid", [&] {
    for (AffineExpr formula : signature.grid.getResults())
      json.value(printFormula(formula, sizes));
  });
  json.attributeArray("block", [&] {
    for (int32_t size : signature.block)
      json.value(size);
  });
  json.attribute("cluster", llvm::json::Array{1, 1, 1});
  json.attribute("shared_bytes", signature.sharedBytes);
  if (signature.workspaceBytes)
    json.attributeObject("workspace", [&] {
      json.attribute(
          "bytes", printFormula(signature.workspaceBytes.getResult(0), sizes));
      json.attribute("zeroed", signature.isWorkspaceZeroed);
    });
  json.attributeArray("caches", [&] {
    for (const KernelCache &cache : signature.caches)
      json.object([&] { writeCache(json, cache); });
  });
}

/// Writes what the four i64 of an error word are.
static void writeErrorWord(OStream &json) {
  json.attribute("bytes", 32);
  json.attribute("alignment", 8);
  json.attributeArray("fields", [&] {
    int64_t offset = 0;
    for (StringRef name : {"kind", "index", "value", "limit"}) {
      json.object([&] {
        json.attribute("name", name);
        json.attribute("type", "i64");
        json.attribute("offset", offset);
      });
      offset += 8;
    }
  });
  json.attributeArray("kinds", [&] {
    for (int32_t kind = 0; kind <= KVQ_RUNTIME_LAST_KIND; ++kind)
      json.value(kvqRuntimeErrorDescription(kind));
  });
  // Kernels compare no two rows or pages, and know sizes from one operand.
  json.attributeArray("unchecked", [&] {
    for (int32_t kind : {KVQ_RUNTIME_DUPLICATE_SLOT, KVQ_RUNTIME_DUPLICATE_PAGE,
                         KVQ_RUNTIME_SIZE})
      json.value(kind);
  });
}

std::string kvq::makeKernelManifest(ArrayRef<NamedKernel> kernels,
                                    const Chip &chip, StringRef features) {
  std::string text;
  llvm::raw_string_ostream os(text);
  OStream json(os, /*IndentSize=*/2);
  json.object([&] {
    json.attribute("schema", kKernelManifestSchema);
    json.attribute("producer", ("kvq " + getVersion()).str());
    json.attribute("chip", chip.name);
    json.attribute("features", features);
    json.attributeObject("error_word", [&] { writeErrorWord(json); });
    json.attributeArray("kernels", [&] {
      for (const NamedKernel &kernel : kernels)
        json.object([&] { writeKernel(json, kernel); });
    });
  });
  os << '\n';
  return text;
}
