// core/status.hpp: how a call says that it failed: a Status from try_x, an Error from x.
#pragma once

#include <charconv>
#include <concepts>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "../version.hpp"
#if TIGHTKV_HAS_EXCEPTIONS
#include <stdexcept>
#endif

namespace tightkv::inline TIGHTKV_ABI {

enum class ErrorCode {
  ok,
  invalid_argument,  // a value outside its limits, a wrong shape
  non_finite,        // NaN or infinity in the data
  unsupported,       // a combination that does not exist
  corrupt,           // bytes from outside that fail a check
  out_of_memory,     // the page source is exhausted
};

namespace detail {

inline void append_piece(std::string& to, std::string_view piece) { to += piece; }
inline void append_piece(std::string& to, std::integral auto number) { to += std::to_string(number); }
inline void append_piece(std::string& to, std::floating_point auto number) {  // to_chars: no locale
  char text[32];
  const auto end = std::to_chars(text, text + sizeof text, number, std::chars_format::general, 6).ptr;
  to.append(text, end);
}

/// Joins words and numbers to one sentence: join("dim ", 7, " is odd"). Independent of the locale for
/// integers.
template <class... Pieces>
std::string join(const Pieces&... pieces) {
  std::string text;
  (append_piece(text, pieces), ...);
  return text;
}

}  // namespace detail

/// The outcome of a try_ call: ok, or a code and a sentence that names the value and the limit.
class [[nodiscard]] Status {
 public:
  Status() noexcept = default;

  /// failure(code, "head_dim is ", 7, ", it must be even"): pieces are joined to the sentence.
  template <class... Pieces>
  static Status failure(ErrorCode code, const Pieces&... pieces) {
    Status status;
    status.code_ = code;
    status.message_ = detail::join(pieces...);
    return status;
  }

  bool ok() const noexcept { return code_ == ErrorCode::ok; }
  ErrorCode code() const noexcept { return code_; }
  const std::string& message() const noexcept { return message_; }

 private:
  ErrorCode code_ = ErrorCode::ok;
  std::string message_;
};

#if TIGHTKV_HAS_EXCEPTIONS
/// What x throws where try_x returns a failed Status.
class Error : public std::runtime_error {
 public:
  explicit Error(const Status& status) : std::runtime_error(status.message()), code_(status.code()) {}
  ErrorCode code() const noexcept { return code_; }

 private:
  ErrorCode code_;
};

/// Throws Error unless the status is ok.
inline void throw_if_failed(const Status& status) {
  if (!status.ok()) throw Error(status);
}
#endif

}  // namespace tightkv::inline TIGHTKV_ABI

/// Leaves the calling function with the failed Status of `expression`.
#define TIGHTKV_TRY(expression)                                                          \
  do {                                                                                   \
    if (auto tightkv_status = (expression); !tightkv_status.ok()) return tightkv_status; \
  } while (false)
