//===- Lexer.h - Split PTX text into tokens ---------------------*- C++ -*-===//

#ifndef KVQ_LIB_EMULATOR_PTX_LEXER_H
#define KVQ_LIB_EMULATOR_PTX_LEXER_H

#include "llvm/ADT/StringRef.h"
#include <cstdint>

namespace kvq::emu::ptx {

struct Token {
  enum Kind : uint8_t {
    End,
    /// An identifier with its `%`, `$` or `_`; no dots.
    Word,
    /// `.name`, with the dot; `::` inside is part of it.
    Directive,
    Integer,
    /// Hexadecimal or decimal float; `floatBits` says how many bits the literal
    /// has in `value`: 32 for 0f, 64 for 0d and decimals.
    Float,
    String,
    /// One character, or `<<`, `>>`, `<=`, `>=`, `==`, `!=`, `&&`, `||`.
    Punctuation,
    /// Something that is no token; `text` says what is wrong.
    Error
  };
  Kind kind = End;
  uint8_t floatBits = 0;
  uint32_t line = 1;
  uint32_t column = 1;
  uint64_t value = 0;
  llvm::StringRef text;
  /// Where the token starts and ends in the buffer.
  size_t begin = 0, end = 0;

  bool is(Kind k) const { return kind == k; }
  bool isPunctuation(llvm::StringRef s) const {
    return kind == Punctuation && text == s;
  }
  bool isDirective(llvm::StringRef s) const {
    return kind == Directive && text == s;
  }
  bool isWord(llvm::StringRef s) const { return kind == Word && text == s; }
};

class Lexer {
public:
  explicit Lexer(llvm::StringRef buffer) : buffer(buffer) {}

  /// The next token; after the last one, `End` forever.
  Token next();
  /// Having read the word token `first`, takes the rest of an instruction's
  /// dotted name too: `tcgen05.ld.sync.aligned.32x32b.x16.b32`.
  llvm::StringRef takeMnemonic(const Token &first);
  /// Having read the token `from`, drops what is left of its line.
  void skipLine(const Token &from);
  /// Drops everything up to the brace that closes the one just read. False if
  /// the text ends first.
  bool skipBraces();
  /// Whether a colon follows that is not part of `::`.
  bool atLabelColon() const;

  /// The text between two offsets.
  llvm::StringRef slice(size_t begin, size_t end) const {
    return buffer.slice(begin, end);
  }
  /// The line that holds the offset, without its newline.
  llvm::StringRef lineAt(size_t offset) const;

private:
  /// Drops white space, comments and `#` lines; false at a comment that has no
  /// end.
  bool skipSpace();
  void lexNumber(Token &token);
  void advance(size_t to);

  llvm::StringRef buffer;
  size_t position = 0;
  size_t lineStart = 0;
  uint32_t line = 1;
};

} // namespace kvq::emu::ptx

#endif // KVQ_LIB_EMULATOR_PTX_LEXER_H
