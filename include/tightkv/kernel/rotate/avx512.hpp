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

}  // namespace tightkv::inline TIGHTKV_ABI::kernel::on_avx512
TIGHTKV_TARGET_END
#endif
