// error.hpp: the one exception of this engine; its sentence names the value that was wrong and the limit it
// broke.
#pragma once

#include <cstddef>
#include <stdexcept>
#include <string>
#include <string_view>

namespace engine {

struct Error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Text out of a file, made safe to print: at most 64 characters, control and non-ASCII bytes shown as '?'.
inline std::string printable(std::string_view text) {
  constexpr std::size_t limit = 64;
  std::string out = "\"";
  for (const char c : text.substr(0, limit)) out += c >= ' ' && c <= '~' ? c : '?';
  return out + (text.size() > limit ? "...\"" : "\"");
}

}  // namespace engine
