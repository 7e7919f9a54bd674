// kernel/avx512.hpp: the table of AVX-512 kernels (F, BW, VL, DQ, VNNI, VBMI: Ice Lake 2019 on, Zen 4 on).
#pragma once

#include "accumulate/avx512.hpp"
#include "encode/avx512.hpp"
#include "scalar.hpp"
#if defined(__x86_64__)
TIGHTKV_TARGET_BEGIN(TIGHTKV_AVX512_TARGET)
namespace tightkv::inline TIGHTKV_ABI::kernel::on_avx512 {
#include "simd/rows.inc"
#include "simd/table.inc"

/// f32 to f16 by vcvtps2ph, whose rounding to nearest even is that of to_half().
inline void convert(const std::byte* from, ElementType from_type, std::size_t count, std::byte* to,
                    ElementType to_type) noexcept {
  std::size_t i = 0;
  if (from_type == ElementType::f32 && to_type == ElementType::f16)
    for (; i + floats <= count; i += floats)
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + 2 * i),
                          _mm512_maskz_cvtps_ph(0xffff, load_row<ElementType::f32>(from, i),
                                                _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
  on_scalar::convert(from + i * element_size(from_type), from_type, count - i, to + i * element_size(to_type),
                     to_type);
}

inline constexpr Kernels table = [] {
  Kernels t = table_named("avx512");
  t.encode = encode, t.convert = convert, t.rotate = rotate_floats;
  return t;
}();
}  // namespace tightkv::inline TIGHTKV_ABI::kernel::on_avx512
TIGHTKV_TARGET_END
#endif
