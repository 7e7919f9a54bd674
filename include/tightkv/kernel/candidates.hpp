// kernel/candidates.hpp: the tables of all instruction sets that this build compiles.
#pragma once

#include <array>

#include "avx2.hpp"
#include "avx512.hpp"
#include "dispatch.hpp"
#include "neon.hpp"

namespace tightkv::inline TIGHTKV_ABI::kernel {

namespace detail {

struct Candidates {
  std::array<Candidate, 4> all{};
  std::size_t count = 0;

  Candidates() noexcept {
#if defined(__x86_64__)
    add(&on_avx512::table, avx512::available());
    add(&on_avx2::table, avx2::available());
#elif defined(__aarch64__)
    add(&on_neon_dotprod::table, neon_dotprod::available());
    add(&on_neon::table, neon::available());
#endif
    if (opt_in_table) add(opt_in_table, true);
    add(&on_scalar::table, true);
  }
  void add(const Kernels* table, bool available) noexcept { all[count++] = {table, available}; }
};

}  // namespace detail

TIGHTKV_KERNELS_INLINE std::span<const Candidate> candidates() noexcept {
  static const detail::Candidates found;
  return std::span(found.all).first(found.count);
}

}  // namespace tightkv::inline TIGHTKV_ABI::kernel
