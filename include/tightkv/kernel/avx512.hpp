// kernel/avx512.hpp: the table of AVX-512 kernels (F, BW, VL, DQ, VNNI, VBMI: Ice Lake 2019 on, Zen 4 on).
#pragma once

#include "accumulate/avx512.hpp"
#include "scalar.hpp"
#if defined(__x86_64__)
TIGHTKV_TARGET_BEGIN(TIGHTKV_AVX512_TARGET)
namespace tightkv::inline TIGHTKV_ABI::kernel::on_avx512 {

/// exp(x) for x <= 0, relative error below 2e-7 * (1 + |x|): 2^n times a degree-6 polynomial of the fraction.
inline __m512 exp_negative(__m512 x) noexcept {
  const __m512 y =
      _mm512_maskz_max_ps(0xffff, x, _mm512_set1_ps(-87.0f)) * _mm512_set1_ps(1.44269504088896341f);
  const __m512 n = _mm512_maskz_roundscale_ps(0xffff, y, 8), f = y - n;
  __m512 p = _mm512_set1_ps(1.535336188319500e-4f);
  p = _mm512_fmadd_ps(p, f, _mm512_set1_ps(1.339887440266574e-3f));
  p = _mm512_fmadd_ps(p, f, _mm512_set1_ps(9.618437357674640e-3f));
  p = _mm512_fmadd_ps(p, f, _mm512_set1_ps(5.550332471162809e-2f));
  p = _mm512_fmadd_ps(p, f, _mm512_set1_ps(2.402264791363012e-1f));
  p = _mm512_fmadd_ps(p, f, _mm512_set1_ps(6.931472028550421e-1f));
  p = _mm512_fmadd_ps(p, f, _mm512_set1_ps(1.0f));
  return _mm512_maskz_scalef_ps(0xffff, p, n);
}

inline float largest_of(__m512 v) noexcept {
  alignas(64) float lanes[16];
  _mm512_store_ps(lanes, v);
  float m = lanes[0];
  for (int i = 1; i < 16; ++i) m = lanes[i] > m ? lanes[i] : m;
  return m;
}

inline float sum_of(__m512 v) noexcept {
  alignas(64) float lanes[16];
  _mm512_store_ps(lanes, v);
  for (int width = 8; width > 0; width /= 2)
    for (int i = 0; i < width; ++i) lanes[i] += lanes[i + width];
  return lanes[0];
}

inline __m512 maximum(__m512 a, __m512 b) noexcept { return _mm512_maskz_max_ps(0xffff, a, b); }

inline float softmax(float* logits, float& running, float& mass) noexcept {
  __m512 s[4];
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) s[i] = _mm512_loadu_ps(logits + 16 * i);
  const float largest =
      largest_of(maximum(maximum(maximum(s[0], s[1]), maximum(s[2], s[3])), _mm512_set1_ps(running)));
  if (largest <= hidden_logit) {
    for (int i = 0; i < 4; ++i) _mm512_storeu_ps(logits + 16 * i, _mm512_setzero_ps());
    return 1;
  }
  float owed = 1;
  if (largest > running)
    owed = running <= hidden_logit ? 0.0f : _mm512_cvtss_f32(exp_negative(_mm512_set1_ps(running - largest)));
  __m512 sum = _mm512_setzero_ps();
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    const __mmask16 shown = _mm512_cmp_ps_mask(s[i], _mm512_set1_ps(hidden_logit), _CMP_GT_OQ);
    s[i] = _mm512_maskz_mov_ps(shown, exp_negative(s[i] - _mm512_set1_ps(largest)));
    _mm512_storeu_ps(logits + 16 * i, s[i]);
    sum = sum + s[i];
  }
  mass = mass * owed + sum_of(sum);
  running = largest;
  return owed;
}

inline float weigh(const float* weights, const float* scales, std::uint8_t* high,
                   std::uint8_t* low) noexcept {
  __m512 w[4];
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) w[i] = _mm512_loadu_ps(weights + 16 * i) * _mm512_loadu_ps(scales + 16 * i);
  const float largest = largest_of(maximum(maximum(w[0], w[1]), maximum(w[2], w[3])));
  const float lift = weight_lift(largest), factor = largest > 0 ? 65535.0f / (largest * lift) : 0.0f;
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    const __m512 scaled = w[i] * _mm512_set1_ps(lift) * _mm512_set1_ps(factor) + _mm512_set1_ps(0.5f);
    const vec code =
        _mm512_maskz_min_epu32(0xffff, _mm512_maskz_cvttps_epu32(0xffff, scaled), _mm512_set1_epi32(65535));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(low + 16 * i), _mm512_maskz_cvtepi32_epi8(0xffff, code));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(high + 16 * i),
                     _mm512_maskz_cvtepi32_epi8(0xffff, right32<8>(code)));
  }
  return largest > 0 ? largest * lift * (1.0f / 65535.0f) / lift : 0.0f;
}

/// 16 values of a raw row as floats.
template <ElementType Type>
inline __m512 load_row(const std::byte* row, std::size_t i) noexcept {
  if constexpr (Type == ElementType::f32)
    return _mm512_loadu_ps(row + 4 * i);
  else if constexpr (Type == ElementType::f16)
    return _mm512_maskz_cvtph_ps(0xffff, _mm256_loadu_si256(reinterpret_cast<const __m256i*>(row + 2 * i)));
  else
    return reinterpret_cast<__m512>(left32<16>(_mm512_maskz_cvtepu16_epi32(
        0xffff, _mm256_loadu_si256(reinterpret_cast<const __m256i*>(row + 2 * i)))));
}

template <ElementType Type, std::size_t N>
inline void dot_rows(const std::byte* first, std::size_t stride, std::size_t rows, std::size_t dim,
                     const float* const* q, float* out) noexcept {
  for (std::size_t t = 0; t < rows; ++t) {
    const std::byte* row = first + t * stride;
    __m512 sum[N][2];
#pragma GCC unroll 8
    for (std::size_t k = 0; k < N; ++k) sum[k][0] = sum[k][1] = _mm512_setzero_ps();
    std::size_t i = 0;
    for (; i + 32 <= dim; i += 32) {
      const __m512 a = load_row<Type>(row, i), b = load_row<Type>(row, i + 16);
#pragma GCC unroll 8
      for (std::size_t k = 0; k < N; ++k) {
        sum[k][0] = _mm512_fmadd_ps(a, _mm512_loadu_ps(q[k] + i), sum[k][0]);
        sum[k][1] = _mm512_fmadd_ps(b, _mm512_loadu_ps(q[k] + i + 16), sum[k][1]);
      }
    }
    float rest[N] = {};
    if (i + 16 <= dim) {
      const __m512 a = load_row<Type>(row, i);
#pragma GCC unroll 8
      for (std::size_t k = 0; k < N; ++k)
        sum[k][0] = _mm512_fmadd_ps(a, _mm512_loadu_ps(q[k] + i), sum[k][0]);
      i += 16;
    }
    for (; i < dim; ++i) {
      const float x = tightkv::detail::load_element(row, Type, i);
      for (std::size_t k = 0; k < N; ++k) rest[k] += q[k][i] * x;
    }
#pragma GCC unroll 8
    for (std::size_t k = 0; k < N; ++k) out[k * 64 + t] = sum_of(sum[k][0] + sum[k][1]) + rest[k];
  }
}

template <ElementType Type, std::size_t N>
inline void add_rows(const std::byte* first, std::size_t stride, std::size_t rows, std::size_t dim,
                     const float* weights, float* const* sum) noexcept {
  std::size_t i = 0;
  for (; i + 16 <= dim; i += 16) {
    __m512 acc[N];
#pragma GCC unroll 8
    for (std::size_t k = 0; k < N; ++k) acc[k] = _mm512_loadu_ps(sum[k] + i);
    for (std::size_t t = 0; t < rows; ++t) {
      const __m512 x = load_row<Type>(first + t * stride, i);
#pragma GCC unroll 8
      for (std::size_t k = 0; k < N; ++k)
        acc[k] = _mm512_fmadd_ps(x, _mm512_set1_ps(weights[k * 64 + t]), acc[k]);
    }
#pragma GCC unroll 8
    for (std::size_t k = 0; k < N; ++k) _mm512_storeu_ps(sum[k] + i, acc[k]);
  }
  for (; i < dim; ++i)
    for (std::size_t t = 0; t < rows; ++t)
      for (std::size_t k = 0; k < N; ++k)
        sum[k][i] += weights[k * 64 + t] * tightkv::detail::load_element(first + t * stride, Type, i);
}

/// Calls run(type, n) with the element type and 4, 2 or 1 queries at a time, and the index of the first of
/// them.
template <class F>
inline void by_type_and_count(ElementType type, std::size_t n, F&& run) noexcept {
  const auto counted = [&](auto t) {
    std::size_t k = 0;
    for (; k + 4 <= n; k += 4) run(t, std::integral_constant<std::size_t, 4>{}, k);
    if (k + 2 <= n) run(t, std::integral_constant<std::size_t, 2>{}, k), k += 2;
    if (k < n) run(t, std::integral_constant<std::size_t, 1>{}, k);
  };
  switch (type) {
    case ElementType::f32:
      return counted(std::integral_constant<ElementType, ElementType::f32>{});
    case ElementType::f16:
      return counted(std::integral_constant<ElementType, ElementType::f16>{});
    case ElementType::bf16:
      return counted(std::integral_constant<ElementType, ElementType::bf16>{});
  }
}

inline void dot_all_rows(const std::byte* first, std::size_t stride, ElementType type, std::size_t rows,
                         std::size_t dim, const float* const* q, std::size_t n, float* out) noexcept {
  by_type_and_count(type, n, [&](auto t, auto count, std::size_t k) {
    dot_rows<decltype(t)::value, decltype(count)::value>(first, stride, rows, dim, q + k, out + k * 64);
  });
}

inline void add_all_rows(const std::byte* first, std::size_t stride, ElementType type, std::size_t rows,
                         std::size_t dim, const float* weights, std::size_t n, float* const* sum) noexcept {
  by_type_and_count(type, n, [&](auto t, auto count, std::size_t k) {
    add_rows<decltype(t)::value, decltype(count)::value>(first, stride, rows, dim, weights + k * 64, sum + k);
  });
}

inline void widen(const std::byte* halfs, std::size_t count, int exponent, float* out) noexcept {
  std::size_t i = 0;
  for (; i + 16 <= count; i += 16)
    _mm512_storeu_ps(out + i, _mm512_maskz_scalef_ps(0xffff, load_row<ElementType::f16>(halfs, i),
                                                     _mm512_set1_ps(static_cast<float>(exponent))));
  on_scalar::widen(halfs + 2 * i, count - i, exponent, out + i);
}

inline void multiply(float* values, std::size_t count, float factor) noexcept {
  std::size_t i = 0;
  for (; i + 16 <= count; i += 16)
    _mm512_storeu_ps(values + i, _mm512_loadu_ps(values + i) * _mm512_set1_ps(factor));
  for (; i < count; ++i) values[i] *= factor;
}

inline void score_or_define(const LevelPlan& plan, const std::byte* tiles, std::size_t tile_bytes,
                            std::size_t begin, std::size_t end, const QueryCode* q, std::size_t n,
                            std::int32_t* sums) noexcept {
  if (!score(plan, tiles, begin, end, q, n, tile_bytes, sums))
    on_scalar::score(plan, tiles, tile_bytes, begin, end, q, n, sums);
}

inline void accumulate_or_define(const LevelPlan& plan, const std::byte* words, std::size_t begin,
                                 std::size_t end, const WeightCode* w, std::size_t n) noexcept {
  if (!accumulate(plan, words, begin, end, w, n)) on_scalar::accumulate(plan, words, begin, end, w, n);
}

inline constexpr Kernels table = {"avx512",     score_or_define, accumulate_or_define,
                                  softmax,      weigh,           dot_all_rows,
                                  add_all_rows, widen,           multiply};

}  // namespace tightkv::inline TIGHTKV_ABI::kernel::on_avx512
TIGHTKV_TARGET_END
#endif
