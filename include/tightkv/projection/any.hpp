// projection/any.hpp: one of the sketch matrices, chosen at run time.
#pragma once

#include <variant>

#include "gaussian.hpp"
#include "orthogonal.hpp"
#include "srht.hpp"

namespace tightkv::inline TIGHTKV_ABI {

/// Models Projection by asking the one it holds.
class AnyProjection {
  template <class F>
  auto visit(F&& f) const noexcept {
    return std::visit(std::forward<F>(f), held_);
  }

 public:
  static constexpr ProjectionKind kind = ProjectionKind::gaussian;  // which() is the run-time answer

  template <class P>
  requires(std::same_as<P, Gaussian> || std::same_as<P, Orthogonal> || std::same_as<P, Srht>) explicit(false)
      AnyProjection(P projection)
      : held_(std::move(projection)), which_(P::kind) {}

  static Status try_make(ProjectionKind which, std::size_t dim, std::size_t rows, std::uint64_t seed,
                         AnyProjection& out) {
    switch (which) {
      case ProjectionKind::gaussian:
        out = Gaussian(dim, rows, seed);
        return {};
      case ProjectionKind::orthogonal:
        out = Orthogonal(dim, rows, seed);
        return {};
      case ProjectionKind::srht:
        out = Srht(dim, rows, seed);
        return {};
      case ProjectionKind::none:
        break;
    }
    return Status::failure(ErrorCode::unsupported, "projection ", static_cast<unsigned>(which),
                           " is not gaussian, orthogonal or srht");
  }

  ProjectionKind which() const noexcept { return which_; }
  std::size_t dim() const noexcept {
    return visit([](const auto& p) { return p.dim(); });
  }
  std::size_t rows() const noexcept {
    return visit([](const auto& p) { return p.rows(); });
  }
  void sketch(std::span<const std::int32_t> x, std::span<std::int64_t> out) const noexcept {
    visit([&](const auto& p) { p.sketch(x, out); });
  }
  void sketch(std::span<const float> q, std::span<float> out) const noexcept {
    visit([&](const auto& p) { p.sketch(q, out); });
  }
  void adjoint(std::span<const float> y, std::span<float> out) const noexcept {
    visit([&](const auto& p) { p.adjoint(y, out); });
  }
  double constant() const noexcept {
    return visit([](const auto& p) { return p.constant(); });
  }
  std::uint64_t hash() const noexcept {
    return visit([](const auto& p) { return p.hash(); });
  }

 private:
  std::variant<Gaussian, Orthogonal, Srht> held_;
  ProjectionKind which_;
};

static_assert(Projection<AnyProjection>);

}  // namespace tightkv::inline TIGHTKV_ABI
