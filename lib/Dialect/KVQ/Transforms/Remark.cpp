//===- Remark.cpp - Reports of the optimizing passes ----------------------===//

#include "kvq/Dialect/KVQ/Transforms/Remark.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace kvq;

Report &Report::at(Operation *op) {
  obstacle.emplace(op->getName(), op->getLoc());
  return *this;
}

LogicalResult Report::emit(Operation *op, bool require) const {
  const RemarkInfo &info = getRemarkInfo(id);
  if (info.kind == RemarkKind::Error ||
      (info.kind == RemarkKind::Missed && require)) {
    InFlightDiagnostic diag = op->emitOpError() << text;
    if (obstacle)
      diag.attachNote(obstacle->second)
          << obstacle->first << " is in the way here";
    return failure();
  }
  // Remarks that nobody asked for cost no more than this.
  if (!op->getContext()->getRemarkEngine())
    return success();

  auto function = dyn_cast<FunctionOpInterface>(op);
  if (!function)
    function = op->getParentOfType<FunctionOpInterface>();
  remark::RemarkOpts opts =
      remark::RemarkOpts::name(info.name).category(info.pass).function(
          function ? function.getName() : StringRef());
  Location loc = op->getLoc();
  remark::detail::InFlightRemark remark =
      info.kind == RemarkKind::Passed   ? remark::passed(loc, opts)
      : info.kind == RemarkKind::Missed ? remark::missed(loc, opts)
                                        : remark::analysis(loc, opts);
  if (!remark)
    return success();
  std::string message = ("'" + op->getName().getStringRef() + "' op ").str();
  message += text;
  if (obstacle) {
    llvm::raw_string_ostream stream(message);
    stream << " (" << obstacle->first << " at ";
    if (auto file = dyn_cast<FileLineColLoc>(obstacle->second))
      stream << file.getFilename().getValue() << ':' << file.getLine() << ':'
             << file.getColumn();
    else
      stream << obstacle->second;
    stream << ')';
  }
  remark << StringRef(message);
  return success();
}
