// kernel/encode/avx512.hpp: 16 vectors of a block in the 16 lanes of a register: condition, rotate, code.
#pragma once

#include "../condition/avx512.hpp"
#include "../rotate/avx512.hpp"
#if defined(__x86_64__)
TIGHTKV_TARGET_BEGIN(TIGHTKV_AVX512_TARGET)
namespace tightkv::inline TIGHTKV_ABI::kernel::on_avx512 {

/// What a candidate encoding adds up to.
struct Fit {
  Wide ip;
  i32x16 cc;

  Fit() noexcept : ip{splat64(0), splat64(0)}, cc(splat(0)) {}

  void add(i32x16 y, i32x16 level) noexcept {
    add_product(ip, y, level);
    cc = cc + level * level;
  }
};

/// w = 256 gain sqrt(d) y / |y| of one dim.
inline i32x16 scaled(i32x16 y, const Wide& gain) noexcept {
  const vec v = reinterpret_cast<vec>(y), odd = reinterpret_cast<vec>(reinterpret_cast<u64x8>(v) >> 32);
  return narrow({shift_round<26>(multiply_even(v, reinterpret_cast<vec>(gain.even))),
                 shift_round<26>(multiply_even(odd, reinterpret_cast<vec>(gain.odd)))});
}

inline void store_codes(std::uint8_t* to, i32x16 codes) noexcept {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(to),
                   _mm512_maskz_cvtepi32_epi8(0xffff, reinterpret_cast<vec>(codes)));
}

/// Scalar codebooks of Count levels.
template <std::size_t Count>
inline Fit code_scalar(const EncodeTile& tile, const std::int32_t* y, const Wide& gain,
                       std::uint8_t* codes) noexcept {
  const Nearest<Count> nearest(tile.plan->level.data(), 1, 128);
  Lanes<Count> levels;
  for (std::size_t i = 0; i < sizeof levels.values / 4; ++i) levels.values[i] = tile.plan->level[i % Count];
  Fit fit;
  for (std::size_t i = 0; i < tile.plan->dim; ++i) {
    const bool real = i < tile.dim;
    const i32x16 v = real ? load_lanes(y + i * 16) : splat(0), code = nearest(real ? scaled(v, gain) : v);
    store_codes(codes + i * 16, code);
    if (real) fit.add(v, levels.at(code));
  }
  return fit;
}

/// Viterbi search over 8 states in 16 lanes; trellis_encode() states the rules. `trail`: two rows a step.
template <std::size_t Levels>
inline Fit code_trellis(const EncodeTile& tile, const std::int32_t* y, const Wide& gain, std::int32_t* trail,
                        std::uint8_t* codes) noexcept {
  constexpr std::size_t subset_levels = Levels / 4;
  const std::int8_t* level = tile.plan->level.data();
  const Nearest<subset_levels> nearest[4] = {
      {level, 4, 8}, {level + 1, 4, 8}, {level + 2, 4, 8}, {level + 3, 4, 8}};
  Lanes<subset_levels> subset[4];
  for (std::size_t s = 0; s < 4; ++s)
    for (std::size_t i = 0; i < sizeof subset[s].values / 4; ++i)
      subset[s].values[i] = level[(i % subset_levels) * 4 + s] * 16;
  const std::size_t n = tile.plan->dim, units = n / 16;
  // Costs stay below 2^31: at most 2^26 a step, the smallest is taken off every 16 steps, and an unreachable
  // state starts above all that can be reached in its three steps.
  i32x16 cost[8];
  for (i32x16& c : cost) c = splat(1 << 28);
  cost[0] = splat(0);
  std::size_t step = 0;
  for (std::size_t row = 0; row < 16; ++row)
    for (std::size_t unit = 0; unit < units; ++unit, ++step) {
      const std::size_t dim = 16 * unit + row;
      i32x16 z = dim < tile.dim ? scaled(load_lanes(y + dim * 16), gain) : splat(0);
      z = (larger(smaller(z, splat(254 * 256)), splat(-254 * 256)) + splat(8)) >> 4;
      i32x16 distance[4], found = splat(0);
#pragma GCC unroll 4
      for (std::size_t s = 0; s < 4; ++s) {
        const i32x16 index = nearest[s](z), miss = z - subset[s].at(index);
        distance[s] = miss * miss;
        found = found | (index << static_cast<int>(8 * s));
      }
      i32x16 next[8], from = splat(0);
#pragma GCC unroll 8
      for (std::uint32_t t = 0; t < 8; ++t) {
        const std::uint32_t u = t & 1u, s0 = t >> 1, s1 = s0 | 4u;
        const i32x16 c0 = cost[s0] + distance[2 * (u ^ (s0 & 1u) ^ (s0 >> 2)) + ((s0 >> 1) & 1u)];
        const i32x16 c1 = cost[s1] + distance[2 * (u ^ (s1 & 1u) ^ (s1 >> 2)) + ((s1 >> 1) & 1u)];
        const __mmask16 upper = less(c1, c0);
        next[t] = smaller(c0, c1);
        from = blend(upper, from, from | splat(1 << t));
      }
      if (step % 16 == 15) {
        i32x16 least = next[0];
        for (int t = 1; t < 8; ++t) least = smaller(least, next[t]);
        for (i32x16& c : next) c = c - least;
      }
      for (int t = 0; t < 8; ++t) cost[t] = next[t];
      store_lanes(trail + step * 32, from);
      store_lanes(trail + step * 32 + 16, found);
    }
  i32x16 state = splat(0), best = cost[0];
  for (int t = 1; t < 8; ++t) {
    const __mmask16 better = less(cost[t], best);
    best = blend(better, best, cost[t]), state = blend(better, state, splat(t));
  }
  Lanes<Levels> all;
  for (std::size_t i = 0; i < sizeof all.values / 4; ++i) all.values[i] = level[i % Levels];
  Fit fit;
  for (std::size_t row = 16; row-- > 0;)
    for (std::size_t unit = units; unit-- > 0;) {
      --step;
      const i32x16 u = state & 1, from = load_lanes(trail + step * 32),
                   found = load_lanes(trail + step * 32 + 16);
      const i32x16 s = shift_lanes(state, splat(1)) | ((shift_lanes(from, state) & 1) << 2);
      const i32x16 sub = ((u ^ (s & 1) ^ shift_lanes(s, splat(2))) << 1) | (shift_lanes(s, splat(1)) & 1);
      const i32x16 high = shift_lanes(found, sub << 3) & 255;
      const std::size_t dim = 16 * unit + row;
      store_codes(codes + dim * 16, (high << 1) | u);
      if (dim < tile.dim) fit.add(load_lanes(y + dim * 16), all.at((high << 2) | sub));
      state = s;
    }
  return fit;
}

inline bool encode(EncodeTile& tile) noexcept {
  const LevelPlan& plan = *tile.plan;
  const bool trellis = plan.decode == Decode::trellis;
  if (tile.stretch || plan.bits > (trellis ? 5u : 6u)) return false;
  auto* const x = reinterpret_cast<std::int32_t*>(tile.scratch);
  std::int32_t* const trail = x + plan.dim * 16;
  auto* const candidate = reinterpret_cast<std::uint8_t*>(trail + plan.dim * 32);
  if (!condition(tile, x)) return false;
  if (tile.rotation.width) rotate(tile.rotation, x, tile.dim, trail);
  Wide n2 = {splat64(0), splat64(0)};
  for (std::size_t i = 0; i < tile.dim; ++i) add_product(n2, load_lanes(x + i * 16), load_lanes(x + i * 16));
  const u64x8 norm_even = root(reinterpret_cast<u64x8>(n2.even) << 12),
              norm_odd = root(reinterpret_cast<u64x8>(n2.odd) << 12);
  store_wide(n2, tile.n2);
  store_wide({reinterpret_cast<i64x8>(norm_even), reinterpret_cast<i64x8>(norm_odd)}, tile.norm_q6);
  const auto gain_of = [&](u64x8 norm) {  // 0 for a zero vector: the codes of zeros
    const u64x8 one = norm + reinterpret_cast<u64x8>(norm == 0) * ~std::uint64_t{0};
    return quotient(tile.unit_q32 << 8, one) & reinterpret_cast<u64x8>(norm != 0);
  };
  const u64x8 gain_even = gain_of(norm_even), gain_odd = gain_of(norm_odd);
  std::uint64_t best[16] = {};
  for (std::size_t f = 0; f < tile.factors.size(); ++f) {
    const std::uint64_t factor = tile.factors[f];
    const Wide gain = {reinterpret_cast<i64x8>((gain_even * factor) >> 14),
                       reinterpret_cast<i64x8>((gain_odd * factor) >> 14)};
    std::uint8_t* const codes = f == 0 ? tile.codes : candidate;
    const Fit fit = [&] {
      if (trellis) switch (plan.bits) {
          case 2:
            return code_trellis<8>(tile, x, gain, trail, codes);
          case 3:
            return code_trellis<16>(tile, x, gain, trail, codes);
          case 4:
            return code_trellis<32>(tile, x, gain, trail, codes);
          default:
            return code_trellis<64>(tile, x, gain, trail, codes);
        }
      switch (plan.bits) {
        case 1:
          return code_scalar<2>(tile, x, gain, codes);
        case 2:
          return code_scalar<4>(tile, x, gain, codes);
        case 3:
          return code_scalar<8>(tile, x, gain, codes);
        case 4:
          return code_scalar<16>(tile, x, gain, codes);
        case 5:
          return code_scalar<32>(tile, x, gain, codes);
        default:
          return code_scalar<64>(tile, x, gain, codes);
      }
    }();
    alignas(64) std::int64_t ip[16];
    alignas(64) std::int32_t cc[16];
    store_wide(fit.ip, ip);
    store_lanes(cc, fit.cc);
    alignas(16) std::uint8_t take[16];
    bool any = false;
    for (std::size_t t = 0; t < 16; ++t) {
      const std::uint64_t top = ip[t] <= 0 ? 0 : static_cast<std::uint64_t>(ip[t]) >> 5;
      const std::uint64_t quality = cc[t] == 0 ? 0 : top * top / static_cast<std::uint64_t>(cc[t]);
      const bool better = f == 0 || quality > best[t];
      take[t] = better ? 255 : 0;
      any |= better;
      if (better) best[t] = quality, tile.ip[t] = ip[t], tile.cc[t] = static_cast<std::uint64_t>(cc[t]);
    }
    if (f == 0 || !any) continue;
    const __m128i mask = _mm_load_si128(reinterpret_cast<const __m128i*>(take));
    for (std::size_t i = 0; i < plan.dim; ++i) {
      const __m128i old = _mm_loadu_si128(reinterpret_cast<const __m128i*>(tile.codes + i * 16)),
                    now = _mm_loadu_si128(reinterpret_cast<const __m128i*>(candidate + i * 16));
      _mm_storeu_si128(reinterpret_cast<__m128i*>(tile.codes + i * 16), _mm_blendv_epi8(old, now, mask));
    }
  }
  return true;
}

}  // namespace tightkv::inline TIGHTKV_ABI::kernel::on_avx512
TIGHTKV_TARGET_END
#endif
