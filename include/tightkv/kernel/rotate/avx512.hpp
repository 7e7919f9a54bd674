// kernel/rotate/avx512.hpp: the integer Hadamard rotation of 16 vectors, lane = vector.
#pragma once

#include "../encode.hpp"
#include "../simd/avx512_lanes.hpp"
#if defined(__x86_64__)
TIGHTKV_TARGET_BEGIN(TIGHTKV_AVX512_TARGET)
namespace tightkv::inline TIGHTKV_ABI::kernel::on_avx512 {

/// Butterflies of `Stages` stages at once on rows at distance `half`: one load and one store a row for all of
/// them.
template <int Stages>
inline void butterflies(std::int32_t* x, std::size_t dim, std::size_t half) noexcept {
  constexpr std::size_t n = std::size_t{1} << Stages;
  for (std::size_t begin = 0; begin < dim; begin += half * n)
    for (std::size_t i = begin; i < begin + half; ++i) {
      i32x16 v[n];
#pragma GCC unroll 8
      for (std::size_t k = 0; k < n; ++k) v[k] = load_lanes(x + (i + k * half) * 16);
#pragma GCC unroll 3
      for (std::size_t s = 1; s < n; s *= 2)
#pragma GCC unroll 8
        for (std::size_t k = 0; k < n; ++k)
          if ((k & s) == 0) {
            const i32x16 a = v[k], b = v[k + s];
            v[k] = a + b, v[k + s] = a - b;
          }
#pragma GCC unroll 8
      for (std::size_t k = 0; k < n; ++k) store_lanes(x + (i + k * half) * 16, v[k]);
    }
}

/// Hadamard::forward for 16 vectors. `copy`: room for dim rows.
inline void rotate(const HadamardView& h, std::int32_t* x, std::size_t dim, std::int32_t* copy) noexcept {
  const std::size_t m = dim / h.width;
  for (int round = 0; round < 2; ++round) {
    const std::uint8_t* negative = h.negative + static_cast<std::size_t>(round) * dim;
    for (std::size_t i = 0; i < dim; ++i)
      if (negative[i]) store_lanes(x + i * 16, splat(0) - load_lanes(x + i * 16));
    std::size_t half = 1;
    for (; half * 8 <= h.width; half *= 8) butterflies<3>(x, dim, half);
    if (half * 4 <= h.width) butterflies<2>(x, dim, half), half *= 4;
    if (half * 2 <= h.width) butterflies<1>(x, dim, half);
    const int shift = round == 0 ? h.log2_width / 2 : h.log2_width - h.log2_width / 2;
    if (shift > 0)
      for (std::size_t i = 0; i < dim; ++i)
        store_lanes(x + i * 16, (load_lanes(x + i * 16) + splat(1 << (shift - 1))) >> shift);
    if (m == 1) continue;
    for (std::size_t i = 0; i < dim * 16; i += 16) store(copy + i, load(x + i));
    for (std::size_t a = 0; a < h.width; ++a)
      for (std::size_t r = 0; r < m; ++r) {
        Wide sum = {splat64(0), splat64(0)};
        for (std::size_t i = 0; i < m; ++i)
          add_product(sum, splat(h.dct[r * m + i]), load_lanes(copy + (i * h.width + a) * 16));
        const std::size_t at = r * h.width + a,
                          to = round == 0 ? at % m * h.width + at / m : at;  // other rows for round two
        store_lanes(x + to * 16, narrow({shift_round<30>(sum.even), shift_round<30>(sum.odd)}));
      }
  }
}

// --- floats: one vector after the other, 16 dims a register

/// Four butterfly stages inside a register: lanes i and i ^ 1, 2, 4, 8.
inline fvec butterflies16(fvec v) noexcept {
  const fvec one = all(1.0f), minus = all(-1.0f);
  v = multiply_add(
      v, __builtin_shufflevector(one, minus, 0, 17, 2, 19, 4, 21, 6, 23, 8, 25, 10, 27, 12, 29, 14, 31),
      __builtin_shufflevector(v, v, 1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14));
  v = multiply_add(
      v, __builtin_shufflevector(one, minus, 0, 1, 18, 19, 4, 5, 22, 23, 8, 9, 26, 27, 12, 13, 30, 31),
      __builtin_shufflevector(v, v, 2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13));
  v = multiply_add(
      v, __builtin_shufflevector(one, minus, 0, 1, 2, 3, 20, 21, 22, 23, 8, 9, 10, 11, 28, 29, 30, 31),
      __builtin_shufflevector(v, v, 4, 5, 6, 7, 0, 1, 2, 3, 12, 13, 14, 15, 8, 9, 10, 11));
  return multiply_add(
      v, __builtin_shufflevector(one, minus, 0, 1, 2, 3, 4, 5, 6, 7, 24, 25, 26, 27, 28, 29, 30, 31),
      __builtin_shufflevector(v, v, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7));
}

/// `Stages` stages across registers at distance `half` dims.
template <int Stages>
inline void butterflies(float* x, std::size_t dim, std::size_t half) noexcept {
  constexpr std::size_t n = std::size_t{1} << Stages;
  for (std::size_t begin = 0; begin < dim; begin += half * n)
    for (std::size_t i = begin; i < begin + half; i += 16) {
      fvec v[n];
#pragma GCC unroll 8
      for (std::size_t k = 0; k < n; ++k) v[k] = load_floats(x + i + k * half);
#pragma GCC unroll 3
      for (std::size_t s = 1; s < n; s *= 2)
#pragma GCC unroll 8
        for (std::size_t k = 0; k < n; ++k)
          if ((k & s) == 0) {
            const fvec a = v[k], b = v[k + s];
            v[k] = a + b, v[k + s] = a - b;
          }
#pragma GCC unroll 8
      for (std::size_t k = 0; k < n; ++k) store_floats(x + i + k * half, v[k]);
    }
}

/// H of every row of `width` dims (at least 16), times `before` and `after` dim by dim where they are given.
inline void hadamard_rows(float* x, std::size_t dim, std::size_t width, const float* before,
                          const float* after) noexcept {
  for (std::size_t i = 0; i < dim; i += 16) {
    const fvec v = load_floats(x + i);
    store_floats(x + i, butterflies16(before ? v * load_floats(before + i) : v));
  }
  std::size_t half = 16;
  for (; half * 8 <= width; half *= 8) butterflies<3>(x, dim, half);
  if (half * 4 <= width) butterflies<2>(x, dim, half), half *= 4;
  if (half * 2 <= width) butterflies<1>(x, dim, half);
  if (after)
    for (std::size_t i = 0; i < dim; i += 16)
      store_floats(x + i, load_floats(x + i) * load_floats(after + i));
}

/// The DCT across the m rows, or its transpose. `copy`: dim floats.
inline void dct_columns(const HadamardView& h, float* x, std::size_t m, bool transposed,
                        float* copy) noexcept {
  __builtin_memcpy(copy, x, m * h.width * sizeof(float));
  for (std::size_t r = 0; r < m; ++r)
    for (std::size_t a = 0; a < h.width; a += 16) {
      fvec sum = all(0);
      for (std::size_t i = 0; i < m; ++i)
        sum = multiply_add(all(h.dct_floats[transposed ? i * m + r : r * m + i]),
                           load_floats(copy + i * h.width + a), sum);
      store_floats(x + r * h.width + a, sum);
    }
}

/// Hadamard::forward and inverse of floats; needs width >= 16.
inline void rotate_floats(const HadamardView& h, float* vectors, std::size_t count, std::size_t dim,
                          bool inverse) noexcept {
  const std::size_t m = dim / h.width;
  const float *first = h.signs, *second = h.signs + dim;
  float copy[max_head_dim];
  for (float* x = vectors; count > 0; --count, x += dim) {
    if (!inverse) {
      hadamard_rows(x, dim, h.width, first, nullptr);
      if (m > 1) {
        dct_columns(h, x, m, false, copy);
        __builtin_memcpy(copy, x, dim * sizeof(float));
        for (std::size_t r = 0; r < m; ++r)
          for (std::size_t c = 0; c < h.width; ++c) x[r * h.width + c] = copy[c * m + r];
      }
      hadamard_rows(x, dim, h.width, second, nullptr);
      if (m > 1) dct_columns(h, x, m, false, copy);
    } else {
      if (m > 1) dct_columns(h, x, m, true, copy);
      hadamard_rows(x, dim, h.width, nullptr, second);
      if (m > 1) {
        __builtin_memcpy(copy, x, dim * sizeof(float));
        for (std::size_t r = 0; r < m; ++r)
          for (std::size_t c = 0; c < h.width; ++c) x[c * m + r] = copy[r * h.width + c];
        dct_columns(h, x, m, true, copy);
      }
      hadamard_rows(x, dim, h.width, nullptr, first);
    }
  }
}

}  // namespace tightkv::inline TIGHTKV_ABI::kernel::on_avx512
TIGHTKV_TARGET_END
#endif
