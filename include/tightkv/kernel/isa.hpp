// kernel/isa.hpp: the instruction sets that kernels are written for, as tags.
#pragma once

#include "../version.hpp"

namespace tightkv::inline TIGHTKV_ABI::kernel {

/// Portable C++: the definition that every other kernel is tested against.
struct scalar {
  static constexpr const char* name = "scalar";
  static bool available() noexcept { return true; }
};

/// AVX-512 with VNNI and VBMI: Ice Lake 2019 on, Zen 4 on.
struct avx512 {
  static constexpr const char* name = "avx512";
  static bool available() noexcept {
#if defined(__x86_64__)
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512vnni") && __builtin_cpu_supports("avx512vbmi") &&
           __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#else
    return false;
#endif
  }
};

}  // namespace tightkv::inline TIGHTKV_ABI::kernel
