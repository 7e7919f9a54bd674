// kernel/score/avx2.hpp: scores with vpshufb look-ups, vpmaddubsw and vpmaddwd, half a 64-byte word (8
// tokens) a register.
#pragma once

#include <type_traits>

#include "../simd/avx2.hpp"
#if defined(__x86_64__)
TIGHTKV_TARGET_BEGIN(TIGHTKV_AVX2_TARGET)
namespace tightkv::inline TIGHTKV_ABI::kernel::on_avx2 {
#include "../simd/unpack.inc"
#include "simd.inc"
}  // namespace tightkv::inline TIGHTKV_ABI::kernel::on_avx2
TIGHTKV_TARGET_END
#endif
