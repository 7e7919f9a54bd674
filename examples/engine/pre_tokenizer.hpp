// pre_tokenizer.hpp: cuts text into the pieces inside which byte-pair merges may happen.
//
// The regular expressions of the models, written as code: std::regex knows no Unicode classes and overflows
// its stack on long lines.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "error.hpp"
#include "unicode.hpp"

namespace engine {

enum class PreTokenizer {
  smollm,  // each number alone first, then GPT-2: 's|'t|'re|'ve|'m|'ll|'d| ?L+| ?N+| ?other+|\s+(?!\S)|\s+
  qwen2,   // (?i:'s|'t|..)|[^\r\n L N]?L+|N| ?other+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+
};

inline PreTokenizer pre_tokenizer(std::string_view name) {
  if (name == "smollm") return PreTokenizer::smollm;
  if (name == "qwen2") return PreTokenizer::qwen2;
  throw Error("the pre-tokenizer " + printable(name) + " is not supported; known: smollm, qwen2");
}

/// Splits code points into pieces. All indices are into `points`; `end` is where a look-ahead stops.
class PieceScanner {
 public:
  PieceScanner(const std::vector<CodePoint>& points, PreTokenizer kind) : points_(points), kind_(kind) {}

  /// The index after the piece that begins at `at`; at least at + 1.
  std::size_t next(std::size_t at) const {
    if (is(at, CodeClass::number)) return at + 1;
    if (const std::size_t after = contraction(at); after != at) return after;
    return kind_ == PreTokenizer::smollm ? next_gpt2(at) : next_qwen2(at);
  }

 private:
  std::size_t next_gpt2(std::size_t at) const {
    const std::size_t word = value(at) == ' ' ? at + 1 : at;
    if (is(word, CodeClass::letter)) return run(word, CodeClass::letter);
    if (is(word, CodeClass::other)) return run(word, CodeClass::other);
    // Numbers were cut out before this expression ran, so to its look-ahead they are the end of the text.
    const std::size_t end = run(at, CodeClass::space);
    return end == points_.size() || is(end, CodeClass::number) ? end : before_word(at, end);
  }

  std::size_t next_qwen2(std::size_t at) const {
    if (is(at, CodeClass::letter)) return run(at, CodeClass::letter);
    if (!newline(at) && is(at + 1, CodeClass::letter)) return run(at + 1, CodeClass::letter);
    const std::size_t sign = value(at) == ' ' ? at + 1 : at;
    if (is(sign, CodeClass::other)) {
      std::size_t end = run(sign, CodeClass::other);
      while (newline(end)) ++end;
      return end;
    }
    const std::size_t end = run(at, CodeClass::space);
    for (std::size_t i = end; i > at; --i)
      if (newline(i - 1)) return i;  // \s*[\r\n]+ ends at the last line break of the run
    return end == points_.size() ? end : before_word(at, end);
  }

  /// Spaces before a word leave the last one to it; a lone space that nothing takes is a piece.
  static std::size_t before_word(std::size_t at, std::size_t end) { return end - at > 1 ? end - 1 : end; }

  /// The index after 's 't 'm 'd 're 've 'll, or `at`.
  std::size_t contraction(std::size_t at) const {
    if (value(at) != '\'') return at;
    const char32_t a = lower(at + 1), b = lower(at + 2);
    if (a == 's' || a == 't' || a == 'm' || a == 'd') return at + 2;
    const bool two = (a == 'r' && b == 'e') || (a == 'v' && b == 'e') || (a == 'l' && b == 'l');
    return two ? at + 3 : at;
  }

  char32_t lower(std::size_t i) const {  // qwen2 ignores case here, GPT-2 does not
    const char32_t v = value(i);
    return kind_ == PreTokenizer::qwen2 && v >= 'A' && v <= 'Z' ? v + ('a' - 'A') : v;
  }

  char32_t value(std::size_t i) const { return i < points_.size() ? points_[i].value : 0; }
  bool is(std::size_t i, CodeClass kind) const { return i < points_.size() && points_[i].kind == kind; }
  bool newline(std::size_t i) const { return value(i) == '\r' || value(i) == '\n'; }
  std::size_t run(std::size_t i, CodeClass kind) const {
    while (is(i, kind)) ++i;
    return i;
  }

  const std::vector<CodePoint>& points_;
  PreTokenizer kind_;
};

/// The pieces of `text`, in order; joined they are `text`.
inline std::vector<std::string_view> split_pieces(std::string_view text, PreTokenizer kind) {
  const std::vector<CodePoint> points = code_points(text);
  const PieceScanner scanner(points, kind);
  std::vector<std::string_view> pieces;
  for (std::size_t at = 0; at < points.size();) {
    const std::size_t after = scanner.next(at);
    pieces.push_back(text.substr(points[at].begin, points[after - 1].end - points[at].begin));
    at = after;
  }
  return pieces;
}

}  // namespace engine
