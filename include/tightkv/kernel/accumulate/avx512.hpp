// kernel/accumulate/avx512.hpp: weighted sums with vpermb look-ups and two vpdpbusd a query, one for each
// byte of weight.
#pragma once

#include "../score/avx512.hpp"
#if defined(__x86_64__)
TIGHTKV_TARGET_BEGIN(TIGHTKV_AVX512_TARGET)
namespace tightkv::inline TIGHTKV_ABI::kernel::on_avx512 {
#include "simd.inc"
}  // namespace tightkv::inline TIGHTKV_ABI::kernel::on_avx512
TIGHTKV_TARGET_END
#endif
