// unicode.hpp: text as code points with the three classes that a pre-tokenizer asks for.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "unicode_ranges.hpp"

namespace engine {

enum class CodeClass : std::uint8_t { space, letter, number, other };

/// One code point and the bytes it came from. A byte that is no valid UTF-8 is a code point of its own
/// (U+FFFD), so any byte string can be split and put together again.
struct CodePoint {
  char32_t value;
  CodeClass kind;
  std::size_t begin, end;
};

/// The length of the valid UTF-8 sequence that `text` begins with, and its code point; 0 if there is none
/// (overlong forms, surrogates and values above U+10FFFF are not valid).
inline std::size_t decode_utf8(std::string_view text, char32_t& value) noexcept {
  if (text.empty()) return 0;
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned first = byte(0);
  value = first;
  if (first < 0x80) return 1;
  const std::size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < length) return 0;
  value = first & (0x7fu >> length);
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0u) != 0x80u) return 0;
    value = value << 6 | (byte(i) & 0x3fu);
  }
  const bool overlong = value < (length == 4 ? 0x10000u : length == 3 ? 0x800u : 0x80u);
  return overlong || value > 0x10ffff || (value >= 0xd800 && value <= 0xdfff) ? 0 : length;
}

inline void append_utf8(std::string& out, char32_t value) {
  const auto put = [&](char32_t byte) { out += static_cast<char>(static_cast<unsigned char>(byte)); };
  if (value < 0x80) return put(value);
  if (value < 0x800) {
    put(0xc0 | value >> 6);
  } else if (value < 0x10000) {
    put(0xe0 | value >> 12);
    put(0x80 | (value >> 6 & 0x3f));
  } else {
    put(0xf0 | value >> 18);
    put(0x80 | (value >> 12 & 0x3f));
    put(0x80 | (value >> 6 & 0x3f));
  }
  put(0x80 | (value & 0x3f));
}

inline bool in_ranges(std::span<const CodeRange> sorted, char32_t value) noexcept {
  const auto after = std::upper_bound(sorted.begin(), sorted.end(), value,
                                      [](char32_t v, const CodeRange& range) { return v < range.first; });
  return after != sorted.begin() && value <= (after - 1)->last;
}

inline CodeClass classify(char32_t v) noexcept {
  if ((v >= 9 && v <= 13) || v == ' ' || v == 0x85 || v == 0xa0 || v == 0x1680 ||
      (v >= 0x2000 && v <= 0x200a) || v == 0x2028 || v == 0x2029 || v == 0x202f || v == 0x205f || v == 0x3000)
    return CodeClass::space;
  if (in_ranges(letter_ranges, v)) return CodeClass::letter;
  return in_ranges(number_ranges, v) ? CodeClass::number : CodeClass::other;
}

inline std::vector<CodePoint> code_points(std::string_view text) {
  std::vector<CodePoint> out;
  for (std::size_t at = 0; at < text.size();) {
    char32_t value;
    std::size_t length = decode_utf8(text.substr(at), value);
    if (length == 0) {
      value = 0xfffd;
      length = 1;
    }
    out.push_back({value, classify(value), at, at + length});
    at += length;
  }
  return out;
}

}  // namespace engine
