// kernel/scalar.hpp: the table of portable kernels: the definition that every other table is tested against.
#pragma once

#include <cmath>

#include "kernels.hpp"
#include "pack/scalar.hpp"

namespace tightkv::inline TIGHTKV_ABI::kernel::on_scalar {

/// The levels of one vector from its codes, as codebook/trellis.hpp and the tables define them.
inline void levels_of(const LevelPlan& plan, const std::uint8_t* codes, std::int8_t* levels) noexcept {
  const std::size_t n = plan.dim, units = n / 16;
  for (std::size_t i = 0; i < n; ++i) {
    if (plan.decode == Decode::identity) {
      levels[i] = static_cast<std::int8_t>(codes[i] - plan.offset);
    } else if (plan.decode == Decode::table) {
      levels[i] = plan.level[codes[i]];
    } else {
      const std::size_t step = i % 16 * units + i / 16;  // dim 16 j + i is step i * units + j
      const auto u = [&](std::size_t back) -> unsigned {
        if (step < back) return 0;
        const std::size_t s = step - back;
        return codes[s % units * 16 + s / units] & 1u;
      };
      levels[i] =
          plan.level[(static_cast<unsigned>(codes[i] >> 1) << 2) | ((u(0) ^ u(1) ^ u(3)) << 1) | u(2)];
    }
  }
}

inline void score(const LevelPlan& plan, const std::byte* tiles, std::size_t tile_bytes, std::size_t begin,
                  std::size_t end, const QueryCode* q, std::size_t n, std::int32_t* sums) noexcept {
  std::uint8_t codes[layout::tile_tokens * (max_head_dim + 16)];
  std::int8_t levels[max_head_dim + 16];
  for (std::size_t tile = 0; tile < 4; ++tile) {
    unpack_key_tile(scalar{}, plan.dim, plan.bits, tiles + tile * tile_bytes, codes);
    for (std::size_t t = 0; t < layout::tile_tokens; ++t) {
      levels_of(plan, codes + t * plan.dim, levels);
      for (std::size_t k = 0; k < n; ++k) {
        std::int32_t sum = 0;
        for (std::size_t i = begin; i < end; ++i) sum += levels[i] * q[k].values[i];
        sums[k * 64 + tile * 16 + t] = sum;
      }
    }
  }
}

inline void accumulate(const LevelPlan& plan, const std::byte* words, std::size_t begin, std::size_t end,
                       const WeightCode* w, std::size_t n) noexcept {
  std::uint8_t codes[layout::block_tokens * (max_head_dim + 16)];
  std::int8_t levels[layout::block_tokens * (max_head_dim + 16)];
  unpack_value_block(scalar{}, plan.dim, plan.bits, words, codes);
  for (std::size_t t = 0; t < layout::block_tokens; ++t)
    levels_of(plan, codes + t * plan.dim, levels + t * plan.dim);
  for (std::size_t k = 0; k < n; ++k) {
    std::int32_t total[max_head_dim + 16] = {};
    for (std::size_t t = 0; t < layout::block_tokens; ++t) {
      const std::int32_t weight = 256 * w[k].high[t] + w[k].low[t];
      for (std::size_t i = begin; i < end; ++i) total[i] += weight * levels[t * plan.dim + i];
    }
    for (std::size_t i = begin; i < end; ++i) w[k].sum[i] += w[k].unit * static_cast<float>(total[i]);
  }
}

inline void scale_sums(const std::int32_t* high, const std::int32_t* low, float unit, const float* scales,
                       bool add, float* to) noexcept {
  for (std::size_t t = 0; t < layout::block_tokens; ++t) {
    const float sum = (high ? 254.0f * static_cast<float>(high[t]) : 0.0f) + static_cast<float>(low[t]);
    to[t] = (add ? to[t] : 0.0f) + sum * unit * scales[t];
  }
}

inline float softmax(float* logits, float& maximum, float& mass) noexcept {
  float largest = maximum;
  for (std::size_t t = 0; t < layout::block_tokens; ++t) largest = (std::max)(largest, logits[t]);
  if (largest <= hidden_logit) {
    std::fill_n(logits, layout::block_tokens, 0.0f);
    return 1;
  }
  const float owed = maximum <= hidden_logit ? 0.0f : std::exp(maximum - largest);
  float sum = 0;
  for (std::size_t t = 0; t < layout::block_tokens; ++t) {
    logits[t] = logits[t] <= hidden_logit ? 0.0f : std::exp(logits[t] - largest);
    sum += logits[t];
  }
  mass = mass * owed + sum;
  maximum = largest;
  return owed;
}

inline float weigh(const float* weights, const float* scales, std::uint8_t* high,
                   std::uint8_t* low) noexcept {
  float product[layout::block_tokens], largest = 0;
  for (std::size_t t = 0; t < layout::block_tokens; ++t) {
    product[t] = weights[t] * scales[t];
    largest = (std::max)(largest, product[t]);
  }
  if (!(largest > 0)) {
    std::fill_n(high, layout::block_tokens, std::uint8_t{0});
    std::fill_n(low, layout::block_tokens, std::uint8_t{0});
    return 0;
  }
  const float lift = weight_lift(largest), factor = 65535.0f / (largest * lift);
  for (std::size_t t = 0; t < layout::block_tokens; ++t) {
    const auto code = (std::min)(static_cast<std::uint32_t>(product[t] * lift * factor + 0.5f), 65535u);
    high[t] = static_cast<std::uint8_t>(code >> 8);
    low[t] = static_cast<std::uint8_t>(code & 255u);
  }
  return largest * lift * (1.0f / 65535.0f) / lift;
}

inline void dot_rows(const std::byte* first, std::size_t stride, ElementType type, std::size_t rows,
                     std::size_t dim, const float* const* q, std::size_t n, float* out) noexcept {
  float row[max_head_dim];
  for (std::size_t t = 0; t < rows; ++t) {
    for (std::size_t i = 0; i < dim; ++i) row[i] = tightkv::detail::load_element(first + t * stride, type, i);
    for (std::size_t k = 0; k < n; ++k) {
      float sum = 0;
      for (std::size_t i = 0; i < dim; ++i) sum += q[k][i] * row[i];
      out[k * 64 + t] = sum;
    }
  }
}

inline void add_rows(const std::byte* first, std::size_t stride, ElementType type, std::size_t rows,
                     std::size_t dim, const float* weights, std::size_t n, float* const* sum) noexcept {
  float row[max_head_dim];
  for (std::size_t t = 0; t < rows; ++t) {
    for (std::size_t i = 0; i < dim; ++i) row[i] = tightkv::detail::load_element(first + t * stride, type, i);
    for (std::size_t k = 0; k < n; ++k)
      for (std::size_t i = 0; i < dim; ++i) sum[k][i] += weights[k * 64 + t] * row[i];
  }
}

inline void widen(const std::byte* halfs, std::size_t count, int exponent, float* out) noexcept {
  for (std::size_t i = 0; i < count; ++i)
    out[i] = fixed::scale_by(to_float(Half{bytes::load<std::uint16_t>(halfs + 2 * i)}), exponent);
}

inline void affine(float* values, std::size_t count, float factor, float addend) noexcept {
  for (std::size_t i = 0; i < count; ++i) values[i] = values[i] * factor + addend;
}

inline std::uint32_t largest(const std::byte* row, ElementType type, std::size_t count) noexcept {
  std::uint32_t bits = 0;
  for (std::size_t i = 0; i < count; ++i)
    bits = (std::max)(bits, tightkv::detail::float_bits(row, type, i) & 0x7fffffffu);
  return bits;
}

inline void convert(const std::byte* from, ElementType from_type, std::size_t count, std::byte* to,
                    ElementType to_type) noexcept {
  if (from_type == to_type) {
    std::memcpy(to, from, count * element_size(to_type));
    return;
  }
  for (std::size_t i = 0; i < count; ++i)
    tightkv::detail::convert_element(from, from_type, i, to_type, to + i * element_size(to_type));
}

inline void multiply(float* values, std::size_t count, float factor) noexcept {
  for (std::size_t i = 0; i < count; ++i) values[i] *= factor;
}

inline constexpr Kernels table = {"scalar", score, accumulate, scale_sums, softmax, weigh,   dot_rows,
                                  add_rows, widen, affine,     largest,    convert, multiply};

}  // namespace tightkv::inline TIGHTKV_ABI::kernel::on_scalar
