// kernel/dispatch.hpp: which kernels run here: the best that the CPU has, or the ones that TIGHTKV_ISA names.
#pragma once

#include <cstdlib>
#include <string_view>

#include "scalar.hpp"

// The kernels of all instruction sets take a compiler some ten seconds. A program of many units can pay once:
// define TIGHTKV_SEPARATE_KERNELS for all of them, and include tightkv/kernel/candidates.hpp in one, built
// with the same flags.
#if defined(TIGHTKV_SEPARATE_KERNELS)
#define TIGHTKV_KERNELS_INLINE
#else
#define TIGHTKV_KERNELS_INLINE inline
#endif

namespace tightkv::inline TIGHTKV_ABI::kernel {

/// One compiled instruction set: its table, and whether this CPU runs it.
struct Candidate {
  const Kernels* table = nullptr;
  bool available = false;
};

/// The table of an opt-in header (kernel/xsimd.hpp), which sets it before main; nullptr where no unit of the
/// program includes one.
inline constinit const Kernels* opt_in_table = nullptr;

/// All compiled instruction sets, best first. Defined in candidates.hpp.
TIGHTKV_KERNELS_INLINE std::span<const Candidate> candidates() noexcept;

/// What was chosen, once a process.
struct Choice {
  const Kernels* kernels =
      nullptr;  ///< nullptr if TIGHTKV_ISA names something that cannot run: nothing else runs then
  const char* forced = nullptr;  ///< the value of TIGHTKV_ISA, or nullptr
};

/// The best of `from` that this CPU runs, or the one that `forced` names.
inline Choice choose(std::span<const Candidate> from, const char* forced) noexcept {
  Choice c;
  c.forced = forced && *forced != '\0' ? forced : nullptr;
  for (const Candidate& candidate : from)
    if (candidate.available && (!c.forced || std::string_view(c.forced) == candidate.table->name) &&
        !c.kernels)
      c.kernels = candidate.table;
  return c;
}

inline const Choice& choice() noexcept {
  static const Choice chosen = choose(candidates(), std::getenv("TIGHTKV_ISA"));
  return chosen;
}

/// "avx512, avx2, scalar", without those that this CPU does not run.
inline std::string names_of_available() {
  std::string names;
  for (const Candidate& c : candidates())
    if (c.available) (names += names.empty() ? "" : ", ") += c.table->name;
  return names;
}

/// For work that any table does with the same result and that has no way to fail.
inline const Kernels& kernels_or_scalar() noexcept {
  return choice().kernels ? *choice().kernels : on_scalar::table;
}

/// The kernels to run on, or a sentence that names what TIGHTKV_ISA asked for and what there is.
inline Status try_kernels(const Kernels*& out) {
  const Choice& c = choice();
  if (c.kernels) {
    out = c.kernels;
    return {};
  }
  const std::string_view forced = c.forced;
  for (const Candidate& candidate : candidates())
    if (forced == candidate.table->name)
      return Status::failure(ErrorCode::unsupported, "TIGHTKV_ISA is '", c.forced,
                             "', which this CPU lacks; it runs ", names_of_available());
  return Status::failure(ErrorCode::unsupported, "TIGHTKV_ISA is '", c.forced,
                         "', which is not in this build; it runs ", names_of_available(),
                         forced == "xsimd" ? " (xsimd needs #include <tightkv/kernel/xsimd.hpp>)" : "");
}

/// "avx512: the best that this CPU runs; compiled: avx512 avx2 scalar", "scalar: forced by TIGHTKV_ISA; ..."
/// or the refusal.
inline std::string isa_report() {
  const Kernels* chosen = nullptr;
  if (const Status status = try_kernels(chosen); !status.ok()) return status.message();
  std::string text = chosen->name;
  text += choice().forced ? ": forced by TIGHTKV_ISA; compiled:" : ": the best that this CPU runs; compiled:";
  for (const Candidate& c : candidates())
    text += tightkv::detail::join(" ", c.table->name, c.available ? "" : " (not on this CPU)");
  return text;
}

}  // namespace tightkv::inline TIGHTKV_ABI::kernel

#if !defined(TIGHTKV_SEPARATE_KERNELS)
#include "candidates.hpp"
#endif
