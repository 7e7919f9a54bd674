// kernel/avx2.hpp: the table of AVX2 kernels, with FMA and F16C (Haswell 2013 on, every Zen).
#pragma once

#include "accumulate/avx2.hpp"
#include "scalar.hpp"
#if defined(__x86_64__)
TIGHTKV_TARGET_BEGIN(TIGHTKV_AVX2_TARGET)
namespace tightkv::inline TIGHTKV_ABI::kernel::on_avx2 {
#include "simd/rows.inc"
#include "simd/table.inc"
inline constexpr Kernels table = table_named("avx2");
}  // namespace tightkv::inline TIGHTKV_ABI::kernel::on_avx2
TIGHTKV_TARGET_END
#endif
