// kernel/simd/avx512_lanes.hpp: 32- and 64-bit integer arithmetic on 16 lanes, one vector of a block in each.
#pragma once

#include "avx512.hpp"
#if defined(__x86_64__)
TIGHTKV_TARGET_BEGIN(TIGHTKV_AVX512_TARGET)
namespace tightkv::inline TIGHTKV_ABI::kernel::on_avx512 {

using i32x16 = std::int32_t __attribute__((vector_size(64)));
using i64x8 = std::int64_t __attribute__((vector_size(64)));
using u64x8 = std::uint64_t __attribute__((vector_size(64)));

inline i32x16 splat(std::int32_t v) noexcept { return reinterpret_cast<i32x16>(_mm512_set1_epi32(v)); }
inline i64x8 splat64(std::int64_t v) noexcept { return reinterpret_cast<i64x8>(_mm512_set1_epi64(v)); }

/// 16 lanes of 64 bits: even lanes and odd lanes of a 32-bit vector, widened.
struct Wide {
  i64x8 even, odd;
};

inline i64x8 multiply_even(vec a, vec b) noexcept {
  return reinterpret_cast<i64x8>(_mm512_maskz_mul_epi32(0xff, a, b));
}

/// Exact products of 32-bit lanes.
inline Wide product(i32x16 a, i32x16 b) noexcept {
  const vec x = reinterpret_cast<vec>(a), y = reinterpret_cast<vec>(b);
  return {multiply_even(x, y), multiply_even(reinterpret_cast<vec>(reinterpret_cast<u64x8>(x) >> 32),
                                             reinterpret_cast<vec>(reinterpret_cast<u64x8>(y) >> 32))};
}
/// The low 32 bits of each 64-bit lane, back in place.
inline i32x16 narrow(const Wide& w) noexcept {
  const vec odd = reinterpret_cast<vec>(reinterpret_cast<u64x8>(w.odd) << 32);
  return reinterpret_cast<i32x16>(_mm512_mask_blend_epi32(0xaaaa, reinterpret_cast<vec>(w.even), odd));
}
template <int Shift>
inline i64x8 shift_round(i64x8 v) noexcept {
  return (v + splat64(std::int64_t{1} << (Shift - 1))) >> Shift;
}

inline void add_product(Wide& sum, i32x16 a, i32x16 b) noexcept {
  const Wide p = product(a, b);
  sum.even = sum.even + p.even, sum.odd = sum.odd + p.odd;
}
/// to[lane], from the two halves.
inline void store_wide(const Wide& w, void* to) noexcept {
  alignas(64) std::int64_t even[8], odd[8];
  store(even, reinterpret_cast<vec>(w.even));
  store(odd, reinterpret_cast<vec>(w.odd));
  auto* out = static_cast<std::int64_t*>(to);
  for (int i = 0; i < 8; ++i) out[2 * i] = even[i], out[2 * i + 1] = odd[i];
}
inline i32x16 shift_lanes(i32x16 v, i32x16 by) noexcept {
  return reinterpret_cast<i32x16>(
      _mm512_maskz_srlv_epi32(0xffff, reinterpret_cast<vec>(v), reinterpret_cast<vec>(by)));
}
inline i32x16 smaller(i32x16 a, i32x16 b) noexcept {
  return reinterpret_cast<i32x16>(
      _mm512_maskz_min_epi32(0xffff, reinterpret_cast<vec>(a), reinterpret_cast<vec>(b)));
}
inline i32x16 larger(i32x16 a, i32x16 b) noexcept {
  return reinterpret_cast<i32x16>(
      _mm512_maskz_max_epi32(0xffff, reinterpret_cast<vec>(a), reinterpret_cast<vec>(b)));
}
inline __mmask16 less(i32x16 a, i32x16 b) noexcept {
  return _mm512_cmplt_epi32_mask(reinterpret_cast<vec>(a), reinterpret_cast<vec>(b));
}
inline i32x16 blend(__mmask16 m, i32x16 no, i32x16 yes) noexcept {
  return reinterpret_cast<i32x16>(
      _mm512_mask_blend_epi32(m, reinterpret_cast<vec>(no), reinterpret_cast<vec>(yes)));
}

inline i32x16 load_lanes(const std::int32_t* from) noexcept { return reinterpret_cast<i32x16>(load(from)); }
inline void store_lanes(std::int32_t* to, i32x16 v) noexcept { store(to, reinterpret_cast<vec>(v)); }

/// 16 rows of 16 lanes, turned over.
inline void transpose(u32x16 (&r)[16]) noexcept {
  u32x16 a[16], b[16];
#pragma GCC unroll 8
  for (int i = 0; i < 16; i += 2) {
    a[i] = __builtin_shufflevector(r[i], r[i + 1], 0, 16, 1, 17, 4, 20, 5, 21, 8, 24, 9, 25, 12, 28, 13, 29);
    a[i + 1] =
        __builtin_shufflevector(r[i], r[i + 1], 2, 18, 3, 19, 6, 22, 7, 23, 10, 26, 11, 27, 14, 30, 15, 31);
  }
#pragma GCC unroll 4
  for (int i = 0; i < 16; i += 4)
    for (int k = 0; k < 2; ++k) {
      b[i + 2 * k] = __builtin_shufflevector(a[i + k], a[i + 2 + k], 0, 1, 16, 17, 4, 5, 20, 21, 8, 9, 24, 25,
                                             12, 13, 28, 29);
      b[i + 2 * k + 1] = __builtin_shufflevector(a[i + k], a[i + 2 + k], 2, 3, 18, 19, 6, 7, 22, 23, 10, 11,
                                                 26, 27, 14, 15, 30, 31);
    }
    // b[i + c]: column c of each 4 x 4 block of rows i .. i + 3; now gather the blocks.
#pragma GCC unroll 4
  for (int c = 0; c < 4; ++c) {
    const u32x16 low0 =
        __builtin_shufflevector(b[c], b[4 + c], 0, 1, 2, 3, 16, 17, 18, 19, 8, 9, 10, 11, 24, 25, 26, 27);
    const u32x16 low1 =
        __builtin_shufflevector(b[c], b[4 + c], 4, 5, 6, 7, 20, 21, 22, 23, 12, 13, 14, 15, 28, 29, 30, 31);
    const u32x16 high0 = __builtin_shufflevector(b[8 + c], b[12 + c], 0, 1, 2, 3, 16, 17, 18, 19, 8, 9, 10,
                                                 11, 24, 25, 26, 27);
    const u32x16 high1 = __builtin_shufflevector(b[8 + c], b[12 + c], 4, 5, 6, 7, 20, 21, 22, 23, 12, 13, 14,
                                                 15, 28, 29, 30, 31);
    r[c] = __builtin_shufflevector(low0, high0, 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23);
    r[4 + c] = __builtin_shufflevector(low1, high1, 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23);
    r[8 + c] =
        __builtin_shufflevector(low0, high0, 8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31);
    r[12 + c] =
        __builtin_shufflevector(low1, high1, 8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31);
  }
}

/// floor(sqrt(n)) and floor(a / n) of 64-bit lanes, n < 2^63, a < 2^53: by doubles, then put right in
/// integers.
inline u64x8 root(u64x8 n) noexcept {
  const __m512d r0 = _mm512_maskz_sqrt_pd(0xff, _mm512_maskz_cvtepu64_pd(0xff, reinterpret_cast<vec>(n)));
  u64x8 r = reinterpret_cast<u64x8>(_mm512_maskz_cvttpd_epu64(0xff, r0));
  r = r + reinterpret_cast<u64x8>(r * r > n);  // a comparison is -1 where true
  r = r - reinterpret_cast<u64x8>((r + 1) * (r + 1) <= n);
  return r;
}
inline u64x8 quotient(std::uint64_t a, u64x8 n) noexcept {
  const __m512d d = _mm512_maskz_cvtepu64_pd(0xff, reinterpret_cast<vec>(n));
  const __m512d top = _mm512_set1_pd(static_cast<double>(a));
  u64x8 q = reinterpret_cast<u64x8>(_mm512_maskz_cvttpd_epu64(0xff, top / d));
  const u64x8 all = reinterpret_cast<u64x8>(_mm512_set1_epi64(static_cast<std::int64_t>(a)));
  q = q + reinterpret_cast<u64x8>(q * n > all);
  q = q - reinterpret_cast<u64x8>((q + 1) * n <= all);
  return q;
}

/// Up to 256 ascending numbers in memory or registers, looked up by 16 lanes.
template <std::size_t Entries>
struct Lanes {
  alignas(64) std::int32_t values[Entries < 16 ? 16 : Entries];

  i32x16 at(i32x16 index) const noexcept {
    if constexpr (Entries <= 16)
      return reinterpret_cast<i32x16>(
          _mm512_maskz_permutexvar_epi32(0xffff, reinterpret_cast<vec>(index), load(values)));
    else if constexpr (Entries == 32)
      return reinterpret_cast<i32x16>(
          _mm512_permutex2var_epi32(load(values), reinterpret_cast<vec>(index), load(values + 16)));
    else
      return reinterpret_cast<i32x16>(
          _mm512_mask_i32gather_epi32(zero(), 0xffff, reinterpret_cast<vec>(index), values, 4));
  }
};

/// LevelTable::nearest of Count levels (a power of two): a binary search over their midpoints in `unit` per
/// level.
template <std::size_t Count>
struct Nearest {
  Lanes<Count> thresholds;

  Nearest(const std::int8_t* levels, std::size_t step, std::int32_t half_unit) noexcept {
    for (std::size_t i = 0; i + 1 < Count; ++i)
      thresholds.values[i] = (levels[i * step] + levels[(i + 1) * step]) * half_unit;
    for (std::size_t i = Count - 1; i < sizeof thresholds.values / 4; ++i) thresholds.values[i] = 0x7fffffff;
  }
  i32x16 operator()(i32x16 w) const noexcept {
    i32x16 index = splat(0);
#pragma GCC unroll 8
    for (std::size_t step = Count / 2; step > 0; step /= 2) {
      const auto width = static_cast<std::int32_t>(step);
      const __mmask16 below = less(w, thresholds.at(index + splat(width - 1)));
      index = blend(below, index + splat(width), index);
    }
    return index;
  }
};

}  // namespace tightkv::inline TIGHTKV_ABI::kernel::on_avx512
TIGHTKV_TARGET_END
#endif
