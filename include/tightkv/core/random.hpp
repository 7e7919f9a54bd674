// core/random.hpp: counter-based random numbers whose bits depend on (seed, stream, counter) and nothing
// else.
#pragma once

#include <array>
#include <cstdint>

#include "fixed.hpp"

namespace tightkv::inline TIGHTKV_ABI {

/// A random function: bits(i) is the i-th 64-bit word, in any order, without state. Word i is the SplitMix64
/// output for state key + i * golden (Steele, Lea, Flood 2014); the key mixes seed and stream so that streams
/// do not overlap.
class Random {
 public:
  constexpr Random(std::uint64_t seed, std::uint64_t stream) noexcept
      : key_(mix(mix(seed + golden) ^ (stream * golden))) {}

  constexpr std::uint64_t bits(std::uint64_t counter) const noexcept { return mix(key_ + counter * golden); }

 private:
  static constexpr std::uint64_t golden = 0x9e3779b97f4a7c15u;
  static constexpr std::uint64_t mix(std::uint64_t z) noexcept {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  std::uint64_t key_;
};

/// Streams: one number per use of randomness, so that no two parts of the library share bits under one seed.
enum class RandomStream : std::uint64_t {
  hadamard_signs = 1,
  haar = 2,
  gaussian_sketch = 3,
  orthogonal_sketch = 4,
  srht_sketch = 5
};

/// Standard normal numbers in units of 2^-16, by the polar method in integers (Marsaglia 1964): no libm, so
/// the same bits everywhere. The grid is the only visible error.
class IntegerNormal {
 public:
  constexpr IntegerNormal(std::uint64_t seed, RandomStream stream) noexcept
      : random_(seed, static_cast<std::uint64_t>(stream)) {}

  constexpr std::int32_t next() noexcept {
    if (has_spare_) return has_spare_ = false, spare_;
    const auto [first, second] = pair();
    spare_ = second, has_spare_ = true;
    return first;
  }

 private:
  /// -ln(s / 2^60) in units of 2^-40 for 0 < s < 2^60: the binary logarithm bit by bit, times ln 2.
  static constexpr std::uint64_t minus_log(std::uint64_t s) noexcept {
    const int length = fixed::bit_length(s);
    std::uint64_t x = (s << (63 - length)) >> 31;  // s scaled to [1, 2), 31 fraction bits
    std::uint64_t fraction = 0;
    for (int i = 0; i < 34; ++i) {
      x = (x * x) >> 31;
      fraction <<= 1;
      if (x >> 32) x >>= 1, fraction |= 1;
    }
    const std::uint64_t log2_q34 = (static_cast<std::uint64_t>(length - 1) << 34) + fraction;
    const std::uint64_t below_q26 = ((std::uint64_t{60} << 34) - log2_q34) >> 8;
    constexpr std::uint64_t ln2_q31 = 1488522236u;
    return (below_q26 * ln2_q31) >> 17;
  }

  /// Two independent normals from one point (x, y) of the unit disc: (x, y) / r * sqrt(-2 ln r^2).
  constexpr std::array<std::int32_t, 2> pair() noexcept {
    for (;;) {
      const std::uint64_t word = random_.bits(counter_++);
      const auto coordinate = [](std::uint64_t bits31) {  // odd, in units of 2^-31
        return static_cast<std::int64_t>(bits31) * 2 - (std::int64_t{1} << 31) + 1;
      };
      const std::int64_t x = coordinate(word >> 33), y = coordinate(word & 0x7fffffffu);
      const std::uint64_t square = static_cast<std::uint64_t>(x * x) + static_cast<std::uint64_t>(y * y);
      if (square >> 62 || square < 4) continue;
      const auto radius_q20 = static_cast<std::int64_t>(fixed::isqrt(minus_log(square >> 2) << 17) >> 8);
      const auto length = static_cast<std::int64_t>(fixed::isqrt(square));
      const auto scaled = [&](std::int64_t v) {
        const std::int64_t product = v * radius_q20;  // below 2^55
        const std::int64_t rounded = (product + (product < 0 ? -length : length) / 2) / length;
        return static_cast<std::int32_t>(fixed::shift_round(rounded, 4));
      };
      return {scaled(x), scaled(y)};
    }
  }

  Random random_;
  std::uint64_t counter_ = 0;
  std::int32_t spare_ = 0;
  bool has_spare_ = false;
};

}  // namespace tightkv::inline TIGHTKV_ABI
