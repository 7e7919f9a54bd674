// kernel/simd/avx512.hpp: vector operations of AVX-512 with VNNI and VBMI (Ice Lake 2019 on, Zen 4 on).
#pragma once

#include <cstring>

#include "../plan.hpp"
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

/// Sums of 16-bit weights times signed levels: two u8 planes.
struct WeightedSum {
  vec high, low;

  WeightedSum() noexcept : high(zero()), low(zero()) {}

  static vec prepare(vec levels) noexcept { return levels; }
  void add(vec levels, const std::uint8_t* w_high, const std::uint8_t* w_low) noexcept {
    high = _mm512_dpbusd_epi32(high, broadcast4(w_high), levels);
    low = _mm512_dpbusd_epi32(low, broadcast4(w_low), levels);
  }
  /// to[lane] += unit * (256 high + low)
  void finish(float unit, float* to) const noexcept {
    const __m512 sum = _mm512_maskz_cvtepi32_ps(0xffff, _mm512_add_epi32(left32<8>(high), low));
    _mm512_storeu_ps(to, _mm512_fmadd_ps(_mm512_set1_ps(unit), sum, _mm512_loadu_ps(to)));
  }
};

}  // namespace tightkv::inline TIGHTKV_ABI::kernel::on_avx512
TIGHTKV_TARGET_END
#endif
