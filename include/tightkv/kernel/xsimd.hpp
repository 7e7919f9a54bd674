// kernel/xsimd.hpp: opt-in: kernels for CPUs without hand-written ones, by xsimd, at the flags of this build.
#pragma once

#include <xsimd/xsimd.hpp>

#include "dispatch.hpp"

// Including this header in any unit of a program puts the table "xsimd" among the candidates of dispatch.hpp:
// behind the hand-written ones, before scalar. TIGHTKV_ISA=xsimd forces it. It runs wherever the unit runs,
// since it has no target region: -m flags decide how wide it is. Units with other flags have a table of their
// own or none (the inline namespace keeps them apart). The registration is done before main; what attends
// earlier, from a static constructor, may miss it.
#if defined(__GNUC__) && !defined(__clang__)
// g++ 12 warns about the undefined value in its own AVX-512 intrinsics, where xsimd's functions are inlined.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
namespace tightkv::inline TIGHTKV_ABI::kernel::on_xsimd {

using fvec = ::xsimd::batch<float>;
inline constexpr std::size_t floats = fvec::size;
static_assert(layout::dim_unit % floats == 0, "a unit of 16 dims must be whole vectors");

inline fvec load_floats(const float* from) noexcept { return fvec::load_unaligned(from); }
inline void store_floats(float* to, fvec v) noexcept { v.store_unaligned(to); }
inline fvec all(float x) noexcept { return fvec(x); }
inline fvec multiply_add(fvec a, fvec b, fvec c) noexcept { return ::xsimd::fma(a, b, c); }
inline fvec maximum(fvec a, fvec b) noexcept { return (::xsimd::max)(a, b); }

/// A vector's values one by one.
struct Lanes {
  float lane[floats];
  explicit Lanes(fvec v) noexcept { v.store_unaligned(lane); }
};
inline float first_of(fvec v) noexcept { return Lanes(v).lane[0]; }
inline float sum_of(fvec v) noexcept {
  float sum = 0;
  for (const float x : Lanes(v).lane) sum += x;
  return sum;
}
inline float largest_of(fvec v) noexcept {
  const Lanes l(v);
  float largest = l.lane[0];
  for (const float x : l.lane) largest = x > largest ? x : largest;
  return largest;
}
/// v <= 0, |v| < 2^31. By conversion: the usual addition of 2^23 does not survive -ffast-math.
inline fvec nearest_integer(fvec v) noexcept { return ::xsimd::to_float(::xsimd::to_int(v - all(0.5f))); }
/// p 2^n, n a whole number in [-126, 0]
inline fvec times_power_of_two(fvec p, fvec n) noexcept { return ::xsimd::ldexp(p, ::xsimd::to_int(n)); }
/// v where s > limit, 0 elsewhere
inline fvec where_above(fvec s, fvec limit, fvec v) noexcept { return ::xsimd::select(s > limit, v, all(0)); }
/// 2 or 4 bytes a value of a raw row as floats.
template <ElementType Type>
inline fvec load_row(const std::byte* row, std::size_t i) noexcept {
  float lane[floats];
  for (std::size_t k = 0; k < floats; ++k) lane[k] = tightkv::detail::load_element(row, Type, i + k);
  return load_floats(lane);
}
/// Whole parts of v, at most 65535, as two bytes each.
inline void store_bytes(fvec v, std::uint8_t* high, std::uint8_t* low) noexcept {
  const Lanes l(v);
  for (std::size_t k = 0; k < floats; ++k) {
    const auto whole = static_cast<std::uint32_t>(l.lane[k]), code = whole < 65535 ? whole : 65535;
    high[k] = static_cast<std::uint8_t>(code >> 8), low[k] = static_cast<std::uint8_t>(code & 255);
  }
}

#include "simd/rows.inc"

// Whole numbers below 2^24 are exact in binary32, in any order of summation, so floats give the integers of
// the definition.
static_assert(max_head_dim * 128 * 127 < (1u << 24) && layout::block_tokens * 255 * 128 < (1u << 24));

/// As Kernels::score.
inline bool score(const LevelPlan& plan, const std::byte* tiles, std::size_t begin, std::size_t end,
                  const QueryCode* q, std::size_t n, std::size_t tile_bytes, std::int32_t* sums) noexcept {
  std::uint8_t codes[layout::tile_tokens * (max_head_dim + 16)];
  std::int8_t levels[max_head_dim + 16];
  float query[max_head_dim + 16];
  float row[layout::tile_tokens][max_head_dim + 16];
  for (std::size_t tile = 0; tile < layout::block_tokens / layout::tile_tokens; ++tile) {
    unpack_key_tile(scalar{}, plan.dim, plan.bits, tiles + tile * tile_bytes, codes);
    for (std::size_t t = 0; t < layout::tile_tokens; ++t) {
      on_scalar::levels_of(plan, codes + t * plan.dim, levels);
      for (std::size_t i = begin; i < end; ++i) row[t][i] = levels[i];
    }
    for (std::size_t k = 0; k < n; ++k) {
      for (std::size_t i = begin; i < end; ++i) query[i] = q[k].values[i];
      for (std::size_t t = 0; t < layout::tile_tokens; ++t) {
        fvec sum = all(0);
        for (std::size_t i = begin; i < end; i += floats)
          sum = multiply_add(load_floats(row[t] + i), load_floats(query + i), sum);
        sums[k * layout::block_tokens + tile * layout::tile_tokens + t] =
            static_cast<std::int32_t>(sum_of(sum));
      }
    }
  }
  return true;
}

/// As Kernels::accumulate.
inline bool accumulate(const LevelPlan& plan, const std::byte* words, std::size_t begin, std::size_t end,
                       const WeightCode* w, std::size_t n) noexcept {
  constexpr std::size_t unit = layout::dim_unit;
  std::uint8_t codes[layout::block_tokens * (max_head_dim + 16)];
  std::int8_t levels[layout::block_tokens * (max_head_dim + 16)];
  float level[layout::block_tokens][unit];
  unpack_value_block(scalar{}, plan.dim, plan.bits, words, codes);
  for (std::size_t t = 0; t < layout::block_tokens; ++t)
    on_scalar::levels_of(plan, codes + t * plan.dim, levels + t * plan.dim);
  for (std::size_t first = begin; first < end; first += unit) {
    for (std::size_t t = 0; t < layout::block_tokens; ++t)
      for (std::size_t i = 0; i < unit; ++i) level[t][i] = levels[t * plan.dim + first + i];
    for (std::size_t k = 0; k < n; ++k)
      for (std::size_t i = 0; i < unit; i += floats) {
        fvec high = all(0), low = all(0);
        for (std::size_t t = 0; t < layout::block_tokens; ++t) {
          const fvec l = load_floats(level[t] + i);
          high = multiply_add(l, all(w[k].high[t]), high);
          low = multiply_add(l, all(w[k].low[t]), low);
        }
        const Lanes highs(high), lows(low);
        for (std::size_t lane = 0; lane < floats; ++lane) {
          const std::int32_t total =
              256 * static_cast<std::int32_t>(highs.lane[lane]) + static_cast<std::int32_t>(lows.lane[lane]);
          w[k].sum[first + i + lane] += w[k].unit * static_cast<float>(total);
        }
      }
  }
  return true;
}

#include "simd/table.inc"
inline constexpr Kernels table = table_named("xsimd");

/// Puts the table among the candidates.
inline const bool registered = (opt_in_table = &table, true);

}  // namespace tightkv::inline TIGHTKV_ABI::kernel::on_xsimd
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif
