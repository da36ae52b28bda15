//===- Names.h - From spellings to enumerators ------------------*- C++ -*-===//

#ifndef KVQ_LIB_EMULATOR_PTX_NAMES_H
#define KVQ_LIB_EMULATOR_PTX_NAMES_H

#include "kvq/Emulator/PTX/Instruction.h"
#include <optional>
#include <string>

namespace kvq::emu::ptx {

/// Finds the longest known spelling that `words` begins with, and gives it back
/// with the number of words it takes.
std::optional<std::pair<Opcode, unsigned>>
findOpcode(llvm::ArrayRef<llvm::StringRef> words);

std::optional<Type> findType(llvm::StringRef spelling);
std::optional<Mod> findModifier(llvm::StringRef spelling);
/// Spelled with its `%` and, where it has one, its component: `%tid.x`.
std::optional<SpecialRegister> findSpecialRegister(llvm::StringRef spelling);

/// " (did you mean 'x'?)" for a spelling that is close, else nothing.
std::string suggestOpcode(llvm::StringRef spelling);
std::string suggestModifier(llvm::StringRef spelling);

/// Decodes the dotted words after the opcode. Returns what is wrong, empty if
/// nothing is.
std::string decodeModifiers(Opcode opcode,
                            llvm::ArrayRef<llvm::StringRef> words,
                            Modifiers &mods);

} // namespace kvq::emu::ptx

#endif // KVQ_LIB_EMULATOR_PTX_NAMES_H
