//===- Lexer.cpp - Split PTX text into tokens -----------------------------===//

#include "Lexer.h"
#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Error.h"

using namespace kvq::emu::ptx;
using llvm::StringRef;

static bool isWordStart(char c) {
  return llvm::isAlpha(c) || c == '_' || c == '$' || c == '%';
}

static bool isWordPart(char c) {
  return llvm::isAlnum(c) || c == '_' || c == '$';
}

void Lexer::advance(size_t to) {
  for (; position < to; ++position)
    if (buffer[position] == '\n') {
      ++line;
      lineStart = position + 1;
    }
}

bool Lexer::skipSpace() {
  while (position < buffer.size()) {
    char c = buffer[position];
    StringRef rest = buffer.drop_front(position);
    // A NUL ends texts that a run-time interface passes on.
    if (llvm::isSpace(c) || c == '\0') {
      advance(position + 1);
    } else if (rest.starts_with("//") ||
               (c == '#' && buffer.slice(lineStart, position).trim().empty())) {
      advance(std::min(buffer.find('\n', position), buffer.size()));
    } else if (rest.starts_with("/*")) {
      size_t end = buffer.find("*/", position + 2);
      if (end == StringRef::npos)
        return false;
      advance(end + 2);
    } else {
      return true;
    }
  }
  return true;
}

void Lexer::lexNumber(Token &token) {
  size_t end = position;
  while (end < buffer.size() && llvm::isAlnum(buffer[end]))
    ++end;
  StringRef digits = buffer.slice(position, end);

  auto finish = [&](Token::Kind kind, size_t to) {
    token.kind = kind;
    token.text = buffer.slice(position, to);
    position = to;
  };
  auto isHexFloat = [&](StringRef prefix, size_t length) {
    return digits.size() == length + 2 &&
           digits.take_front(2).equals_insensitive(prefix) &&
           !digits.drop_front(2).getAsInteger(16, token.value);
  };
  if (isHexFloat("0f", 8)) {
    token.floatBits = 32;
    return finish(Token::Float, end);
  }
  if (isHexFloat("0d", 16)) {
    token.floatBits = 64;
    return finish(Token::Float, end);
  }

  bool isPrefixed = digits.size() > 1 && digits[0] == '0' &&
                    (digits[1] == 'x' || digits[1] == 'X' || digits[1] == 'b' ||
                     digits[1] == 'B');
  bool hasPoint = end < buffer.size() && buffer[end] == '.' &&
                  llvm::all_of(digits, llvm::isDigit);
  bool hasExponent =
      !isPrefixed && digits.find_first_of("eE") != StringRef::npos;
  if (hasPoint || hasExponent) {
    size_t at = position;
    auto takeDigits = [&] {
      while (at < buffer.size() && llvm::isDigit(buffer[at]))
        ++at;
    };
    takeDigits();
    if (at < buffer.size() && buffer[at] == '.') {
      ++at;
      takeDigits();
    }
    if (at < buffer.size() && (buffer[at] == 'e' || buffer[at] == 'E')) {
      ++at;
      if (at < buffer.size() && (buffer[at] == '+' || buffer[at] == '-'))
        ++at;
      takeDigits();
    }
    llvm::APFloat value(llvm::APFloat::IEEEdouble());
    auto status = value.convertFromString(buffer.slice(position, at),
                                          llvm::APFloat::rmNearestTiesToEven);
    if (!status) {
      llvm::consumeError(status.takeError());
      finish(Token::Error, at);
      token.text = "malformed number";
      return;
    }
    token.value = value.bitcastToAPInt().getZExtValue();
    token.floatBits = 64;
    return finish(Token::Float, at);
  }

  StringRef number = digits;
  number.consume_back_insensitive("U");
  // Radix 0 reads 0x, 0b and octal as C does.
  bool bad = number.getAsInteger(0, token.value);
  finish(bad ? Token::Error : Token::Integer, end);
  if (bad)
    token.text = "malformed number, or one that needs more than 64 bits";
}

Token Lexer::next() {
  Token token;
  bool closed = skipSpace();
  token.line = line;
  token.column = position - lineStart + 1;
  token.begin = token.end = position;
  if (!closed) {
    token.kind = Token::Error;
    token.text = "comment without an end";
    position = token.end = buffer.size();
    return token;
  }
  if (position >= buffer.size())
    return token;

  char c = buffer[position];
  char following = position + 1 < buffer.size() ? buffer[position + 1] : '\0';
  if (isWordStart(c)) {
    size_t end = position + 1;
    while (end < buffer.size() && isWordPart(buffer[end]))
      ++end;
    token.text = buffer.slice(position, end);
    // A lone % is the operator.
    token.kind = token.text == "%" ? Token::Punctuation : Token::Word;
    position = end;
  } else if (llvm::isDigit(c)) {
    lexNumber(token);
  } else if (c == '.' && (llvm::isAlnum(following) || following == '_')) {
    size_t end = position + 1;
    while (end < buffer.size() &&
           (isWordPart(buffer[end]) ||
            (buffer.substr(end, 2) == "::" && end + 2 < buffer.size() &&
             isWordPart(buffer[end + 2]))))
      end += buffer[end] == ':' ? 2 : 1;
    token.kind = Token::Directive;
    token.text = buffer.slice(position, end);
    position = end;
  } else if (c == '"') {
    size_t end = position + 1;
    while (end < buffer.size() && buffer[end] != '"' && buffer[end] != '\n')
      end += buffer[end] == '\\' ? 2 : 1;
    if (end >= buffer.size() || buffer[end] != '"') {
      token.kind = Token::Error;
      token.text = "string without an end";
      position = std::min(end, buffer.size());
    } else {
      token.kind = Token::String;
      token.text = buffer.slice(position + 1, end);
      advance(end + 1);
    }
  } else {
    StringRef two = buffer.substr(position, 2);
    bool isDouble = two == "<<" || two == ">>" || two == "<=" || two == ">=" ||
                    two == "==" || two == "!=" || two == "&&" || two == "||";
    token.text = two.take_front(isDouble ? 2 : 1);
    token.kind = llvm::isPrint(c) ? Token::Punctuation : Token::Error;
    if (token.kind == Token::Error)
      token.text = "a byte that PTX does not have";
    position += isDouble ? 2 : 1;
  }
  token.end = position;
  return token;
}

StringRef Lexer::takeMnemonic(const Token &first) {
  size_t end = first.end;
  while (end < buffer.size()) {
    if (isWordPart(buffer[end]) || buffer[end] == '.')
      ++end;
    else if (buffer.substr(end, 2) == "::")
      end += 2;
    else
      break;
  }
  advance(std::max(end, position));
  return buffer.slice(first.begin, end);
}

void Lexer::skipLine(const Token &from) {
  size_t end = std::min(buffer.find('\n', from.end), buffer.size());
  if (end > position)
    advance(end);
}

bool Lexer::skipBraces() {
  unsigned depth = 1;
  while (true) {
    Token token = next();
    if (token.is(Token::End))
      return false;
    if (token.isPunctuation("{"))
      ++depth;
    else if (token.isPunctuation("}") && --depth == 0)
      return true;
  }
}

bool Lexer::atLabelColon() const {
  size_t at = position;
  while (at < buffer.size() && (buffer[at] == ' ' || buffer[at] == '\t'))
    ++at;
  return at < buffer.size() && buffer[at] == ':' &&
         buffer.substr(at, 2) != "::";
}

StringRef Lexer::lineAt(size_t offset) const {
  offset = std::min(offset, buffer.size());
  size_t begin = buffer.take_front(offset).rfind('\n');
  begin = begin == StringRef::npos ? 0 : begin + 1;
  return buffer.slice(begin,
                      std::min(buffer.find('\n', offset), buffer.size()));
}
