// kernel/score/scalar.hpp: the definition of a score. Integer sums are exact: every other ISA gives the same
// integers.
#pragma once

#include "../isa.hpp"
#include "../query.hpp"

namespace tightkv::inline TIGHTKV_ABI::kernel {

/// sum_i levels[i] * (254 high[begin + i] + low[begin + i]). |sum of a plane| <= 1024 * 127 * 127 < 2^24.1,
/// so int32 holds it; the float result has at most two roundings (of 254 * high and of the sum).
inline float dot_integer(scalar, std::span<const std::int8_t> levels, const IntegerVector& q,
                         std::size_t begin = 0) noexcept {
  std::int32_t low = 0, high = 0;
  for (std::size_t i = 0; i < levels.size(); ++i) low += levels[i] * q.low[begin + i];
  if (!q.wide) return static_cast<float>(low);
  for (std::size_t i = 0; i < levels.size(); ++i) high += levels[i] * q.high[begin + i];
  return 254.0f * static_cast<float>(high) + static_cast<float>(low);
}

/// The same with the float query; error at most n eps sum |levels[i] q[i]|.
inline float dot_exact(scalar, std::span<const std::int8_t> levels, std::span<const float> q) noexcept {
  float sum = 0;
  for (std::size_t i = 0; i < levels.size(); ++i) sum += static_cast<float>(levels[i]) * q[i];
  return sum;
}

inline float dot_signs_integer(scalar, std::span<const std::uint8_t> signs, const IntegerVector& q) noexcept {
  std::int32_t low = 0, high = 0;
  for (std::size_t i = 0; i < signs.size(); ++i) {
    low += signs[i] ? q.low[i] : -q.low[i];
    high += signs[i] ? q.high[i] : -q.high[i];
  }
  return 254.0f * static_cast<float>(high) + static_cast<float>(low);
}

inline float dot_signs_exact(scalar, std::span<const std::uint8_t> signs, std::span<const float> q) noexcept {
  float sum = 0;
  for (std::size_t i = 0; i < signs.size(); ++i) sum += signs[i] ? q[i] : -q[i];
  return sum;
}

}  // namespace tightkv::inline TIGHTKV_ABI::kernel
