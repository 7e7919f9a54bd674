// codebook/json.hpp: reads and writes codebooks/*.json; opt-in, the only header that includes nlohmann/json.
//
// The text may come from anywhere. It is read as a stream of tokens, so nesting costs no stack, and the first
// token that has no place in a codebook ends the reading; nothing is kept of a text that fails. Numbers are
// read and written the same in every locale, and a double comes back with the same bits.
#pragma once

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "../core/status.hpp"
#include "hash.hpp"

namespace tightkv::inline TIGHTKV_ABI {

struct LoadedCodebook {
  TableKind kind = TableKind::lloyd_max;
  std::uint32_t dim = 0;          ///< 0 = the Gaussian limit
  std::uint32_t bits = 0;         ///< code bits a coordinate
  std::vector<double> levels;     ///< in z-units (a coordinate of variance 1): ascending and symmetric
  std::vector<std::int8_t> int8;  ///< the levels that decide bytes; the largest is 127
  std::uint32_t gain_q16 = 0;     ///< int8 units in one z-unit, times 2^16
  double distortion = 0;          ///< E (z - level)^2
  std::uint64_t hash = 0;         ///< codebook_hash of the integers above

  bool operator==(const LoadedCodebook&) const = default;
};

/// A longer text is refused before it is read; the largest codebook has about 8 KiB.
inline constexpr std::size_t max_codebook_text = std::size_t{1} << 20;

namespace detail {

/// The shortest decimal that reads back to the same double.
inline std::string exact_text(double value) {
  std::array<char, 32> buffer{};
  return {buffer.data(), std::to_chars(buffer.data(), buffer.data() + buffer.size(), value).ptr};
}

inline std::string hex_text(std::uint64_t value) {
  std::string text(16, '0');
  for (std::size_t i = 16; i-- > 0; value >>= 4) text[i] = "0123456789abcdef"[value & 15];
  return text;
}

/// Foreign text for a message: short, in quotes, printable.
inline std::string in_quotes(std::string_view text) {
  std::string out = "\"";
  for (const char c : text.substr(0, 32)) out += c >= ' ' && c <= '~' ? c : '?';
  return out + (text.size() > 32 ? "...\"" : "\"");
}

template <class... Pieces>
Status bad_codebook(const Pieces&... pieces) {
  return Status::failure(ErrorCode::corrupt, "codebook: ", pieces...);
}

/// Receives nlohmann's tokens. A member that returns false ends the reading; `status` then says why.
class CodebookReader {
 public:
  LoadedCodebook book;
  Status status;

  bool start_object(std::size_t) { return inside_ ? wrong_type("an object") : (inside_ = true); }
  bool end_object() { return true; }
  bool start_array(std::size_t) {
    return in_array_ || (field_ != levels && field_ != int8) ? wrong_type("an array") : (in_array_ = true);
  }
  bool end_array() { return !(in_array_ = false); }

  bool key(const std::string& name) {
    field_ = static_cast<Field>(std::find(names.begin(), names.end(), name) - names.begin());
    if (field_ == none) return fail("unknown field ", in_quotes(name));
    if (seen_[field_]) return fail("field ", in_quotes(name), " appears twice");
    return seen_[field_] = true;
  }

  bool string(const std::string& text) {
    if (in_array_) return wrong_type("a string");
    if (field_ == format)
      return text == "tightkv-codebook" ||
             fail("format is ", in_quotes(text), ", it must be \"tightkv-codebook\"");
    if (field_ == kind) {
      book.kind = text == "trellis8" ? TableKind::trellis8 : TableKind::lloyd_max;
      return text == "trellis8" || text == "lloyd_max" ||
             fail("kind is ", in_quotes(text), ", it must be \"lloyd_max\" or \"trellis8\"");
    }
    if (field_ != hash) return wrong_type("a string");
    const auto end = std::from_chars(text.data(), text.data() + text.size(), book.hash, 16);
    return (end.ec == std::errc{} && hex_text(book.hash) == text) ||
           fail("hash is ", in_quotes(text), ", it must be 16 lower-case hex digits");
  }

  bool number_unsigned(std::uint64_t value) {
    if (in_array_ && field_ == int8) return push_int8(value <= 127, static_cast<int>(value & 127), value);
    if (field_ == levels || field_ == distortion) return number_float(static_cast<double>(value), {});
    if (field_ == version) return value == 1 || fail("version is ", value, ", this reader knows version 1");
    if (field_ == dim) return store(book.dim, value, 65535);
    if (field_ == bits) return store(book.bits, value, 8);
    if (field_ == gain_q16) return store(book.gain_q16, value, 0xffffffff);
    return wrong_type("a number");
  }
  bool number_integer(std::int64_t value) {  // a negative one: nlohmann reports the others as unsigned
    if (in_array_ && field_ == int8) return push_int8(value >= -127, static_cast<int>(value % 128), value);
    if (field_ == levels || field_ == distortion) return number_float(static_cast<double>(value), {});
    return wrong_type("a negative number");
  }
  bool number_float(double value, const std::string&) {
    if (field_ == distortion) return book.distortion = value, true;
    if (!in_array_ || field_ != levels) return wrong_type("a number with a fraction or an exponent");
    return book.levels.size() < max_levels ? (book.levels.push_back(value), true) : too_many();
  }

  bool null() { return wrong_type("null"); }
  bool boolean(bool) { return wrong_type("a truth value"); }
  bool binary(nlohmann::json::binary_t&) { return wrong_type("binary data"); }

  bool parse_error(std::size_t byte, const std::string&, const nlohmann::detail::exception& error) {
    return error.id == 406 ? fail("the number that ends at byte ", byte, " is beyond the range of double")
                           : fail("the JSON text breaks at byte ", byte);
  }

  /// After the last token: was every field there?
  Status complete() const {
    for (std::size_t i = 0; i < names.size(); ++i)
      if (!seen_[i]) return bad_codebook("field ", in_quotes(names[i]), " is missing");
    return {};
  }

 private:
  enum Field : std::size_t {
    format,
    version,
    kind,
    dim,
    bits,
    levels,
    int8,
    gain_q16,
    distortion,
    hash,
    none
  };
  static constexpr std::array<std::string_view, none> names = {
      "format", "version", "kind", "dim", "bits", "levels", "int8", "gain_q16", "distortion", "hash"};
  static constexpr std::array<std::string_view, none> types = {"a string",
                                                               "an integer",
                                                               "a string",
                                                               "an integer",
                                                               "an integer",
                                                               "a flat array of numbers",
                                                               "a flat array of integers",
                                                               "an integer",
                                                               "a number",
                                                               "a string"};
  static constexpr std::size_t max_levels = 256;

  template <class... Pieces>
  bool fail(const Pieces&... pieces) {
    status = bad_codebook(pieces...);
    return false;
  }
  bool wrong_type(std::string_view found) {
    if (field_ == none) return fail("the text holds ", found, ", it must be an object");
    return fail("field ", in_quotes(names[field_]), " holds ", found, ", it must be ", types[field_]);
  }
  bool too_many() {
    return fail("field ", in_quotes(names[field_]), " has more than ", max_levels, " numbers");
  }
  bool store(std::uint32_t& to, std::uint64_t value, std::uint32_t limit) {
    to = static_cast<std::uint32_t>(value);
    return value <= limit || fail(names[field_], " is ", value, ", the limit is ", limit);
  }
  bool push_int8(bool fits, int value, auto written) {
    if (!fits) return fail("int8 level ", book.int8.size(), " is ", written, ", it must be -127 to 127");
    if (book.int8.size() == max_levels) return too_many();
    book.int8.push_back(static_cast<std::int8_t>(value));
    return true;
  }

  Field field_ = none;
  bool inside_ = false, in_array_ = false;
  std::array<bool, none> seen_{};
};

/// Do the values make a codebook?
inline Status check_codebook(const LoadedCodebook& book) {
  const bool trellis = book.kind == TableKind::trellis8;
  const unsigned low = trellis ? 2 : 1, high = trellis ? 5 : 8;
  if (book.bits < low || book.bits > high)
    return bad_codebook("bits is ", book.bits, ", it must be ", low, " to ", high, " for this kind");
  if (book.dim != 0 && (book.dim < 4 || book.dim > 65535))
    return bad_codebook("dim is ", book.dim, ", it must be 0 (the Gaussian limit) or 4 to 65535");
  const std::size_t n = std::size_t{trellis ? 2u : 1u} << book.bits;
  if (book.levels.size() != n)
    return bad_codebook("there are ", book.levels.size(), " levels, it must be ", n);
  if (book.int8.size() != n)
    return bad_codebook("there are ", book.int8.size(), " int8 levels, it must be ", n);
  for (std::size_t i = 0; i < n; ++i)
    if (!std::isfinite(book.levels[i])) return bad_codebook("level ", i, " is not finite");
  const bool may_repeat = !trellis && book.bits >= 7;  // 2^7 levels and more do not fit strictly into int8
  for (std::size_t i = 0; i < n; ++i) {
    const double level = book.levels[i];
    const int rounded = book.int8[i];
    if (i > 0 && !(level > book.levels[i - 1]))
      return bad_codebook("level ", i, " is ", exact_text(level), ", not above the one before it");
    if (i > 0 && (rounded < book.int8[i - 1] || (rounded == book.int8[i - 1] && !may_repeat)))
      return bad_codebook("int8 level ", i, " is ", rounded, ", not above the one before it");
    if (level != -book.levels[n - 1 - i])
      return bad_codebook("level ", i, " is ", exact_text(level),
                          ", its mirror image is not the negative of that");
    if (rounded != -book.int8[n - 1 - i])
      return bad_codebook("int8 level ", i, " is ", rounded,
                          ", its mirror image is not the negative of that");
  }
  const double largest = book.levels.back(), gain = book.gain_q16 / 65536.0;
  if (book.int8.back() != 127)
    return bad_codebook("the largest int8 level is ", int{book.int8.back()}, ", it must be 127");
  if (largest < 0.25 || largest > 64)
    return bad_codebook("the largest level is ", exact_text(largest), ", it must be 0.25 to 64");
  for (std::size_t i = 0; i < n; ++i)
    if (!(std::abs(book.levels[i] * gain - book.int8[i]) < 0.51))
      return bad_codebook("int8 level ", i, " is ", int{book.int8[i]},
                          ", but level times gain_q16 / 65536 is ", exact_text(book.levels[i] * gain));
  if (!(book.distortion > 0 && book.distortion < 1))
    return bad_codebook("distortion is ", exact_text(book.distortion), ", it must be above 0 and below 1");
  const std::uint64_t hash = codebook_hash(book.kind, book.bits, book.dim, book.gain_q16, book.int8);
  if (book.hash != hash)
    return bad_codebook("hash is ", hex_text(book.hash), ", the integers of the file have ", hex_text(hash));
  return {};
}

template <class Numbers, class ToText>
std::string json_array(const Numbers& numbers, std::size_t in_line, ToText to_text) {
  std::string out = "[";
  for (std::size_t i = 0; i < numbers.size(); ++i)
    out += (i == 0 ? "\n    " : i % in_line == 0 ? ",\n    " : ", ") + to_text(numbers[i]);
  return out + "\n  ]";
}

}  // namespace detail

/// Reads one codebook file. On failure `out` stays as it was and the status names the value and its limit.
[[nodiscard]] inline Status try_load_codebook(std::string_view text, LoadedCodebook& out) noexcept {
  if (text.size() > max_codebook_text)
    return detail::bad_codebook("the text has ", text.size(), " bytes, the limit is ", max_codebook_text);
  if (const std::size_t zero = text.find('\0'); zero != text.npos)  // nlohmann takes it for the end
    return detail::bad_codebook("byte ", zero, " of the text is zero, it must be JSON");
  detail::CodebookReader reader;
  if (!nlohmann::json::sax_parse(text.begin(), text.end(), &reader)) return reader.status;
  TIGHTKV_TRY(reader.complete());
  TIGHTKV_TRY(detail::check_codebook(reader.book));
  out = std::move(reader.book);
  return {};
}

#if TIGHTKV_HAS_EXCEPTIONS
inline LoadedCodebook load_codebook(std::string_view text) {
  LoadedCodebook book;
  throw_if_failed(try_load_codebook(text, book));
  return book;
}
#endif

/// The text that load_codebook reads back to an equal codebook; equal codebooks have equal texts.
inline std::string to_json(const LoadedCodebook& book) {
  const auto field = [](std::string_view name, const std::string& value) {
    return detail::join("  \"", name, "\": ", value, ",\n");
  };
  return "{\n" + field("format", "\"tightkv-codebook\"") + field("version", "1") +
         field("kind", book.kind == TableKind::trellis8 ? "\"trellis8\"" : "\"lloyd_max\"") +
         field("dim", std::to_string(book.dim)) + field("bits", std::to_string(book.bits)) +
         field("levels", detail::json_array(book.levels, 4, detail::exact_text)) +
         field("int8", detail::json_array(book.int8, 16, [](int level) { return std::to_string(level); })) +
         field("gain_q16", std::to_string(book.gain_q16)) +
         field("distortion", detail::exact_text(book.distortion)) + "  \"hash\": \"" +
         detail::hex_text(book.hash) + "\"\n}\n";
}

}  // namespace tightkv::inline TIGHTKV_ABI
