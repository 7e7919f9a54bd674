// kernel/accumulate/neon.hpp: weighted sums with tbl look-ups, and four smlal or two sdot a query.
#pragma once

#include "../score/neon.hpp"
#if defined(__aarch64__)
namespace tightkv::inline TIGHTKV_ABI::kernel::on_neon {
#include "simd.inc"
}  // namespace tightkv::inline TIGHTKV_ABI::kernel::on_neon

TIGHTKV_TARGET_BEGIN(TIGHTKV_DOTPROD_TARGET)
namespace tightkv::inline TIGHTKV_ABI::kernel::on_neon_dotprod {
#include "simd.inc"
}  // namespace tightkv::inline TIGHTKV_ABI::kernel::on_neon_dotprod
TIGHTKV_TARGET_END
#endif
