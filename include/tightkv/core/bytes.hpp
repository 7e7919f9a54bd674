// core/bytes.hpp: little-endian words, alignment and the hash of the written format.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "../version.hpp"

namespace tightkv::inline TIGHTKV_ABI::bytes {

static_assert(
    std::endian::native == std::endian::little,
    "tightkv's blocks are little-endian and used in place; a big-endian port needs swapped loads here");

template <class T>
T load(const std::byte* from) noexcept {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

template <class T>
void store(std::byte* to, T value) noexcept {
  std::memcpy(to, &value, sizeof value);
}

constexpr std::size_t round_up(std::size_t n, std::size_t to) noexcept { return (n + to - 1) / to * to; }

/// FNV-1a, 64 bits: identifies tables and rotations in the written format. Not a defence against forgery.
class Hash {
 public:
  constexpr Hash& add_byte(std::uint8_t byte) noexcept {
    state_ = (state_ ^ byte) * 0x100000001b3u;
    return *this;
  }
  /// Adds an integer as its little-endian bytes.
  template <class T>
  constexpr Hash& add(T value) noexcept {
    auto bits = static_cast<std::uint64_t>(value);
    for (std::size_t i = 0; i < sizeof(T); ++i, bits >>= 8) add_byte(static_cast<std::uint8_t>(bits & 255u));
    return *this;
  }
  Hash& add_bytes(std::span<const std::byte> data) noexcept {
    for (const std::byte b : data) add_byte(static_cast<std::uint8_t>(b));
    return *this;
  }
  constexpr std::uint64_t value() const noexcept { return state_; }

 private:
  std::uint64_t state_ = 0xcbf29ce484222325u;
};

}  // namespace tightkv::inline TIGHTKV_ABI::bytes
