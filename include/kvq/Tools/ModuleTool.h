//===- ModuleTool.h - Command-line tools over one module --------*- C++ -*-===//
//
// What tools that read a module, do something with it and exit share.
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_TOOLS_MODULETOOL_H
#define KVQ_TOOLS_MODULETOOL_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/SourceMgr.h"

namespace kvq {

/// An error that diagnostics have already told: it is not printed again.
llvm::Error diagnosedError();

/// Prints "error: MESSAGE" for each error that no diagnostic told. Returns the
/// status to exit with, 1.
int reportError(llvm::Error error);

/// Parses the command line of a tool: --help shows the options of `category`
/// and `overview`, --version the version of the project.
void parseCommandLine(int argc, char **argv, llvm::StringRef tool,
                      llvm::cl::OptionCategory &category,
                      llvm::StringRef overview);

/// Parses and verifies a module of a file ("-": the standard input) and calls
/// `body` on it. Diagnostics go to the standard error with the line of the
/// source. `registry` is what the tool needs besides the project's dialects and
/// extensions. Returns the status to exit with.
int runOnModule(llvm::StringRef file, mlir::DialectRegistry &registry,
                llvm::function_ref<llvm::Error(mlir::ModuleOp module,
                                               llvm::SourceMgr &sources)>
                    body);

} // namespace kvq

#endif // KVQ_TOOLS_MODULETOOL_H
