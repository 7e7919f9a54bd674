// utf8_stream.hpp: shows text while it is generated, never half a character.
#pragma once

#include <string>
#include <string_view>

#include "unicode.hpp"

namespace engine {

/// Tokens are byte strings, and one character may come in several tokens. push() hands out what is complete
/// and keeps the rest; bytes that can be no UTF-8 become U+FFFD.
class Utf8Stream {
 public:
  std::string push(std::string_view bytes) {
    pending_ += bytes;
    return take(false);
  }

  /// What is left when nothing more will come.
  std::string finish() { return take(true); }

 private:
  std::string take(bool last) {
    std::string out;
    std::string_view rest = pending_;
    char32_t value;
    while (!rest.empty()) {
      const std::size_t length = decode_utf8(rest, value);
      if (length == 0 && !last && may_grow(rest)) break;
      append_utf8(out, length == 0 ? U'\uFFFD' : value);
      rest.remove_prefix(length == 0 ? 1 : length);
    }
    pending_ = std::string(rest);
    return out;
  }

  /// True if `text`, not valid yet, may become so by more bytes: a prefix shorter than its first byte
  /// announces.
  static bool may_grow(std::string_view text) noexcept {
    const auto first = static_cast<unsigned char>(text[0]);
    const std::size_t wanted = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
    if (first < 0xc2 || first > 0xf4 || text.size() >= wanted) return false;
    for (const char c : text.substr(1))
      if ((static_cast<unsigned char>(c) & 0xc0u) != 0x80u) return false;
    return true;
  }

  std::string pending_;
};

}  // namespace engine
