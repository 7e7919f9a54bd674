// kernel/dispatch.hpp: which kernels run here: the best that the CPU has, or the ones that TIGHTKV_ISA names.
#pragma once

#include <cstdlib>
#include <string_view>

#include "avx512.hpp"
#include "scalar.hpp"

namespace tightkv::inline TIGHTKV_ABI::kernel {

/// One compiled instruction set: its table, and whether this CPU runs it.
struct Candidate {
  const Kernels* table;
  bool available;
};

/// All compiled instruction sets, best first.
inline std::span<const Candidate> candidates() noexcept {
  static const Candidate all[] = {
#if defined(__x86_64__)
    {&on_avx512::table, avx512::available()},
#endif
    {&on_scalar::table, true}
  };
  return all;
}

/// What was chosen, once a process.
struct Choice {
  const Kernels* kernels =
      nullptr;  ///< nullptr if TIGHTKV_ISA names something that cannot run: nothing else runs then
  const char* forced = nullptr;  ///< the value of TIGHTKV_ISA, or nullptr
};

inline const Choice& choice() noexcept {
  static const Choice chosen = [] {
    Choice c;
    c.forced = std::getenv("TIGHTKV_ISA");
    if (c.forced && *c.forced == '\0') c.forced = nullptr;
    for (const Candidate& candidate : candidates())
      if (candidate.available && (!c.forced || std::string_view(c.forced) == candidate.table->name) &&
          !c.kernels)
        c.kernels = candidate.table;
    return c;
  }();
  return chosen;
}

/// The kernels to run on, or a sentence that names what TIGHTKV_ISA asked for and what there is.
inline Status try_kernels(const Kernels*& out) {
  const Choice& c = choice();
  if (c.kernels) {
    out = c.kernels;
    return {};
  }
  std::string names;
  for (const Candidate& candidate : candidates())
    if (candidate.available) (names += names.empty() ? "" : ", ") += candidate.table->name;
  return Status::failure(ErrorCode::unsupported, "TIGHTKV_ISA is '", c.forced,
                         "'; this build on this CPU runs ", names);
}

/// "avx512: best of avx512, scalar", "scalar: forced by TIGHTKV_ISA; ..." or the refusal.
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
