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
inline constexpr Kernels table = [] {
  Kernels t = table_named("avx512");
  t.encode = encode;
  return t;
}();
}  // namespace tightkv::inline TIGHTKV_ABI::kernel::on_avx512
TIGHTKV_TARGET_END
#endif
