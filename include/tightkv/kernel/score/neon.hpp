// kernel/score/neon.hpp: scores with tbl look-ups, and smull or sdot, a quarter of a 64-byte word (4 tokens)
// a register.
#pragma once

#include <type_traits>

#include "../simd/neon.hpp"
#if defined(__aarch64__)
namespace tightkv::inline TIGHTKV_ABI::kernel::on_neon {
#include "../simd/unpack.inc"
#include "simd.inc"
}  // namespace tightkv::inline TIGHTKV_ABI::kernel::on_neon

TIGHTKV_TARGET_BEGIN(TIGHTKV_DOTPROD_TARGET)
namespace tightkv::inline TIGHTKV_ABI::kernel::on_neon_dotprod {
#include "../simd/unpack.inc"
#include "simd.inc"
}  // namespace tightkv::inline TIGHTKV_ABI::kernel::on_neon_dotprod
TIGHTKV_TARGET_END
#endif
