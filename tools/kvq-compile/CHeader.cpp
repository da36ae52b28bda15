//===- CHeader.cpp - C prototypes of compiled functions -------------------===//

#include "CHeader.h"
#include "kvq/Support/Version.h"
#include "llvm/ADT/StringExtras.h"
#include <set>

using namespace kvq;
using namespace mlir;

/// Returns a type whose values are passed as LLVM passes those of the IR type.
static std::string getCType(const HostType &type) {
  if (!type.isScalar)
    return "kvq_memref_" + std::to_string(type.shape.size()) + "d";
  switch (type.element) {
  case NpyElement::Bool:
    return "uint8_t";
  case NpyElement::Float16:
    return "_Float16";
  case NpyElement::BFloat16:
    return "__bf16";
  case NpyElement::Float32:
    return "float";
  case NpyElement::Float64:
    return "double";
  default: {
    bool isUnsigned = getStoredType(type.element).kind != NpyKind::Int;
    return std::string(isUnsigned ? "uint" : "int") +
           std::to_string(getBitWidth(type.element)) + "_t";
  }
  }
}

/// Returns a text without what would end a comment.
static std::string forComment(std::string text) {
  for (size_t at; (at = text.find("*/")) != std::string::npos;)
    text.replace(at, 2, "* /");
  return text;
}

/// Describes what an argument or result is.
static std::string describe(const HostType &type) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << type.type;
  if (type.isPacked)
    os << "; two elements in a byte, the even one in the low nibble; sizes, "
          "strides and offset count bytes";
  return text;
}

static void printDescriptors(raw_ostream &os, ArrayRef<CFunction> functions) {
  std::set<size_t> ranks;
  for (const CFunction &function : functions)
    for (ArrayRef<HostType> types : {ArrayRef(function.signature.arguments),
                                     ArrayRef(function.signature.results)})
      for (const HostType &type : types)
        if (!type.isScalar)
          ranks.insert(type.shape.size());
  if (ranks.empty())
    return;
  os << R"(/*
 * An array of N dimensions: element (i0, i1, ...) is at
 * aligned[offset + i0 * strides[0] + i1 * strides[1] + ...], counted in
 * elements. An array whose type has no strided layout must be dense: offset 0,
 * strides of C order.
 *
 * The caller owns the memory of arguments and sets allocated to the same
 * pointer as aligned. Memrefs are in-out; what a tensor argument points to may be
 * overwritten, too. Results are to be freed with free(allocated), unless
 * allocated is that of an argument, of another result or 0xdeadbeef (a
 * constant).
 */
)";
  for (size_t rank : ranks) {
    os << "#ifndef KVQ_MEMREF_" << rank << "D\n#define KVQ_MEMREF_" << rank
       << "D\ntypedef struct kvq_memref_" << rank
       << "d {\n  void *allocated;\n  void *aligned;\n  int64_t offset;\n";
    if (rank != 0)
      os << "  int64_t sizes[" << rank << "];\n  int64_t strides[" << rank
         << "];\n";
    os << "} kvq_memref_" << rank << "d;\n#endif\n\n";
  }
}

static void printFunction(raw_ostream &os, const CFunction &function) {
  const EntrySignature &signature = function.signature;
  size_t numResults = signature.results.size() + function.hasStatus;
  bool isDirect = numResults == 1 &&
                  (function.hasStatus || signature.results.front().isScalar);
  StringRef name = signature.name;

  if (numResults != 0 && !isDirect) {
    os << "/* The results of " << name << ". */\ntypedef struct " << name
       << "_results {\n";
    for (auto [index, type] : llvm::enumerate(signature.results))
      os << "  " << getCType(type) << " result" << index << "; /* "
         << describe(type) << " */\n";
    if (function.hasStatus)
      os << "  int32_t status;\n";
    os << "} " << name << "_results;\n\n";
  }

  os << "/*\n * " << name << "\n";
  for (auto [index, type] : llvm::enumerate(signature.arguments))
    os << " *   arg" << index
       << (function.names[index].empty()
               ? ""
               : " (" + forComment(function.names[index]) + ")")
       << ": " << describe(type) << "\n";
  if (isDirect && !function.hasStatus)
    os << " * Returns " << describe(signature.results.front()) << ".\n";
  if (function.hasStatus)
    os << " * " << (isDirect ? "Returns the status" : "The status is")
       << ": 0, or another number if kvq_report was called; then the\n"
          " * operations that failed wrote nothing"
       << (signature.results.empty()
               ? ""
               : ", and results are to be freed but hold no values")
       << ".\n";
  os << " */\n";
  if (isDirect)
    os << (function.hasStatus ? "int32_t"
                              : getCType(signature.results.front()));
  else
    os << "void";
  os << " _mlir_ciface_" << name << "(";
  llvm::ListSeparator comma(",\n    ");
  if (numResults != 0 && !isDirect)
    os << comma << name << "_results *results";
  for (auto [index, type] : llvm::enumerate(signature.arguments))
    os << comma << getCType(type) << (type.isScalar ? " arg" : " *arg")
       << index;
  if (signature.arguments.empty() && (numResults == 0 || isDirect))
    os << "void";
  os << ");\n\n";
}

std::string kvq::makeCHeader(ArrayRef<CFunction> functions, StringRef source,
                             ArrayRef<std::string> libraries) {
  std::string guard = "KVQ_GENERATED_";
  for (char character : source)
    guard += llvm::isAlnum(character) ? llvm::toUpper(character) : '_';
  std::string text;
  llvm::raw_string_ostream os(text);
  os << "/*\n * Made by kvq-compile " << getVersion() << ". Do not edit.\n";
  os << " * Link with libm";
  for (StringRef library : libraries)
    os << ", LLVM's " << library;
  os << ".\n";
  os << " */\n#ifndef " << guard << "\n#define " << guard
     << "\n\n#include <stdint.h>\n\n#ifdef __cplusplus\nextern \"C\" "
        "{\n#endif\n\n";
  printDescriptors(os, functions);
  if (llvm::any_of(functions, [](const CFunction &function) {
        return function.hasStatus;
      }))
    os << "/*\n"
          " * Called for each error that a function finds in its indices and "
          "lengths. The\n"
          " * object has a weak definition that does nothing; define it to "
          "learn what was\n"
          " * wrong. The kinds are those of kvq/Support/RuntimeError.h.\n"
          " */\n"
          "void kvq_report(int32_t kind, int64_t index, int64_t value, int64_t "
          "limit);\n\n";
  for (const CFunction &function : functions)
    printFunction(os, function);
  os << "#ifdef __cplusplus\n} /* extern \"C\" */\n#endif\n\n#endif /* "
     << guard << " */\n";
  return text;
}
