// kernel/block.hpp: the steps that codecs build their block scores and sums from.
#pragma once

#include "kernels.hpp"
#include "query.hpp"

namespace tightkv::inline TIGHTKV_ABI {

/// The keys of a block as they lie in it; scales widened to floats, (64, scales a vector).
struct PackedKeys {
  const std::byte* tiles = nullptr;
  std::size_t tile_bytes = 0;
  const std::byte* raw = nullptr;  // (64, raw bytes)
  std::span<const float> scales;
};

struct PackedValues {
  const std::byte* words = nullptr;
  const std::byte* raw = nullptr;
  std::span<const float> scales;
};

namespace kernel {

inline constexpr std::size_t max_queries = 8;  ///< queries that share one pass over a block

/// to[k * 64 + t] = scales[t] <levels of token t, q_k> over dims [begin, end), or added to `to`: both planes
/// of a wide code go through the integer kernel as queries of their own. n <= max_queries.
inline void dot_block(const Kernels& on, const LevelPlan& plan, const std::byte* tiles,
                      std::size_t tile_bytes, std::size_t begin, std::size_t end,
                      const IntegerVector* const* codes, std::size_t n, const float* scales, bool add,
                      float* to) noexcept {
  QueryCode planes[2 * max_queries];
  std::int32_t sums[2 * max_queries * layout::block_tokens];
  const bool whole = begin == 0 && end == plan.dim;
  const auto plane = [&](const Buffer<std::int8_t>& values, std::int32_t total) {
    if (!whole) {
      total = 0;
      for (std::size_t i = begin; i < end; ++i) total += values[i];
    }
    return QueryCode{values.data(), total};
  };
  const bool wide = codes[0]->wide;
  for (std::size_t k = 0; k < n; ++k) {
    planes[k] = plane(codes[k]->low, codes[k]->low_sum);
    if (wide) planes[n + k] = plane(codes[k]->high, codes[k]->high_sum);
  }
  on.score(plan, tiles, tile_bytes, begin, end, planes, wide ? 2 * n : n, sums);
  for (std::size_t k = 0; k < n; ++k) {
    const std::int32_t* low = sums + k * layout::block_tokens;
    on.scale_sums(wide ? low + n * layout::block_tokens : nullptr, low, codes[k]->scale, scales, add,
                  to + k * layout::block_tokens);
  }
}

/// Every `stride`-th of a block's scales: what dot_block and sum_block want side by side.
struct ScaleColumn {
  float values[layout::block_tokens];

  ScaleColumn(std::span<const float> scales, std::size_t first, std::size_t stride) noexcept {
    for (std::size_t t = 0; t < layout::block_tokens; ++t) values[t] = scales[t * stride + first];
  }
};

/// sums[k][i] += sum_t weights[k * 64 + t] scales[t] level_t[i], dims [begin, end). n <= max_queries.
inline void sum_block(const Kernels& on, const LevelPlan& plan, const std::byte* words, std::size_t begin,
                      std::size_t end, const float* scales, const float* weights, std::size_t n,
                      float* const* sums) noexcept {
  std::uint8_t high[max_queries * layout::block_tokens], low[max_queries * layout::block_tokens];
  WeightCode codes[max_queries];
  for (std::size_t k = 0; k < n; ++k) {
    const std::size_t at = k * layout::block_tokens;
    codes[k] = {high + at, low + at, on.weigh(weights + at, scales, high + at, low + at), sums[k]};
  }
  on.accumulate(plan, words, begin, end, codes, n);
}

}  // namespace kernel

}  // namespace tightkv::inline TIGHTKV_ABI
