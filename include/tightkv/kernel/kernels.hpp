// kernel/kernels.hpp: the table of kernels that a block of attention runs on, and which table this CPU gets.
#pragma once

#include "encode.hpp"
#include "plan.hpp"

namespace tightkv::inline TIGHTKV_ABI::kernel {

/// The logit of a token that a query must not see. A number, not infinity: -ffast-math may assume there is
/// none.
inline constexpr float hidden_logit = -3.0e38f;

/// A power of two that brings tiny weights into the range where 65535 / largest is finite; 1 for usual ones.
inline float weight_lift(float largest) noexcept { return largest < 1e-20f ? 18446744073709551616.0f : 1.0f; }

/// One instruction set's kernels. All work on one block of 64 tokens; none allocates.
struct Kernels {
  const char* name;

  /// sums[k * 64 + t] = <levels of token t, q[k]>, k < n, over dims [begin, end): begin a multiple of 32, end
  /// one too or the padded dim; q[k].sum is over these dims. Tiles of 16 tokens are tile_bytes apart.
  /// Integers: equal on every ISA.
  void (*score)(const LevelPlan& plan, const std::byte* tiles, std::size_t tile_bytes, std::size_t begin,
                std::size_t end, const QueryCode* q, std::size_t n, std::int32_t* sums) noexcept;

  /// w[k].sum[i] += w[k].unit * sum_t (256 high[t] + low[t]) level_t[i], k < n, dims [begin, end): multiples
  /// of 16. The integer is equal on every ISA, the float has one product and one sum.
  void (*accumulate)(const LevelPlan& plan, const std::byte* words, std::size_t begin, std::size_t end,
                     const WeightCode* w, std::size_t n) noexcept;

  /// to[t] = (254 high[t] + low[t]) * unit * scales[t], t < 64, added to `to` if `add`; high may be nullptr
  /// (0).
  void (*scale_sums)(const std::int32_t* high, const std::int32_t* low, float unit, const float* scales,
                     bool add, float* to) noexcept;

  /// exp of 64 logits against the running maximum, in place; returns the factor that earlier sums owe. See
  /// OnlineSoftmax.
  float (*softmax)(float* logits, float& maximum, float& mass) noexcept;

  /// weights[t] * scales[t] rounded to 16 bits of the largest product: high and low bytes; returns the unit
  /// (0: all are 0). Not negative.
  float (*weigh)(const float* weights, const float* scales, std::uint8_t* high, std::uint8_t* low) noexcept;

  /// out[k * 64 + t] = <q[k], row t> for `rows` raw rows `stride` bytes apart, dim values each.
  void (*dot_rows)(const std::byte* first, std::size_t stride, ElementType type, std::size_t rows,
                   std::size_t dim, const float* const* q, std::size_t n, float* out) noexcept;

  /// sum[k][i] += sum_t weights[k * 64 + t] row_t[i].
  void (*add_rows)(const std::byte* first, std::size_t stride, ElementType type, std::size_t rows,
                   std::size_t dim, const float* weights, std::size_t n, float* const* sum) noexcept;

  /// out[i] = half i * 2^exponent
  void (*widen)(const std::byte* halfs, std::size_t count, int exponent, float* out) noexcept;

  /// values[i] = values[i] * factor + addend
  void (*affine)(float* values, std::size_t count, float factor, float addend) noexcept;

  /// The largest |value| of a row as binary32 bits: at least 0x7f800000 if one is not finite.
  std::uint32_t (*largest)(const std::byte* row, ElementType type, std::size_t count) noexcept;

  /// A row in another element type (to nearest even), or copied.
  void (*convert)(const std::byte* from, ElementType from_type, std::size_t count, std::byte* to,
                  ElementType to_type) noexcept;

  /// values[i] *= factor
  void (*multiply)(float* values, std::size_t count, float factor) noexcept;

  /// The codes and sums of 16 vectors; false if this table has no kernel for the tile, nullptr if it has none
  /// at all. Integers only: the same bytes on every ISA.
  bool (*encode)(EncodeTile& tile) noexcept = nullptr;

  /// Hadamard::forward or inverse of `count` vectors of `dim` floats, one after the other; nullptr if there
  /// is none. Within float rounding of the definition.
  void (*rotate)(const HadamardView& rotation, float* vectors, std::size_t count, std::size_t dim,
                 bool inverse) noexcept = nullptr;
};

}  // namespace tightkv::inline TIGHTKV_ABI::kernel
