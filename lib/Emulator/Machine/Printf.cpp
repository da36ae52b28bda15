//===- Printf.cpp - The device's printf -----------------------------------===//

#include "kvq/Emulator/Machine/Printf.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/bit.h"
#include <cstdio>

using namespace kvq::emu;

/// One conversion through the host's snprintf; `spec` has been checked.
template <typename T>
static std::string formatOne(const std::string &spec, T value) {
  int length = snprintf(nullptr, 0, spec.c_str(), value);
  if (length < 0)
    return "";
  std::string text(static_cast<size_t>(length) + 1, '\0');
  snprintf(text.data(), text.size(), spec.c_str(), value);
  text.pop_back();
  return text;
}

std::string kvq::emu::formatDevice(llvm::StringRef format,
                                   const PrintfSource &source,
                                   int &conversions) {
  std::string result;
  uint64_t offset = 0;
  conversions = 0;
  auto next = [&](unsigned bytes) {
    offset = (offset + bytes - 1) / bytes * bytes;
    uint64_t value = source.read(offset, bytes);
    offset += bytes;
    return value;
  };
  for (size_t i = 0; i < format.size(); ++i) {
    if (format[i] != '%') {
      result.push_back(format[i]);
      continue;
    }
    if (i + 1 < format.size() && format[i + 1] == '%') {
      result.push_back('%');
      ++i;
      continue;
    }
    std::string spec = "%";
    ++i;
    while (i < format.size() && llvm::StringRef("-+ #0").contains(format[i]))
      spec.push_back(format[i++]);
    auto number = [&] {
      if (i < format.size() && format[i] == '*') {
        spec += std::to_string(static_cast<int32_t>(next(4)));
        ++i;
        return;
      }
      // A width beyond this is no use and would exhaust memory.
      unsigned digits = 0;
      while (i < format.size() && llvm::isDigit(format[i])) {
        if (++digits <= 4)
          spec.push_back(format[i]);
        ++i;
      }
    };
    number();
    if (i < format.size() && format[i] == '.') {
      spec.push_back(format[i++]);
      number();
    }
    bool wide = false;
    while (i < format.size() && llvm::StringRef("hlLjzt").contains(format[i])) {
      wide |= format[i] != 'h';
      ++i;
    }
    if (i == format.size()) {
      conversions = -1;
      return result;
    }
    char conversion = format[i];
    ++conversions;
    switch (conversion) {
    case 'd':
    case 'i':
      spec += "lld";
      result += formatOne(
          spec, wide ? static_cast<long long>(next(8))
                     : static_cast<long long>(static_cast<int32_t>(next(4))));
      break;
    case 'u':
    case 'x':
    case 'X':
    case 'o':
      spec += std::string("ll") + conversion;
      result += formatOne(
          spec, static_cast<unsigned long long>(wide ? next(8) : next(4)));
      break;
    case 'c':
      spec.push_back('c');
      result += formatOne(spec, static_cast<int>(next(4)));
      break;
    case 'e':
    case 'E':
    case 'f':
    case 'F':
    case 'g':
    case 'G':
    case 'a':
    case 'A':
      spec.push_back(conversion);
      result += formatOne(spec, llvm::bit_cast<double>(next(8)));
      break;
    case 'p':
      spec.push_back('p');
      result += formatOne(spec, reinterpret_cast<void *>(next(8)));
      break;
    case 's':
      spec.push_back('s');
      result += formatOne(spec, source.string(next(8)).c_str());
      break;
    default:
      conversions = -1;
      return result;
    }
  }
  return result;
}
