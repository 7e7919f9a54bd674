// kernel/region.hpp: the only target pragmas of the library.
#pragma once

// Everything between BEGIN("avx2,fma") and END, templates and lambdas included, is compiled for that
// instruction set, without flags from the user. Rules: close every #include before a region opens, and keep
// std:: templates out of it: what is instantiated inside would carry the region's instructions under a name
// that the linker may keep for baseline code. An instruction set's intrinsics are only called inside its
// region.
#define TIGHTKV_PRAGMA(text) _Pragma(#text)
#if defined(__clang__)
#define TIGHTKV_TARGET_BEGIN(isa) \
  TIGHTKV_PRAGMA(clang attribute push(__attribute__((target(isa))), apply_to = function))
#define TIGHTKV_TARGET_END TIGHTKV_PRAGMA(clang attribute pop)
#else
// Without optimisation g++ makes macros of intrinsics with constants; their masks warn at the user's line.
#define TIGHTKV_TARGET_BEGIN(isa)                     \
  TIGHTKV_PRAGMA(GCC push_options)                    \
  TIGHTKV_PRAGMA(GCC target(isa))                     \
  TIGHTKV_PRAGMA(GCC diagnostic push)                 \
  TIGHTKV_PRAGMA(GCC diagnostic ignored "-Woverflow") \
  TIGHTKV_PRAGMA(GCC diagnostic ignored "-Wsign-conversion")
#define TIGHTKV_TARGET_END TIGHTKV_PRAGMA(GCC diagnostic pop) TIGHTKV_PRAGMA(GCC pop_options)
#endif
