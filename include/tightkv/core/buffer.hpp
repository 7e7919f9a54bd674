// core/buffer.hpp: std::vector whose functions bear the name of this build.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "../version.hpp"

namespace tightkv::inline TIGHTKV_ABI {

/// std::allocator under a name in the inline namespace. std::vector<float>::resize has one name for all units
/// of a program, and the linker may keep the copy of a unit built for AVX; a vector of this allocator has a
/// name of its own per build.
template <class T>
struct Allocator : std::allocator<T> {
  Allocator() noexcept = default;
  template <class U>
  explicit(false) Allocator(const Allocator<U>&) noexcept {}

  template <class U>
  struct rebind {
    using other = Allocator<U>;
  };
};

template <class T>
using Buffer = std::vector<T, Allocator<T>>;

}  // namespace tightkv::inline TIGHTKV_ABI
