// kernel/condition/avx512.hpp: 16 raw rows as integers, lane = row: the mean taken off, normalised.
#pragma once

#include "../encode.hpp"
#include "../simd/avx512_lanes.hpp"
#if defined(__x86_64__)
TIGHTKV_TARGET_BEGIN(TIGHTKV_AVX512_TARGET)
namespace tightkv::inline TIGHTKV_ABI::kernel::on_avx512 {

/// The rows' float bits as columns: x[i * 16 + t]; returns the largest magnitude of each lane, as bits.
template <ElementType Type>
inline i32x16 load_columns(const EncodeTile& tile, std::int32_t* x) noexcept {
  i32x16 largest = splat(0);
  for (std::size_t i = 0; i < tile.dim; i += 16) {
    u32x16 r[16];
    if (i + 16 <= tile.dim) {
#pragma GCC unroll 16
      for (std::size_t t = 0; t < 16; ++t)
        r[t] = reinterpret_cast<u32x16>(load_row<Type>(tile.rows + t * tile.stride, i));
    } else {
      for (std::size_t t = 0; t < 16; ++t) {
        alignas(64) std::uint32_t row[16] = {};
        for (std::size_t k = i; k < tile.dim; ++k)
          row[k - i] = tightkv::detail::float_bits(tile.rows + t * tile.stride, Type, k);
        r[t] = reinterpret_cast<u32x16>(load(row));
      }
    }
    transpose(r);
#pragma GCC unroll 16
    for (std::size_t k = 0; k < 16; ++k) {
      store(x + (i + k) * 16, reinterpret_cast<vec>(r[k]));
      largest = larger(largest, reinterpret_cast<i32x16>(r[k]) & splat(0x7fffffff));
    }
  }
  return largest;
}

/// v * f1 * f2, f1 f2 = 2^-unit: exact but for the rounding to integers, to nearest even.
inline i32x16 to_integer(__m512 f1, __m512 f2, __m512 v) noexcept {
  return reinterpret_cast<i32x16>(
      _mm512_maskz_cvt_roundps_epi32(0xffff, v * f1 * f2, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}

/// condition_row() for 16 rows without a channel scale. False where the float steps would not be exact: rows
/// so small that subnormals matter, or so large that a mean
/// may round up to 2^128.
inline bool condition(EncodeTile& tile, std::int32_t* x) noexcept {
  alignas(64) std::int32_t largest[16], shift_right[16], shift_left[16];
  store_lanes(largest, tile.type == ElementType::f16    ? load_columns<ElementType::f16>(tile, x)
                       : tile.type == ElementType::bf16 ? load_columns<ElementType::bf16>(tile, x)
                                                        : load_columns<ElementType::f32>(tile, x));
  int mean_exponent = -1000;
  for (std::size_t i = 0; i < tile.mean_dims; ++i) {
    const int e = fixed::exponent_above(tile.mean[i], tile.mean_exponent);
    mean_exponent = e > mean_exponent ? e : mean_exponent;
  }
  alignas(64) float factor1[16], factor2[16];
  for (std::size_t t = 0; t < 16; ++t) {
    int e = fixed::exponent_above(static_cast<std::uint32_t>(largest[t]));
    e = e > mean_exponent ? e : mean_exponent;
    if (e > -900 && (e < -90 || e > 127)) return false;
    tile.unit[t] = e < -900 ? 0 : e - 28;
    const int up = e < -900 ? 0 : 28 - e;
    factor1[t] = fixed::power_of_two(up / 2), factor2[t] = fixed::power_of_two(up - up / 2);
  }
  const __m512 f1 = _mm512_load_ps(factor1), f2 = _mm512_load_ps(factor2);
  i32x16 all = splat(0);
  for (std::size_t i = 0; i < tile.dim; ++i) {
    i32x16 v = to_integer(f1, f2, _mm512_loadu_ps(x + i * 16));
    if (i < tile.mean_dims)
      v = v - to_integer(f1, f2, _mm512_set1_ps(fixed::scale_by(to_float(tile.mean[i]), tile.mean_exponent)));
    all = all | reinterpret_cast<i32x16>(_mm512_maskz_abs_epi32(0xffff, reinterpret_cast<vec>(v)));
    store_lanes(x + i * 16, v);
  }
  store_lanes(largest, all);
  for (std::size_t t = 0; t < 16; ++t) {
    const int shift = largest[t] == 0 ? 0
                                      : fixed::bit_length(static_cast<std::uint32_t>(largest[t])) -
                                            tightkv::detail::headroom_bits(tile.dim);
    tile.unit[t] += shift;
    shift_right[t] = shift > 0 ? shift : 0, shift_left[t] = shift < 0 ? -shift : 0;
  }
  const vec right = load(shift_right), left = load(shift_left),
            half = _mm512_maskz_srli_epi32(0xffff,
                                           _mm512_maskz_sllv_epi32(0xffff, _mm512_set1_epi32(1), right), 1);
  for (std::size_t i = 0; i < tile.dim; ++i) {
    const vec v = _mm512_maskz_srav_epi32(0xffff, _mm512_add_epi32(load(x + i * 16), half), right);
    store(x + i * 16, _mm512_maskz_sllv_epi32(0xffff, v, left));
  }
  return true;
}

}  // namespace tightkv::inline TIGHTKV_ABI::kernel::on_avx512
TIGHTKV_TARGET_END
#endif
