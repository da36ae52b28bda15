//===- MachineCode.h - From a lowered module to machine code ----*- C++ -*-===//

#ifndef KVQ_TOOLS_KVQCOMPILE_MACHINECODE_H
#define KVQ_TOOLS_KVQCOMPILE_MACHINECODE_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/Error.h"
#include "llvm/Target/TargetMachine.h"

namespace kvq {

/// Makes a machine for the triple of this host. `cpu` is a name LLVM knows, or
/// "native" for this processor with its features; `features` is a list such as
/// "+avx2,-fma" that is applied on top. Names that LLVM does not know are
/// errors.
llvm::Expected<std::unique_ptr<llvm::TargetMachine>>
createHostMachine(llvm::StringRef cpu, llvm::StringRef features,
                  unsigned optLevel);

/// Translates a module in the LLVM dialect and optimizes it for the machine.
llvm::Expected<std::unique_ptr<llvm::Module>>
translateAndOptimize(mlir::ModuleOp module, llvm::LLVMContext &context,
                     llvm::TargetMachine &machine, unsigned optLevel);

/// Writes an object file.
llvm::Error emitObject(llvm::Module &module, llvm::TargetMachine &machine,
                       llvm::SmallVectorImpl<char> &object);

} // namespace kvq

#endif // KVQ_TOOLS_KVQCOMPILE_MACHINECODE_H
