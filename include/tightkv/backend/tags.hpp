// backend/tags.hpp: where work runs. A backend is a tag that carries its context; free functions take it
// first.
#pragma once

#include "../attention/workspace.hpp"

namespace tightkv::inline TIGHTKV_ABI {

namespace backend {

/// The CPU, with the buffers of one thread.
struct cpu {
  Workspace& workspace;
};

/// Declared so that a call without backend/hip.hpp or backend/metal.hpp says what is missing.
struct hip;
struct metal;

}  // namespace backend

namespace detail {

template <class>
inline constexpr bool always_false = false;

}  // namespace detail

/// attend(backend, cache, q, out, params): specialised by each backend's header. Never a silent fallback.
template <class Backend, class Cache>
requires(!std::same_as<std::remove_cvref_t<Backend>, backend::cpu>) Status
    attend(Backend&&, const Cache&, const TensorView&, float*, const AttendParams&) {
  static_assert(detail::always_false<Backend>,
                "tightkv: this backend is not included: add #include <tightkv/backend/cpu.hpp>, or pass one "
                "of the tags in "
                "tightkv::backend whose header you include");
  return {};
}

}  // namespace tightkv::inline TIGHTKV_ABI
