// kernel/score/avx512.hpp: scores with vpermb look-ups and vpdpbusd, one 64-byte word of 16 tokens a
// register.
#pragma once

#include <type_traits>

#include "../simd/avx512.hpp"
#if defined(__x86_64__)
TIGHTKV_TARGET_BEGIN(TIGHTKV_AVX512_TARGET)
namespace tightkv::inline TIGHTKV_ABI::kernel::on_avx512 {
#include "../simd/unpack.inc"
#include "simd.inc"
}  // namespace tightkv::inline TIGHTKV_ABI::kernel::on_avx512
TIGHTKV_TARGET_END
#endif
