// version.hpp: the version, and the inline namespace that keeps differently built units apart.
#pragma once

#define TIGHTKV_VERSION_MAJOR 0
#define TIGHTKV_VERSION_MINOR 1
#define TIGHTKV_VERSION_PATCH 0

// Two translation units with different target or floating-point flags compile the same inline function to
// different code; with one name the linker would keep an arbitrary one, and an old CPU would meet an AVX
// instruction. So the flags that change code generation are part of the namespace's name, and such units
// never merge.
#if defined(__AVX512F__)
#define TIGHTKV_ABI_ISA avx512
#elif defined(__AVX2__)
#define TIGHTKV_ABI_ISA avx2
#elif defined(__AVX__)
#define TIGHTKV_ABI_ISA avx
#elif defined(__SSE4_1__)
#define TIGHTKV_ABI_ISA sse4
#elif defined(__ARM_FEATURE_SVE)
#define TIGHTKV_ABI_ISA sve
#elif defined(__ARM_FEATURE_DOTPROD)
#define TIGHTKV_ABI_ISA dotprod
#else
#define TIGHTKV_ABI_ISA base
#endif
#if defined(__FAST_MATH__)
#define TIGHTKV_ABI_MATH fast
#else
#define TIGHTKV_ABI_MATH ieee
#endif
#if defined(__cpp_exceptions)
#define TIGHTKV_HAS_EXCEPTIONS 1
#define TIGHTKV_ABI_ERRORS throws
#else
#define TIGHTKV_HAS_EXCEPTIONS 0
#define TIGHTKV_ABI_ERRORS nothrow
#endif

#define TIGHTKV_ABI_JOIN2(a, b, c, d, e) v##a##_##b##_##c##_##d##_##e
#define TIGHTKV_ABI_JOIN(a, b, c, d, e) TIGHTKV_ABI_JOIN2(a, b, c, d, e)
#define TIGHTKV_ABI                                                                                 \
  TIGHTKV_ABI_JOIN(TIGHTKV_VERSION_MAJOR, TIGHTKV_VERSION_MINOR, TIGHTKV_ABI_ISA, TIGHTKV_ABI_MATH, \
                   TIGHTKV_ABI_ERRORS)
