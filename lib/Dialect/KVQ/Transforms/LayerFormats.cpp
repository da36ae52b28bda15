//===- LayerFormats.cpp - Which format each layer's cache shall have ------===//

#include "LayerFormats.h"
#include "kvq/Dialect/KVQ/Transforms/Remark.h"
#include "mlir/Support/FileUtilities.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace mlir;
using namespace kvq;

/// Returns the format of a name, null for an empty one; fails with an error.
static FailureOr<KVFormatInterface> parseFormat(ModuleOp module,
                                                StringRef name) {
  if (name.empty())
    return KVFormatInterface();
  KVFormatInterface format = getNamedFormat(module.getContext(), name);
  if (!format)
    return reportError<RemarkId::CacheFormatUnknown>(module, name,
                                                     listFormatNames());
  return format;
}

LogicalResult LayerFormats::parse(ModuleOp module, StringRef key,
                                  StringRef value, StringRef file) {
  FailureOr<KVFormatInterface> keys = parseFormat(module, key);
  FailureOr<KVFormatInterface> values = parseFormat(module, value);
  if (failed(keys) || failed(values))
    return failure();
  defaults = {*keys, *values};
  return file.empty() ? success() : parseFile(module, file);
}

/// Parses "3", "-1" or "2-5".
static std::optional<std::pair<int64_t, int64_t>> parseRange(StringRef text) {
  int64_t first, last;
  if (!text.getAsInteger(10, first))
    return std::make_pair(first, first);
  auto [begin, end] = text.split('-');
  if (begin.getAsInteger(10, first) || end.getAsInteger(10, last) ||
      first < 0 || last < first)
    return std::nullopt;
  return std::make_pair(first, last);
}

LogicalResult LayerFormats::parseFile(ModuleOp module, StringRef file) {
  auto fail = [&](const Twine &why) {
    return reportError<RemarkId::CacheFormatsFile>(module, file, why.str());
  };
  std::string message;
  std::unique_ptr<llvm::MemoryBuffer> buffer = openInputFile(file, &message);
  if (!buffer)
    return fail(message);
  llvm::Expected<llvm::json::Value> parsed =
      llvm::json::parse(buffer->getBuffer());
  if (!parsed)
    return fail(llvm::toString(parsed.takeError()));
  llvm::json::Object *object = parsed->getAsObject();
  if (!object)
    return fail("expected an object of layers");
  for (auto &[layer, formats] : *object) {
    std::optional<std::pair<int64_t, int64_t>> range = parseRange(layer.str());
    if (!range)
      return fail("found the layer '" + layer.str() +
                  "', expected a number (-1 is the last one) or a range such "
                  "as 2-5");
    std::string names[2];
    if (std::optional<StringRef> both = formats.getAsString()) {
      names[0] = names[1] = both->str();
    } else if (llvm::json::Object *sides = formats.getAsObject()) {
      for (auto &[side, name] : *sides) {
        std::optional<StringRef> text = name.getAsString();
        if ((side != "key" && side != "value") || !text)
          return fail("found '" + side.str() + "' in layer '" + layer.str() +
                      "', expected key or value with the name of a format");
        names[side == "key" ? 0 : 1] = text->str();
      }
    } else {
      return fail("found layer '" + layer.str() +
                  "' with neither the name of a format nor an object of key "
                  "and value");
    }
    FailureOr<KVFormatInterface> key = parseFormat(module, names[0]);
    FailureOr<KVFormatInterface> value = parseFormat(module, names[1]);
    if (failed(key) || failed(value))
      return failure();
    ranges.push_back({range->first, range->second, {*key, *value}});
  }
  return success();
}

/// An attribute of where a handle comes from, or null.
static Attribute getOriginAttr(Value origin, StringRef name) {
  if (Operation *op = origin.getDefiningOp())
    return op->getAttr(name);
  auto argument = cast<BlockArgument>(origin);
  auto function = cast<FunctionOpInterface>(argument.getOwner()->getParentOp());
  return function.getArgAttr(argument.getArgNumber(), name);
}

/// Calls `callback` for each value that handles of a class come from.
static void forEachOrigin(const CacheClass &cacheClass,
                          llvm::function_ref<void(Value)> callback) {
  for (MakeCacheOp make : cacheClass.made)
    callback(make.getCache());
  for (BlockArgument argument : cacheClass.arguments)
    callback(argument);
}

void LayerFormats::number(ArrayRef<CacheClass> classes) {
  int64_t next[2] = {0, 0};
  for (const CacheClass &cacheClass : classes) {
    unsigned side = cacheClass.getType().isKey() ? 0 : 1;
    forEachOrigin(cacheClass, [&](Value origin) {
      int64_t layer = next[side]++;
      if (auto given = dyn_cast_or_null<IntegerAttr>(
              getOriginAttr(origin, KVQDialect::getLayerAttrName())))
        layer = given.getValue().getZExtValue();
      layers[origin] = layer;
      numLayers[side] = std::max(numLayers[side], layer + 1);
    });
  }
}

KVFormatInterface LayerFormats::getOfLayer(Value origin, Side side) const {
  Attribute asked = getOriginAttr(origin, KVQDialect::getCacheFormatAttrName());
  if (auto format = dyn_cast_or_null<KVFormatInterface>(asked))
    return format;
  if (auto name = dyn_cast_or_null<StringAttr>(asked))
    return getNamedFormat(name.getContext(), name);
  int64_t layer = layers.lookup(origin);
  int64_t count = numLayers[side == Side::Key ? 0 : 1];
  for (const Range &range : ranges) {
    int64_t first = range.first < 0 ? range.first + count : range.first;
    int64_t last = range.last < 0 ? range.last + count : range.last;
    if (first <= layer && layer <= last)
      if (KVFormatInterface format = range.formats.get(side))
        return format;
  }
  return defaults.get(side);
}

FailureOr<KVFormatInterface>
LayerFormats::get(const CacheClass &cacheClass) const {
  Side side = cacheClass.getType().getSide();
  std::optional<KVFormatInterface> found;
  Value first;
  Value conflict;
  forEachOrigin(cacheClass, [&](Value origin) {
    KVFormatInterface format = getOfLayer(origin, side);
    if (!found) {
      found = format;
      first = origin;
    } else if (*found != format && !conflict) {
      conflict = origin;
    }
  });
  if (!conflict)
    return found.value_or(defaults.get(side));
  auto toText = [](KVFormatInterface format) {
    std::string text;
    llvm::raw_string_ostream stream(text);
    if (format)
      stream << Attribute(format);
    else
      stream << "no other format";
    return text;
  };
  Operation *op = cacheClass.getReportOp();
  InFlightDiagnostic diag = reportError<RemarkId::CacheFormatsDisagree>(
      op, toText(*found), toText(getOfLayer(conflict, side)));
  diag.attachNote(conflict.getLoc()) << "the other handle comes from here";
  return diag;
}
