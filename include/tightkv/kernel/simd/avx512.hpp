// kernel/simd/avx512.hpp: vector operations of AVX-512 with VNNI and VBMI (Ice Lake 2019 on, Zen 4 on).
#pragma once

#include <cstring>

#include "../kernels.hpp"
#include "../region.hpp"
#if defined(__x86_64__)
#include <immintrin.h>

#define TIGHTKV_AVX512_TARGET \
  "avx512f,avx512bw,avx512vl,avx512dq,avx512vnni,avx512vbmi,f16c,fma,avx2,bmi,bmi2,popcnt"

TIGHTKV_TARGET_BEGIN(TIGHTKV_AVX512_TARGET)
namespace tightkv::inline TIGHTKV_ABI::kernel::on_avx512 {

using vec = __m512i;  // 16 lanes of 32 bits: one 64-byte word
inline constexpr std::size_t vec_bytes = 64;
inline constexpr int score_bias =
    128;  // dpbusd wants one unsigned side: scores are computed from level + 128

// Shifts are written on vector types and some intrinsics in their zero-masking form: g++ 12 warns about the
// undefined value inside the plain ones, and users compile with -Werror.
using u16x32 = std::uint16_t __attribute__((vector_size(64)));
using u32x16 = std::uint32_t __attribute__((vector_size(64)));

inline vec load(const void* from) noexcept { return _mm512_loadu_si512(from); }
inline void store(void* to, vec v) noexcept { _mm512_storeu_si512(to, v); }
inline vec zero() noexcept { return _mm512_setzero_si512(); }
inline vec broadcast4(const void* four_bytes) noexcept {
  std::int32_t word;
  std::memcpy(&word, four_bytes, 4);
  return _mm512_set1_epi32(word);
}
template <int N>
inline vec left(vec v) noexcept {
  return reinterpret_cast<vec>(reinterpret_cast<u16x32>(v) << N);
}
template <int N>
inline vec right(vec v) noexcept {
  return reinterpret_cast<vec>(reinterpret_cast<u16x32>(v) >> N);
}
template <int N>
inline vec left32(vec v) noexcept {
  return reinterpret_cast<vec>(reinterpret_cast<u32x16>(v) << N);
}
template <int N>
inline vec right32(vec v) noexcept {
  return reinterpret_cast<vec>(reinterpret_cast<u32x16>(v) >> N);
}
inline vec mask32(vec v, std::int32_t mask) noexcept { return _mm512_and_si512(v, _mm512_set1_epi32(mask)); }
inline vec either(vec a, vec b) noexcept { return _mm512_or_si512(a, b); }
/// Per byte: bits of a where Mask is set, of b elsewhere.
template <int Mask>
inline vec select(vec a, vec b) noexcept {
  return _mm512_ternarylogic_epi32(_mm512_set1_epi8(static_cast<char>(Mask)), a, b, 0xca);
}
inline vec xor3(vec a, vec b, vec c) noexcept { return _mm512_ternarylogic_epi32(a, b, c, 0x96); }
inline vec add32(vec a, vec b) noexcept { return _mm512_add_epi32(a, b); }
inline vec subtract32(vec v, std::int32_t n) noexcept { return _mm512_sub_epi32(v, _mm512_set1_epi32(n)); }
inline vec subtract8(vec v, int n) noexcept {
  return _mm512_sub_epi8(v, _mm512_set1_epi8(static_cast<char>(n)));
}

/// The half word of a 1-bit key plane: 2 bytes a lane become 4, codes at the even bits.
inline vec load_half_word(const void* from) noexcept {
  const vec w = _mm512_maskz_cvtepu16_epi32(0xffff, _mm256_loadu_si256(static_cast<const __m256i*>(from)));
  return mask32(either(w, left32<15>(w)), 0x55555555);
}

/// Lanes moved up by one: lane i of the result is lane i - 1 of the word, lane 0 is 0. One part, so `part` is
/// 0.
inline vec load_next_lane(const std::byte* word, std::size_t /*part*/) noexcept {
  return _mm512_maskz_alignr_epi32(0xffff, load(word), zero(), 15);
}

inline const void* score_table(const LevelPlan& plan) noexcept { return plan.level_plus_128.data(); }
inline const void* value_table(const LevelPlan& plan) noexcept { return plan.level.data(); }

/// A table of up to 256 bytes. look_up ignores index bits above the table's size.
template <unsigned Entries>
struct Table {
  vec part[Entries <= 64 ? 1 : Entries / 64];

  /// From a plan's table of 256 entries, which repeat.
  explicit Table(const void* entries) noexcept {
    for (std::size_t i = 0; i < sizeof part / sizeof part[0]; ++i)
      part[i] = load(static_cast<const std::byte*>(entries) + 64 * i);
  }

  vec look_up(vec index) const noexcept {
    if constexpr (Entries <= 64) {
      return _mm512_maskz_permutexvar_epi8(~std::uint64_t{0}, index, part[0]);
    } else if constexpr (Entries == 128) {
      return _mm512_permutex2var_epi8(part[0], index, part[1]);
    } else {
      const vec low = _mm512_permutex2var_epi8(part[0], index, part[1]),
                high = _mm512_permutex2var_epi8(part[2], index, part[3]);
      return _mm512_mask_blend_epi8(_mm512_movepi8_mask(index), low, high);
    }
  }
};

/// acc += level . q over the 4 bytes of a lane; `levels` carry score_bias, which the caller takes off the
/// sum.
inline vec score_dot(vec acc, vec levels, vec q) noexcept { return _mm512_dpbusd_epi32(acc, levels, q); }

/// What all queries share of a lane's levels: nothing here.
struct LevelTotals {
  void add(vec /*levels*/) noexcept {}
};

/// The weights of one query for a block, as they come.
struct BlockWeights {
  const std::uint8_t *high, *low;

  void assign(const WeightCode& code) noexcept { high = code.high, low = code.low; }
};

/// Sums of 16-bit weights times signed levels: two u8 planes.
struct WeightedSum {
  vec high, low;

  WeightedSum() noexcept : high(zero()), low(zero()) {}

  static vec prepare(vec levels) noexcept { return levels; }
  void add(vec levels, const BlockWeights& weights, std::size_t token) noexcept {
    high = _mm512_dpbusd_epi32(high, broadcast4(weights.high + token), levels);
    low = _mm512_dpbusd_epi32(low, broadcast4(weights.low + token), levels);
  }
  /// to[lane] += unit * (256 high + low)
  void finish(float unit, const LevelTotals& /*totals*/, float* to) const noexcept {
    const __m512 sum = _mm512_maskz_cvtepi32_ps(0xffff, _mm512_add_epi32(left32<8>(high), low));
    _mm512_storeu_ps(to, _mm512_fmadd_ps(_mm512_set1_ps(unit), sum, _mm512_loadu_ps(to)));
  }
};

// --- floats, for kernel/simd/rows.inc

using fvec = __m512;
inline constexpr std::size_t floats = 16;  ///< of a fvec

inline fvec load_floats(const float* from) noexcept { return _mm512_loadu_ps(from); }
inline void store_floats(float* to, fvec v) noexcept { _mm512_storeu_ps(to, v); }
inline fvec all(float x) noexcept { return _mm512_set1_ps(x); }
inline fvec multiply_add(fvec a, fvec b, fvec c) noexcept { return _mm512_fmadd_ps(a, b, c); }
inline fvec maximum(fvec a, fvec b) noexcept { return _mm512_maskz_max_ps(0xffff, a, b); }
template <int Half>
inline __m256 half(fvec v) noexcept {
  return _mm512_maskz_extractf32x8_ps(0xff, v, Half);
}
inline float first_of(fvec v) noexcept { return _mm512_cvtss_f32(v); }
inline float sum_of(fvec v) noexcept {
  const __m256 eight = _mm256_add_ps(half<0>(v), half<1>(v));
  const __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
  const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
}
inline float largest_of(fvec v) noexcept {
  const __m256 eight = _mm256_max_ps(half<0>(v), half<1>(v));
  const __m128 four = _mm_max_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
  const __m128 two = _mm_max_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_max_ss(two, _mm_movehdup_ps(two)));
}
/// |v| < 2^31. By conversion, since the macro of vrndscaleps warns at -O0.
inline fvec nearest_integer(fvec v) noexcept {
  return _mm512_maskz_cvtepi32_ps(0xffff, _mm512_maskz_cvtps_epi32(0xffff, v));
}
/// p 2^n, n a whole number in [-126, 0]
inline fvec times_power_of_two(fvec p, fvec n) noexcept { return _mm512_maskz_scalef_ps(0xffff, p, n); }
/// v where s > limit, 0 elsewhere
inline fvec where_above(fvec s, fvec limit, fvec v) noexcept {
  return _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(s, limit, _CMP_GT_OQ), v);
}
/// 2 or 4 bytes a value of a raw row as floats.
template <ElementType Type>
inline fvec load_row(const std::byte* row, std::size_t i) noexcept {
  if constexpr (Type == ElementType::f32)
    return _mm512_loadu_ps(row + 4 * i);
  else if constexpr (Type == ElementType::f16)
    return _mm512_maskz_cvtph_ps(0xffff, _mm256_loadu_si256(reinterpret_cast<const __m256i*>(row + 2 * i)));
  else
    return reinterpret_cast<fvec>(left32<16>(_mm512_maskz_cvtepu16_epi32(
        0xffff, _mm256_loadu_si256(reinterpret_cast<const __m256i*>(row + 2 * i)))));
}
/// Whole parts of v, at most 65535, as two bytes each.
inline void store_bytes(fvec v, std::uint8_t* high, std::uint8_t* low) noexcept {
  const vec code =
      _mm512_maskz_min_epu32(0xffff, _mm512_maskz_cvttps_epu32(0xffff, v), _mm512_set1_epi32(65535));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(low), _mm512_maskz_cvtepi32_epi8(0xffff, code));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(high), _mm512_maskz_cvtepi32_epi8(0xffff, right32<8>(code)));
}

}  // namespace tightkv::inline TIGHTKV_ABI::kernel::on_avx512
TIGHTKV_TARGET_END
#endif
