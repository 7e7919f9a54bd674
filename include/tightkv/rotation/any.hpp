// rotation/any.hpp: one of the rotations, chosen at run time.
#pragma once

#include <variant>

#include "haar.hpp"
#include "hadamard.hpp"
#include "identity.hpp"

namespace tightkv::inline TIGHTKV_ABI {

/// Models Rotation by asking the one it holds.
class AnyRotation {
  template <class F>
  auto visit(F&& f) const noexcept {
    return std::visit(std::forward<F>(f), held_);
  }

 public:
  static constexpr RotationKind kind = RotationKind::hadamard;  // which() is the run-time answer

  template <class R>
  requires(std::same_as<R, Identity> || std::same_as<R, Matrix> || std::same_as<R, Haar> ||
           std::same_as<R, Hadamard>) explicit(false) AnyRotation(R rotation)
      : held_(std::move(rotation)), which_(R::kind) {}

  /// Identity, Haar or Hadamard from a seed; a Matrix is loaded, not seeded, and is handed over by the
  /// constructor.
  static Status try_make(RotationKind which, std::size_t dim, std::uint64_t seed, AnyRotation& out) {
    switch (which) {
      case RotationKind::identity:
        out = Identity(dim, seed);
        return {};
      case RotationKind::haar:
        out = Haar(dim, seed);
        return {};
      case RotationKind::hadamard:
        out = Hadamard(dim, seed);
        return {};
      case RotationKind::matrix:
        break;
    }
    return Status::failure(ErrorCode::unsupported, "rotation ", static_cast<unsigned>(which),
                           " cannot be made from a seed; identity, haar and hadamard can");
  }

  /// The Hadamard it holds, or nullptr.
  const Hadamard* hadamard() const noexcept { return std::get_if<Hadamard>(&held_); }

  RotationKind which() const noexcept { return which_; }
  std::size_t dim() const noexcept {
    return visit([](const auto& r) { return r.dim(); });
  }
  void forward(std::span<std::int32_t> x) const noexcept {
    visit([&](const auto& r) { r.forward(x); });
  }
  void forward(std::span<float> x) const noexcept {
    visit([&](const auto& r) { r.forward(x); });
  }
  void inverse(std::span<float> x) const noexcept {
    visit([&](const auto& r) { r.inverse(x); });
  }
  std::uint64_t hash() const noexcept {
    return visit([](const auto& r) { return r.hash(); });
  }

 private:
  std::variant<Identity, Matrix, Haar, Hadamard> held_;
  RotationKind which_;
};

static_assert(Rotation<AnyRotation>);

}  // namespace tightkv::inline TIGHTKV_ABI
