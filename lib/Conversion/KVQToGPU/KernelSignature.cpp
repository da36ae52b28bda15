//===- KernelSignature.cpp - What a caller must know of a kernel ----------===//

#include "kvq/Conversion/KVQToGPU/KernelSignature.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace kvq;

static constexpr llvm::StringLiteral kindNames[] = {
    "pointer", "workspace", "error_word", "stride", "size", "scalar"};

StringRef kvq::stringifyKernelParameterKind(KernelParameterKind kind) {
  return kindNames[unsigned(kind)];
}

DictionaryAttr KernelSignature::toAttribute(MLIRContext *context) const {
  Builder b(context);
  SmallVector<Attribute> list;
  for (const KernelParameter &parameter : parameters) {
    NamedAttrList fields;
    fields.append("name", b.getStringAttr(parameter.name));
    fields.append(
        "kind", b.getStringAttr(stringifyKernelParameterKind(parameter.kind)));
    if (parameter.alignment)
      fields.append("align", b.getI64IntegerAttr(parameter.alignment));
    if (parameter.isRead)
      fields.append("read", b.getUnitAttr());
    if (parameter.isWritten)
      fields.append("write", b.getUnitAttr());
    if (parameter.type)
      fields.append("type", TypeAttr::get(parameter.type));
    if (!parameter.of.empty()) {
      fields.append("of", b.getStringAttr(parameter.of));
      fields.append("dim", b.getI64IntegerAttr(parameter.dimension));
    }
    list.push_back(fields.getDictionary(context));
  }
  NamedAttrList fields;
  fields.append("operation", b.getStringAttr(operation));
  fields.append("parameters", b.getArrayAttr(list));
  if (!caches.empty()) {
    SmallVector<Attribute> handles;
    for (const KernelCache &cache : caches)
      handles.push_back(b.getDictionaryAttr(
          {b.getNamedAttr("prefix", b.getStringAttr(cache.prefix)),
           b.getNamedAttr("type", TypeAttr::get(cache.type))}));
    fields.append("caches", b.getArrayAttr(handles));
  }
  fields.append("grid", AffineMapAttr::get(grid));
  fields.append("block", b.getDenseI32ArrayAttr(block));
  if (sharedBytes)
    fields.append("shared", b.getI64IntegerAttr(sharedBytes));
  if (workspaceBytes)
    fields.append("workspace", AffineMapAttr::get(workspaceBytes));
  if (isWorkspaceZeroed)
    fields.append("workspace_zeroed", b.getUnitAttr());
  return fields.getDictionary(context);
}

/// Reads the fields of one parameter; nothing if it has not those it needs.
static std::optional<KernelParameter> readParameter(Attribute attribute) {
  auto fields = dyn_cast<DictionaryAttr>(attribute);
  if (!fields)
    return std::nullopt;
  auto name = fields.getAs<StringAttr>("name");
  auto kind = fields.getAs<StringAttr>("kind");
  if (!name || !kind)
    return std::nullopt;
  const auto *found = llvm::find(kindNames, kind.getValue());
  if (found == std::end(kindNames))
    return std::nullopt;
  KernelParameter parameter;
  parameter.name = name.str();
  parameter.kind = KernelParameterKind(found - std::begin(kindNames));
  if (auto align = fields.getAs<IntegerAttr>("align"))
    parameter.alignment = align.getInt();
  parameter.isRead = bool(fields.get("read"));
  parameter.isWritten = bool(fields.get("write"));
  if (auto type = fields.getAs<TypeAttr>("type"))
    parameter.type = dyn_cast<MemRefType>(type.getValue());
  if (auto of = fields.getAs<StringAttr>("of"))
    parameter.of = of.str();
  if (auto dimension = fields.getAs<IntegerAttr>("dim"))
    parameter.dimension = dimension.getInt();
  return parameter;
}

/// Reads one cache; nothing if it has not the fields it needs.
static std::optional<KernelCache> readCache(Attribute attribute) {
  auto fields = dyn_cast<DictionaryAttr>(attribute);
  if (!fields)
    return std::nullopt;
  auto prefix = fields.getAs<StringAttr>("prefix");
  auto type = fields.getAs<TypeAttr>("type");
  if (!prefix || !type)
    return std::nullopt;
  return KernelCache{prefix.str(), type.getValue()};
}

std::optional<KernelSignature>
KernelSignature::fromAttribute(Attribute attribute) {
  auto fields = dyn_cast_or_null<DictionaryAttr>(attribute);
  if (!fields)
    return std::nullopt;
  auto operation = fields.getAs<StringAttr>("operation");
  auto parameters = fields.getAs<ArrayAttr>("parameters");
  auto grid = fields.getAs<AffineMapAttr>("grid");
  auto block = fields.getAs<DenseI32ArrayAttr>("block");
  if (!operation || !parameters || !grid || !block || block.size() != 3)
    return std::nullopt;
  KernelSignature signature;
  signature.operation = operation.str();
  for (Attribute parameter : parameters) {
    std::optional<KernelParameter> read = readParameter(parameter);
    if (!read)
      return std::nullopt;
    signature.parameters.push_back(*read);
  }
  if (auto caches = fields.getAs<ArrayAttr>("caches"))
    for (Attribute cache : caches) {
      std::optional<KernelCache> read = readCache(cache);
      if (!read)
        return std::nullopt;
      signature.caches.push_back(*read);
    }
  signature.grid = grid.getValue();
  llvm::copy(block.asArrayRef(), signature.block.begin());
  if (auto shared = fields.getAs<IntegerAttr>("shared"))
    signature.sharedBytes = shared.getInt();
  if (auto workspace = fields.getAs<AffineMapAttr>("workspace"))
    signature.workspaceBytes = workspace.getValue();
  signature.isWorkspaceZeroed = bool(fields.get("workspace_zeroed"));
  return signature;
}
