// kernel/neon.hpp: the tables of 64-bit ARM kernels: for every such CPU, and for those with dot products
// (2018 on).
#pragma once

#include "accumulate/neon.hpp"
#include "scalar.hpp"
#if defined(__aarch64__)
namespace tightkv::inline TIGHTKV_ABI::kernel::on_neon {
#include "simd/rows.inc"
#include "simd/table.inc"
inline constexpr Kernels table = table_named("neon");
}  // namespace tightkv::inline TIGHTKV_ABI::kernel::on_neon

TIGHTKV_TARGET_BEGIN(TIGHTKV_DOTPROD_TARGET)
namespace tightkv::inline TIGHTKV_ABI::kernel::on_neon_dotprod {
// Rows have nothing to gain from integer dot products.
using on_neon::add_all_rows;
using on_neon::affine;
using on_neon::dot_all_rows;
using on_neon::largest;
using on_neon::multiply;
using on_neon::scale_sums;
using on_neon::softmax;
using on_neon::weigh;
using on_neon::widen;
#include "simd/table.inc"
inline constexpr Kernels table = table_named("neon_dotprod");
}  // namespace tightkv::inline TIGHTKV_ABI::kernel::on_neon_dotprod
TIGHTKV_TARGET_END
#endif
