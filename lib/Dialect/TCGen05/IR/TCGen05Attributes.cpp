//===- TCGen05Attributes.cpp - Attributes of the kvq_tcgen05 dialect ------===//

#include "kvq/Dialect/TCGen05/IR/TCGen05Attributes.h"
#include "LayoutAssembly.h"

using namespace mlir;
using namespace kvq::tcgen05;

LayoutAttr kvq::tcgen05::detail::parseLayout(AsmParser &parser) {
  SMLoc loc = parser.getCurrentLocation();
  Major major;
  Swizzle swizzle;
  if (parseEnum(parser, "major-ness", major, symbolizeMajor, "k or mn") ||
      parser.parseComma() ||
      parseEnum(parser, "swizzle", swizzle, symbolizeSwizzle,
                "none, b32, b64, b128 or b128_atom32"))
    return {};
  bool padded = false;
  int64_t leading = 0, stride = 0;
  while (succeeded(parser.parseOptionalComma())) {
    SMLoc at = parser.getCurrentLocation();
    StringRef keyword;
    if (parser.parseOptionalKeyword(&keyword)) {
      parser.emitError(at) << "expected padded, leading or stride";
      return {};
    }
    if (keyword == "padded") {
      padded = true;
      continue;
    }
    if (keyword != "leading" && keyword != "stride") {
      parser.emitError(at) << "unknown parameter '" << keyword
                           << "', expected padded, leading or stride";
      return {};
    }
    int64_t &value = keyword == "leading" ? leading : stride;
    if (parser.parseEqual() || parser.parseInteger(value))
      return {};
    if (value <= 0) {
      parser.emitError(at) << keyword << " must be positive, found " << value;
      return {};
    }
  }
  return LayoutAttr::getChecked([&] { return parser.emitError(loc); },
                                parser.getContext(), major, swizzle, padded,
                                leading, stride);
}

void kvq::tcgen05::detail::printLayout(AsmPrinter &printer, LayoutAttr layout) {
  printer << stringifyMajor(layout.getMajor()) << ", "
          << stringifySwizzle(layout.getSwizzle());
  if (layout.getPadded())
    printer << ", padded";
  if (layout.getLeading())
    printer << ", leading = " << layout.getLeading();
  if (layout.getStride())
    printer << ", stride = " << layout.getStride();
}

Attribute LayoutAttr::parse(AsmParser &parser, Type) {
  if (parser.parseLess())
    return {};
  LayoutAttr layout = kvq::tcgen05::detail::parseLayout(parser);
  if (!layout || parser.parseGreater())
    return {};
  return layout;
}

void LayoutAttr::print(AsmPrinter &printer) const {
  printer << '<';
  kvq::tcgen05::detail::printLayout(printer, *this);
  printer << '>';
}

static int64_t patternBytes(Swizzle swizzle) {
  switch (swizzle) {
  case Swizzle::None:
    return 16;
  case Swizzle::B32:
    return 32;
  case Swizzle::B64:
    return 64;
  case Swizzle::B128:
  case Swizzle::B128Atom32:
    return 128;
  }
  llvm_unreachable("all swizzles are handled");
}

static int64_t patternLines(Swizzle swizzle) {
  return swizzle == Swizzle::B128Atom32 ? 4 : 8;
}

LogicalResult
LayoutAttr::verify(llvm::function_ref<InFlightDiagnostic()> emitError,
                   Major major, Swizzle swizzle, bool padded, int64_t leading,
                   int64_t stride) {
  if (padded && major == Major::MN)
    return emitError() << "padded elements are K-major, found mn";
  if (swizzle == Swizzle::B128Atom32 && major == Major::K)
    return emitError() << "swizzle b128_atom32 is for MN-major tiles, found k";
  // The descriptor has 14 bits for a stride in units of 16 bytes, and each
  // pattern of a swizzle starts at its own alignment.
  int64_t unit = patternBytes(swizzle);
  if (swizzle != Swizzle::None)
    unit *= patternLines(swizzle);
  for (auto [name, value] : {std::pair<StringRef, int64_t>("leading", leading),
                             std::pair<StringRef, int64_t>("stride", stride)})
    if (value % unit || value < 0 || value >= (1 << 18))
      return emitError() << name << " must be a multiple of " << unit
                         << " below 262144, found " << value;
  return success();
}

int64_t LayoutAttr::getPatternBytes() const {
  return patternBytes(getSwizzle());
}

int64_t LayoutAttr::getPatternLines() const {
  return patternLines(getSwizzle());
}

int64_t LayoutAttr::getAlignment() const {
  if (getSwizzle() == Swizzle::None)
    return 16;
  return getPatternBytes() * getPatternLines();
}
