// kernel/isa.hpp: the instruction sets that kernels are written for, as tags.
#pragma once

#include "../version.hpp"
#if defined(__aarch64__) && defined(__linux__)
#include <sys/auxv.h>
#endif

namespace tightkv::inline TIGHTKV_ABI::kernel {

/// Portable C++: the definition that every other kernel is tested against.
struct scalar {
  static constexpr const char* name = "scalar";
  static bool available() noexcept { return true; }
};

/// AVX2 with FMA and F16C: Haswell 2013 on, every Zen. F16C is not asked for: every CPU with AVX2 has it, and
/// clang 14 does not know the question.
struct avx2 {
  static constexpr const char* name = "avx2";
  static bool available() noexcept {
#if defined(__x86_64__)
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi") &&
           __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("popcnt");
#else
    return false;
#endif
  }
};

/// AVX-512 with VNNI and VBMI: Ice Lake 2019 on, Zen 4 on.
struct avx512 {
  static constexpr const char* name = "avx512";
  static bool available() noexcept {
#if defined(__x86_64__)
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512vnni") && __builtin_cpu_supports("avx512vbmi") && avx2::available();
#else
    return false;
#endif
  }
};

/// 64-bit ARM: every such CPU has it.
struct neon {
  static constexpr const char* name = "neon";
  static bool available() noexcept {
#if defined(__aarch64__)
    return true;
#else
    return false;
#endif
  }
};

/// 64-bit ARM with the dot products of ARMv8.2: Cortex-A55 and A75 2018 on, Neoverse, Apple M1 on.
struct neon_dotprod {
  static constexpr const char* name = "neon_dotprod";
  static bool available() noexcept {
#if defined(__aarch64__) && defined(__linux__)
    constexpr unsigned long hwcap_asimddp = 1ul << 20;
    return (getauxval(AT_HWCAP) & hwcap_asimddp) != 0;
#elif defined(__aarch64__) && defined(__APPLE__)
    return true;
#else
    return false;
#endif
  }
};

}  // namespace tightkv::inline TIGHTKV_ABI::kernel
