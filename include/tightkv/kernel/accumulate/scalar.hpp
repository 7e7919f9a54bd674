// kernel/accumulate/scalar.hpp: the definition of the weighted sum of values.
#pragma once

#include "../isa.hpp"
#include "../query.hpp"

namespace tightkv::inline TIGHTKV_ABI::kernel {

inline void accumulate_exact(scalar, std::span<const std::int8_t> levels, std::size_t stride,
                             std::span<const float> weights, std::span<float> sum) noexcept {
  for (std::size_t t = 0; t < weights.size(); ++t)
    for (std::size_t i = 0; i < sum.size(); ++i)
      sum[i] += weights[t] * static_cast<float>(levels[t * stride + i]);
}

/// Weights (not negative) are rounded to 16 bits of the block's largest, so each is off by at most largest /
/// 131,070; 64 * 65,535 * 127 < 2^30 stays inside int32. One plane of 8 bits would lose the mass of flat
/// blocks.
inline void accumulate_integer(scalar, std::span<const std::int8_t> levels, std::size_t stride,
                               std::span<const float> weights, std::span<float> sum) noexcept {
  float largest = 0;
  for (const float w : weights) largest = (std::max)(largest, w);
  if (!(largest > 0)) return;
  // Outside this range the factors below would overflow; such blocks are rare and lose nothing here.
  if (largest < 1e-30f || largest > 1e30f) return accumulate_exact(scalar{}, levels, stride, weights, sum);
  const float inverse = 65535.0f / largest;
  std::int32_t code[layout::block_tokens];
  for (std::size_t t = 0; t < weights.size(); ++t)
    code[t] = static_cast<std::int32_t>(weights[t] * inverse + 0.5f);
  std::int32_t total[max_head_dim] = {};
  for (std::size_t t = 0; t < weights.size(); ++t) {
    if (code[t] == 0) continue;
    const std::int8_t* row = levels.data() + t * stride;
    for (std::size_t i = 0; i < sum.size(); ++i) total[i] += code[t] * row[i];
  }
  const float unit = largest / 65535.0f;
  for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += unit * static_cast<float>(total[i]);
}

}  // namespace tightkv::inline TIGHTKV_ABI::kernel
