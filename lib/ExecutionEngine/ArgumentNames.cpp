//===- ArgumentNames.cpp - Names of arguments in the source ---------------===//

#include "kvq/ExecutionEngine/ArgumentNames.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

/// Returns the identifier that begins at a location of the main file.
static std::string getIdentifier(FileLineColLoc location,
                                 llvm::SourceMgr &sources) {
  unsigned id = sources.getMainFileID();
  const llvm::MemoryBuffer *buffer = sources.getMemoryBuffer(id);
  if (buffer->getBufferIdentifier() != location.getFilename().strref())
    return {};
  llvm::SMLoc start = sources.FindLocForLineAndColumn(id, location.getLine(),
                                                      location.getColumn());
  if (!start.isValid())
    return {};
  StringRef text(start.getPointer(),
                 buffer->getBufferEnd() - start.getPointer());
  if (!text.starts_with("%"))
    return {};
  size_t length = 1;
  while (length != text.size() && (llvm::isAlnum(text[length]) ||
                                   StringRef("_$.-").contains(text[length])))
    ++length;
  return text.take_front(length).str();
}

llvm::SmallVector<std::string> kvq::getArgumentNames(func::FuncOp function,
                                                     llvm::SourceMgr &sources) {
  llvm::SmallVector<std::string> names;
  for (BlockArgument argument : function.getArguments()) {
    Location location = argument.getLoc();
    if (auto named = dyn_cast<NameLoc>(location))
      names.push_back(named.getName().str());
    else if (auto file = dyn_cast<FileLineColLoc>(location))
      names.push_back(getIdentifier(file, sources));
    else
      names.emplace_back();
  }
  return names;
}
