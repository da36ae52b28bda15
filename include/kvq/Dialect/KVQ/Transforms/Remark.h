//===- Remark.h - Reports of the optimizing passes ------------------------===//
//
// Every remark and error of an optimizing pass is an entry of Remarks.def, the
// table that the documentation is generated from. A pass reports one with
//
//   report<RemarkId::FusedQuantizeAppend>(op, "kvq.quantize");
//   return reportError<RemarkId::...>(op, type) << ...;
//
// and an analysis that finds an obstacle returns it as a `Report`.
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_DIALECT_KVQ_TRANSFORMS_REMARK_H
#define KVQ_DIALECT_KVQ_TRANSFORMS_REMARK_H

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/FormatVariadic.h"
#include <optional>
#include <string>

namespace kvq {

/// The entries of Remarks.def.
enum class RemarkId : unsigned {
#define KVQ_REMARK(ID, PASS, KIND, TEXT, MEANING) ID,
#include "kvq/Dialect/KVQ/Transforms/Remarks.def"
};

enum class RemarkKind { Passed, Missed, Analysis, Error };

/// One row of the table.
struct RemarkInfo {
  llvm::StringLiteral name;
  llvm::StringLiteral pass;
  RemarkKind kind;
  llvm::StringLiteral text;
};

namespace detail {
inline constexpr RemarkInfo remarkTable[] = {
#define KVQ_REMARK(ID, PASS, KIND, TEXT, MEANING)                              \
  {#ID, PASS, RemarkKind::KIND, TEXT},
#include "kvq/Dialect/KVQ/Transforms/Remarks.def"
};

/// The number of arguments that a formatv text takes: one more than the
/// largest index of a placeholder.
constexpr unsigned countPlaceholders(llvm::StringLiteral text) {
  unsigned count = 0;
  for (size_t i = 0; i + 1 < text.size(); ++i) {
    if (text.data()[i] != '{')
      continue;
    unsigned index = text.data()[i + 1] - '0';
    if (index < 10 && index + 1 > count)
      count = index + 1;
  }
  return count;
}
} // namespace detail

/// The row of an entry.
constexpr const RemarkInfo &getRemarkInfo(RemarkId id) {
  return detail::remarkTable[static_cast<unsigned>(id)];
}

/// A report with its text filled in.
class Report {
public:
  /// Fills in the text of an entry; the number of arguments is checked when
  /// this is compiled.
  template <RemarkId id, typename... Args>
  static Report get(Args &&...args) {
    constexpr const RemarkInfo &info = getRemarkInfo(id);
    static_assert(detail::countPlaceholders(info.text) == sizeof...(Args),
                  "the text of the remark takes another number of arguments");
    return Report(id, llvm::formatv(/*Validate=*/false, info.text.data(),
                                    std::forward<Args>(args)...)
                          .str());
  }

  /// Names the operation that is in the way: a note of the error, and part of
  /// the remark.
  Report &at(mlir::Operation *obstacle);

  RemarkId getId() const { return id; }
  llvm::StringRef getText() const { return text; }

  /// Name and place of the operation that is in the way, if one was named.
  const std::optional<std::pair<mlir::OperationName, mlir::Location>> &
  getObstacle() const {
    return obstacle;
  }

  /// Reports at `op`: an entry of kind Error, and with `require` one of kind
  /// Missed, as an error, anything else as a remark. Fails iff it was an
  /// error.
  mlir::LogicalResult emit(mlir::Operation *op, bool require = false) const;

private:
  Report(RemarkId id, std::string text) : id(id), text(std::move(text)) {}

  RemarkId id;
  std::string text;
  std::optional<std::pair<mlir::OperationName, mlir::Location>> obstacle;
};

/// Reports a remark at `op`.
template <RemarkId id, typename... Args>
void report(mlir::Operation *op, Args &&...args) {
  static_assert(getRemarkInfo(id).kind != RemarkKind::Error,
                "an error is reported with reportError");
  (void)Report::get<id>(std::forward<Args>(args)...).emit(op);
}

/// Reports an error at `op`; notes can be attached to the result.
template <RemarkId id, typename... Args>
mlir::InFlightDiagnostic reportError(mlir::Operation *op, Args &&...args) {
  static_assert(getRemarkInfo(id).kind == RemarkKind::Error,
                "a remark is reported with report");
  return op->emitOpError()
         << Report::get<id>(std::forward<Args>(args)...).getText();
}

} // namespace kvq

#endif // KVQ_DIALECT_KVQ_TRANSFORMS_REMARK_H
