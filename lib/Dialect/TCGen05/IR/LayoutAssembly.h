//===- LayoutAssembly.h - Assembly that layouts and types share -*- C++ -*-===//

#ifndef KVQ_LIB_DIALECT_TCGEN05_IR_LAYOUTASSEMBLY_H
#define KVQ_LIB_DIALECT_TCGEN05_IR_LAYOUTASSEMBLY_H

#include "kvq/Dialect/TCGen05/IR/TCGen05Attributes.h"
#include "mlir/IR/OpImplementation.h"

namespace kvq::tcgen05::detail {

/// Parses a keyword of an enumeration of which `names` lists the cases.
template <typename Enum>
mlir::ParseResult parseEnum(mlir::AsmParser &parser, llvm::StringRef what,
                            Enum &result,
                            std::optional<Enum> (*symbolize)(llvm::StringRef),
                            llvm::StringRef names) {
  llvm::SMLoc loc = parser.getCurrentLocation();
  llvm::StringRef keyword;
  if (parser.parseOptionalKeyword(&keyword))
    return parser.emitError(loc) << "expected " << what << ": " << names;
  std::optional<Enum> value = symbolize(keyword);
  if (!value)
    return parser.emitError(loc)
           << "unknown " << what << " '" << keyword << "', expected " << names;
  result = *value;
  return mlir::success();
}

/// Parses the parameters of a layout, without the brackets. Returns null after
/// an error.
LayoutAttr parseLayout(mlir::AsmParser &parser);

/// Prints what parseLayout reads.
void printLayout(mlir::AsmPrinter &printer, LayoutAttr layout);

} // namespace kvq::tcgen05::detail

#endif // KVQ_LIB_DIALECT_TCGEN05_IR_LAYOUTASSEMBLY_H
