// kernel/isa.hpp: the instruction sets that kernels are written for, as tags. Only the scalar definition
// exists so far.
#pragma once

#include "../version.hpp"

namespace tightkv::inline TIGHTKV_ABI::kernel {

/// Portable C++: the definition that every other kernel is tested against.
struct scalar {
  static constexpr const char* name = "scalar";
};

/// What this build chose, and why.
inline const char* isa_report() noexcept { return "scalar: the only kernels of this version"; }

}  // namespace tightkv::inline TIGHTKV_ABI::kernel
