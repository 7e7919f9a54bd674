// kernel/accumulate/avx2.hpp: weighted sums with vpshufb look-ups and two vpmaddwd a query, for even and odd
// tokens.
#pragma once

#include "../score/avx2.hpp"
#if defined(__x86_64__)
TIGHTKV_TARGET_BEGIN(TIGHTKV_AVX2_TARGET)
namespace tightkv::inline TIGHTKV_ABI::kernel::on_avx2 {
#include "simd.inc"
}  // namespace tightkv::inline TIGHTKV_ABI::kernel::on_avx2
TIGHTKV_TARGET_END
#endif
