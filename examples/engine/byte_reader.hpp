// byte_reader.hpp: numbers and strings out of untrusted bytes; every step checks before it reads.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <string>

#include "error.hpp"

namespace engine {

class ByteReader {
 public:
  explicit ByteReader(std::span<const std::byte> bytes) : bytes_(bytes) {
    static_assert(std::endian::native == std::endian::little, "the numbers of a file are little-endian");
  }

  std::size_t size() const noexcept { return bytes_.size(); }
  std::size_t position() const noexcept { return at_; }
  std::size_t left() const noexcept { return bytes_.size() - at_; }
  std::span<const std::byte> range(std::size_t offset, std::size_t count) const {
    return bytes_.subspan(offset, count);
  }

  template <class T>
  T number(const std::string& what) {
    need(sizeof(T), what);
    T value;
    std::memcpy(&value, bytes_.data() + at_, sizeof value);
    at_ += sizeof value;
    return value;
  }

  /// A 64-bit length, then as many bytes.
  std::string string(const std::string& what,
                     std::uint64_t limit = std::numeric_limits<std::uint64_t>::max()) {
    const auto length = number<std::uint64_t>("the length of " + what);
    if (length > limit)
      fail(what + " has length " + std::to_string(length) + ", the limit is " + std::to_string(limit));
    need(length, what);
    std::string out(reinterpret_cast<const char*>(bytes_.data() + at_), static_cast<std::size_t>(length));
    at_ += out.size();
    return out;
  }

  /// A 64-bit number of things to come, each of at least `least_bytes`. Bounded by what is left, so the
  /// caller may reserve memory for that many.
  std::size_t count(const std::string& what, std::uint64_t least_bytes) {
    const auto value = number<std::uint64_t>(what);
    check_count(value, what, least_bytes);
    return static_cast<std::size_t>(value);
  }

  void check_count(std::uint64_t value, const std::string& what, std::uint64_t least_bytes) const {
    const std::uint64_t limit = left() / least_bytes;
    if (value > limit)
      fail(what + " is " + std::to_string(value) + ", but the rest of the file has room for " +
           std::to_string(limit));
  }

  [[noreturn]] void fail(const std::string& why) const {
    throw Error("gguf: " + why + " (near byte " + std::to_string(at_) + " of " + std::to_string(size()) +
                ")");
  }

 private:
  void need(std::uint64_t bytes, const std::string& what) const {
    if (bytes > left())
      fail("the file ends inside " + what + ": " + std::to_string(bytes) + " bytes wanted, " +
           std::to_string(left()) + " left");
  }

  std::span<const std::byte> bytes_;
  std::size_t at_ = 0;
};

}  // namespace engine
