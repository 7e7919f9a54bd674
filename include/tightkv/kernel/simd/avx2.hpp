// kernel/simd/avx2.hpp: vector operations of AVX2 with FMA and F16C (Haswell 2013 on, every Zen).
#pragma once

#include <bit>
#include <cstring>

#include "../kernels.hpp"
#include "../region.hpp"
#if defined(__x86_64__)
#include <immintrin.h>

#define TIGHTKV_AVX2_TARGET "avx2,fma,f16c,bmi,bmi2,popcnt"

TIGHTKV_TARGET_BEGIN(TIGHTKV_AVX2_TARGET)
namespace tightkv::inline TIGHTKV_ABI::kernel::on_avx2 {

using vec = __m256i;  // 8 lanes of 32 bits: half a 64-byte word
inline constexpr std::size_t vec_bytes = 32;
inline constexpr int score_bias = 0;  // scores are computed from the signed levels

using u16x16 = std::uint16_t __attribute__((vector_size(32)));
using u32x8 = std::uint32_t __attribute__((vector_size(32)));

inline vec load(const void* from) noexcept { return _mm256_loadu_si256(static_cast<const __m256i*>(from)); }
inline void store(void* to, vec v) noexcept { _mm256_storeu_si256(static_cast<__m256i*>(to), v); }
inline vec zero() noexcept { return _mm256_setzero_si256(); }
inline vec broadcast4(const void* four_bytes) noexcept {
  std::int32_t word;
  std::memcpy(&word, four_bytes, 4);
  return _mm256_set1_epi32(word);
}
template <int N>
inline vec left(vec v) noexcept {
  return reinterpret_cast<vec>(reinterpret_cast<u16x16>(v) << N);
}
template <int N>
inline vec right(vec v) noexcept {
  return reinterpret_cast<vec>(reinterpret_cast<u16x16>(v) >> N);
}
template <int N>
inline vec left32(vec v) noexcept {
  return reinterpret_cast<vec>(reinterpret_cast<u32x8>(v) << N);
}
template <int N>
inline vec right32(vec v) noexcept {
  return reinterpret_cast<vec>(reinterpret_cast<u32x8>(v) >> N);
}
inline vec mask32(vec v, std::int32_t mask) noexcept { return _mm256_and_si256(v, _mm256_set1_epi32(mask)); }
inline vec either(vec a, vec b) noexcept { return _mm256_or_si256(a, b); }
/// Per byte: bits of a where Mask is set, of b elsewhere.
template <int Mask>
inline vec select(vec a, vec b) noexcept {
  const vec mask = _mm256_set1_epi8(static_cast<char>(Mask));
  return _mm256_or_si256(_mm256_and_si256(mask, a), _mm256_andnot_si256(mask, b));
}
inline vec xor3(vec a, vec b, vec c) noexcept { return _mm256_xor_si256(_mm256_xor_si256(a, b), c); }
inline vec add32(vec a, vec b) noexcept { return _mm256_add_epi32(a, b); }
inline vec subtract32(vec v, std::int32_t n) noexcept { return _mm256_sub_epi32(v, _mm256_set1_epi32(n)); }
inline vec subtract8(vec v, int n) noexcept {
  return _mm256_sub_epi8(v, _mm256_set1_epi8(static_cast<char>(n)));
}

/// The half word of a 1-bit key plane: 2 bytes a lane become 4, codes at the even bits.
inline vec load_half_word(const void* from) noexcept {
  const vec w = _mm256_cvtepu16_epi32(_mm_loadu_si128(static_cast<const __m128i*>(from)));
  return mask32(either(w, left32<15>(w)), 0x55555555);
}

/// Lanes moved up by one: lane i of the result is lane i - 1 of the 64-byte word, lane 0 of part 0 is 0.
inline vec load_next_lane(const std::byte* word, std::size_t part) noexcept {
  if (part > 0) return load(word - 4);
  const vec w = load(word);
  return _mm256_alignr_epi8(w, _mm256_permute2x128_si256(w, w, 0x08), 12);
}

inline const void* score_table(const LevelPlan& plan) noexcept { return plan.level.data(); }
inline const void* value_table(const LevelPlan& plan) noexcept { return plan.level.data(); }

/// A table of up to 256 bytes, 16 to a vpshufb, halves chosen by the higher index bits. look_up ignores index
/// bits above the table's size.
template <unsigned Entries>
struct Table {
  static constexpr unsigned parts = Entries <= 16 ? 1 : Entries / 16;
  vec part[parts];

  /// From a plan's table of 256 entries, which repeat.
  explicit Table(const void* entries) noexcept {
    for (std::size_t i = 0; i < parts; ++i)
      part[i] = _mm256_broadcastsi128_si256(
          _mm_loadu_si128(reinterpret_cast<const __m128i*>(static_cast<const std::byte*>(entries) + 16 * i)));
  }

  vec look_up(vec index) const noexcept { return among<0, parts>(index, mask32(index, 0x0f0f0f0f)); }

 private:
  template <unsigned First, unsigned Count>
  vec among(vec index, vec low4) const noexcept {
    if constexpr (Count == 1) {
      return _mm256_shuffle_epi8(part[First], low4);
    } else {
      constexpr int to_bit_7 = 4 - std::countr_zero(Count);  // vpblendvb reads bit 7
      return _mm256_blendv_epi8(among<First, Count / 2>(index, low4),
                                among<First + Count / 2, Count / 2>(index, low4), left<to_bit_7>(index));
    }
  }
};

/// acc += level . q over the 4 bytes of a lane. vpmaddubsw adds pairs in 16 bits: |level| <= 128 on its
/// unsigned side and |q| <= 127 give at most 32,512, so it never saturates.
inline vec score_dot(vec acc, vec levels, vec q) noexcept {
  const vec pairs = _mm256_maddubs_epi16(_mm256_abs_epi8(levels), _mm256_sign_epi8(q, levels));
  return _mm256_add_epi32(acc, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
}

/// Levels of the even and of the odd bytes, in 16 bits.
struct WideLevels {
  vec even, odd;
};

/// The sum of all levels of a lane, for all queries: what w - 32768 leaves out. 64 levels stay within 16
/// bits.
struct LevelTotals {
  vec pairs;

  LevelTotals() noexcept : pairs(zero()) {}

  void add(const WideLevels& levels) noexcept {
    pairs = _mm256_add_epi16(pairs, _mm256_add_epi16(levels.even, levels.odd));
  }
};

/// The weights of one query for a block as signed 16 bits, w - 32768; of 4 tokens first the even ones.
struct BlockWeights {
  std::int16_t w[layout::block_tokens];

  void assign(const WeightCode& code) noexcept {
    for (std::size_t t = 0; t < layout::block_tokens; ++t)
      w[t / 4 * 4 + t % 2 * 2 + t % 4 / 2] =
          static_cast<std::int16_t>(256 * (code.high[t] - 128) + code.low[t]);
  }
};

/// Sums of 16-bit weights times signed levels.
struct WeightedSum {
  vec sum;

  WeightedSum() noexcept : sum(zero()) {}

  static WideLevels prepare(vec levels) noexcept {
    return {_mm256_srai_epi16(_mm256_slli_epi16(levels, 8), 8), _mm256_srai_epi16(levels, 8)};
  }
  void add(const WideLevels& levels, const BlockWeights& weights, std::size_t token) noexcept {
    const vec even = _mm256_madd_epi16(levels.even, broadcast4(weights.w + token)),
              odd = _mm256_madd_epi16(levels.odd, broadcast4(weights.w + token + 2));
    sum = _mm256_add_epi32(sum, _mm256_add_epi32(even, odd));
  }
  /// to[lane] += unit * (sum + 32768 total)
  void finish(float unit, const LevelTotals& totals, float* to) const noexcept {
    const vec total = _mm256_madd_epi16(totals.pairs, _mm256_set1_epi16(1));
    const __m256 all = _mm256_cvtepi32_ps(_mm256_add_epi32(sum, left32<15>(total)));
    _mm256_storeu_ps(to, _mm256_fmadd_ps(_mm256_set1_ps(unit), all, _mm256_loadu_ps(to)));
  }
};

// --- floats, for kernel/simd/rows.inc

using fvec = __m256;
inline constexpr std::size_t floats = 8;  ///< of a fvec

inline fvec load_floats(const float* from) noexcept { return _mm256_loadu_ps(from); }
inline void store_floats(float* to, fvec v) noexcept { _mm256_storeu_ps(to, v); }
inline fvec all(float x) noexcept { return _mm256_set1_ps(x); }
inline fvec multiply_add(fvec a, fvec b, fvec c) noexcept { return _mm256_fmadd_ps(a, b, c); }
inline fvec maximum(fvec a, fvec b) noexcept { return _mm256_max_ps(a, b); }
inline float first_of(fvec v) noexcept { return _mm256_cvtss_f32(v); }
inline float sum_of(fvec v) noexcept {
  const __m128 four = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
  const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
}
inline float largest_of(fvec v) noexcept {
  const __m128 four = _mm_max_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
  const __m128 two = _mm_max_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_max_ss(two, _mm_movehdup_ps(two)));
}
/// |v| < 2^31
inline fvec nearest_integer(fvec v) noexcept { return _mm256_cvtepi32_ps(_mm256_cvtps_epi32(v)); }
/// p 2^n, n a whole number in [-126, 0]
inline fvec times_power_of_two(fvec p, fvec n) noexcept {
  const vec exponent = _mm256_add_epi32(_mm256_cvtps_epi32(n), _mm256_set1_epi32(127));
  return p * reinterpret_cast<fvec>(left32<23>(exponent));
}
/// v where s > limit, 0 elsewhere
inline fvec where_above(fvec s, fvec limit, fvec v) noexcept {
  return _mm256_and_ps(_mm256_cmp_ps(s, limit, _CMP_GT_OQ), v);
}
/// 2 or 4 bytes a value of a raw row as floats.
template <ElementType Type>
inline fvec load_row(const std::byte* row, std::size_t i) noexcept {
  if constexpr (Type == ElementType::f32) {
    fvec v;
    std::memcpy(&v, row + 4 * i, sizeof v);
    return v;
  } else {
    const __m128i half = _mm_loadu_si128(reinterpret_cast<const __m128i*>(row + 2 * i));
    if constexpr (Type == ElementType::f16)
      return _mm256_cvtph_ps(half);
    else
      return reinterpret_cast<fvec>(left32<16>(_mm256_cvtepu16_epi32(half)));
  }
}
/// Whole parts of v, at most 65535, as two bytes each.
inline void store_bytes(fvec v, std::uint8_t* high, std::uint8_t* low) noexcept {
  const vec code = _mm256_cvttps_epi32(v);
  const __m128i both = _mm_packus_epi32(_mm256_castsi256_si128(code), _mm256_extracti128_si256(code, 1));
  const __m128i split =
      _mm_shuffle_epi8(both, _mm_setr_epi8(0, 2, 4, 6, 8, 10, 12, 14, 1, 3, 5, 7, 9, 11, 13, 15));
  _mm_storel_epi64(reinterpret_cast<__m128i*>(low), split);
  _mm_storel_epi64(reinterpret_cast<__m128i*>(high), _mm_unpackhi_epi64(split, split));
}

}  // namespace tightkv::inline TIGHTKV_ABI::kernel::on_avx2
TIGHTKV_TARGET_END
#endif
