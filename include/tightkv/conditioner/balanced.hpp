// conditioner/balanced.hpp: a channel scale (E[q^2] / Var[k])^(1/4) that spreads the error where queries do
// not look.
#pragma once

#include "mean.hpp"

namespace tightkv::inline TIGHTKV_ABI {

namespace detail {

/// log2(x) in units of 2^-20 for x > 0, bit by bit, in integers.
constexpr std::int64_t log2_q20(std::uint64_t x) noexcept {
  const int length = fixed::bit_length(x);
  std::uint64_t m = length > 32 ? x >> (length - 32) : x << (32 - length);  // [2^31, 2^32)
  std::int64_t fraction = 0;
  for (int i = 0; i < 20; ++i) {
    m = (m * m) >> 31;
    fraction <<= 1;
    if (m >> 32) m >>= 1, fraction |= 1;
  }
  return (std::int64_t{length - 1} << 20) + fraction;
}

/// The half in [1/8, 8] whose log2 is nearest from below to target (units of 2^-20).
constexpr Half half_exp2(std::int64_t target_q20) noexcept {
  std::uint16_t low = 12 << 10, high = 18 << 10;  // 2^-3 and 2^3; halfs order as their bits
  while (low < high) {
    const auto middle = static_cast<std::uint16_t>((low + high + 1) / 2);
    const std::int64_t log2 = log2_q20(1024u + (middle & 1023u)) + ((std::int64_t{middle >> 10} - 25) << 20);
    if (log2 <= target_q20)
      low = middle;
    else
      high = static_cast<std::uint16_t>(middle - 1);
  }
  return Half{low};
}

/// Mean over the rows of (x - mean)^2 per channel, in a common unit of its own, plus 3 % of its average over
/// the channels so that a silent channel does not get all the range; at least 1.
inline Buffer<std::uint64_t> channel_power(const RowsView& rows, const HalfVector* mean) {
  int e = exponent_above(rows);
  if (mean)
    for (const Half h : mean->values) e = (std::max)(e, fixed::exponent_above(h, mean->exponent));
  Buffer<std::uint64_t> power(rows.dim, 1);
  if (e < -900) return power;
  const int unit = e - 20;
  std::uint64_t all = 0;
  for (std::size_t i = 0; i < rows.dim; ++i) {
    std::uint64_t sum = 0;
    const std::int64_t center = mean ? fixed::from_half(mean->values[i], mean->exponent, unit) : 0;
    for (std::size_t t = 0; t < rows.count; ++t) {
      const std::int64_t x = fixed::from_float_bits(float_bits(rows.row(t), rows.type, i), unit) - center;
      sum += static_cast<std::uint64_t>(x * x);
    }
    power[i] = sum / rows.count;
    all += power[i];
  }
  for (std::uint64_t& p : power) p += all / rows.dim * 3 / 100 + 1;
  return power;
}

}  // namespace detail

/// Factors g per channel with geometric mean 1, clamped to [1/8, 8]: keys are coded as g k, queries meet them
/// as q / g. `keys`: the first block after `mean`'s subtraction; `queries`: those of all query heads of the
/// group at the same positions, after RoPE (count = tokens * heads), or none: then E[q^2] counts as equal
/// over channels.
inline Buffer<Half> balanced_scale(const RowsView& keys, const HalfVector& mean, const RowsView& queries) {
  const auto key_power = detail::channel_power(keys, &mean);
  const auto query_power =
      queries.count ? detail::channel_power(queries, nullptr) : Buffer<std::uint64_t>(keys.dim, 1);
  Buffer<std::int64_t> log_scale(keys.dim);
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < keys.dim; ++i) {
    log_scale[i] = (detail::log2_q20(query_power[i]) - detail::log2_q20(key_power[i])) / 4;
    sum += log_scale[i];
  }
  const std::int64_t average = sum / static_cast<std::int64_t>(keys.dim);
  Buffer<Half> scale(keys.dim);
  for (std::size_t i = 0; i < keys.dim; ++i) scale[i] = detail::half_exp2(log_scale[i] - average);
  return scale;
}

}  // namespace tightkv::inline TIGHTKV_ABI
