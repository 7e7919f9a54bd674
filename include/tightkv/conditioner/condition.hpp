// conditioner/condition.hpp: a row as it came, minus the mean, times the channel scale, as integers ready to
// encode.
#pragma once

#include "balanced.hpp"

namespace tightkv::inline TIGHTKV_ABI {

/// What is frozen for one side of one kv head: applied to every vector before coding. Empty parts do nothing.
struct Condition {
  HalfVector mean;
  Buffer<Half> channel_scale;
};

/// x * 2^unit = (row - mean) * channel_scale with |x_i| < 2^headroom_bits(dim); returns unit. The row keeps
/// 28 bits of the larger of row and mean; the subtraction and the product are exact in 64 bits, then the
/// vector is rounded once. Dims from mean.values.size() on (a codec's raw part) pass unchanged.
inline int condition_row(const std::byte* row, ElementType type, const Condition& condition,
                         std::span<std::int32_t> x) noexcept {
  const std::size_t dim = x.size(), centred = condition.mean.values.size(),
                    scaled = condition.channel_scale.size();
  int e = -1000;
  for (std::size_t i = 0; i < dim; ++i)
    e = (std::max)(e, fixed::exponent_above(detail::float_bits(row, type, i)));
  for (const Half h : condition.mean.values)
    e = (std::max)(e, fixed::exponent_above(h, condition.mean.exponent));
  if (e < -900) {
    std::fill(x.begin(), x.end(), 0);
    return 0;
  }
  int unit = e - 28;
  std::int64_t values[max_head_dim];
  for (std::size_t i = 0; i < dim; ++i) {
    values[i] = fixed::from_float_bits(detail::float_bits(row, type, i), unit);
    if (i < centred) values[i] -= fixed::from_half(condition.mean.values[i], condition.mean.exponent, unit);
    // A half in [1/8, 8] is a multiple of 2^-13.
    if (scaled)
      values[i] *= i < scaled ? fixed::from_half(condition.channel_scale[i], 0, -13) : std::int64_t{1} << 13;
  }
  if (scaled) unit -= 13;
  return unit + detail::normalise({values, dim}, x, dim);
}

/// q / channel_scale into out: what meets a scaled key.
inline void condition_query(std::span<const float> q, const Condition& condition,
                            std::span<float> out) noexcept {
  for (std::size_t i = 0; i < q.size(); ++i)
    out[i] = i < condition.channel_scale.size() ? q[i] / to_float(condition.channel_scale[i]) : q[i];
}

/// <q, mean>, the part of every packed score of a head that the codes do not hold.
inline float mean_score(std::span<const float> q, const HalfVector& mean) noexcept {
  float sum = 0;
  for (std::size_t i = 0; i < mean.values.size(); ++i) sum += q[i] * mean.at(i);
  return sum;
}

}  // namespace tightkv::inline TIGHTKV_ABI
