// detail/cosine.hpp: cos(pi p / q) in integers, so that a DCT decides the same bytes everywhere.
#pragma once

#include <cstdint>

#include "../core/fixed.hpp"

namespace tightkv::inline TIGHTKV_ABI::detail {

/// cos(pi * p / q) in units of 2^-30, error below 2^-28; p, q > 0 and below 2^20.
constexpr std::int64_t cosine_q30(std::uint64_t p, std::uint64_t q) noexcept {
  p %= 2 * q;
  if (p > q) p = 2 * q - p;         // cos(2 pi - a) = cos(a)
  const bool negative = 2 * p > q;  // cos(pi - a) = -cos(a)
  if (negative) p = q - p;
  constexpr std::uint64_t pi_q40 = 3454217652358u;
  const auto angle = static_cast<std::int64_t>((p * pi_q40 / q) >> 10);  // a in [0, pi/2], 30 fraction bits
  const std::int64_t square = fixed::shift_round(angle * angle, 30);
  constexpr std::int64_t one = std::int64_t{1} << 30;
  std::int64_t term = one, sum = one;
  for (std::int64_t k = 1; k <= 9; ++k) {  // Taylor: a^18/18! is below 2^-40
    term = -fixed::shift_round(term * square, 30) / ((2 * k - 1) * (2 * k));
    sum += term;
  }
  return negative ? -sum : sum;
}

}  // namespace tightkv::inline TIGHTKV_ABI::detail
