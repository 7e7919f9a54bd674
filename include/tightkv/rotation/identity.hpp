// rotation/identity.hpp: no rotation. For measuring what a rotation is worth, and for data that is isotropic
// already.
#pragma once

#include "../core/concepts.hpp"

namespace tightkv::inline TIGHTKV_ABI {

class Identity {
 public:
  static constexpr RotationKind kind = RotationKind::identity;

  explicit Identity(std::size_t dim, std::uint64_t /*seed*/ = 0) noexcept : dim_(dim) {}

  std::size_t dim() const noexcept { return dim_; }
  void forward(std::span<std::int32_t>) const noexcept {}
  void forward(std::span<float>) const noexcept {}
  void inverse(std::span<float>) const noexcept {}
  std::uint64_t hash() const noexcept {
    return bytes::Hash{}.add(static_cast<std::uint8_t>(kind)).add(static_cast<std::uint32_t>(dim_)).value();
  }

 private:
  std::size_t dim_;
};

static_assert(Rotation<Identity>);

}  // namespace tightkv::inline TIGHTKV_ABI
