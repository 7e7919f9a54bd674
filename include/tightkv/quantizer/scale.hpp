// quantizer/scale.hpp: the four ways to choose PolarQuant's scale.
#pragma once

#include "../core/concepts.hpp"

namespace tightkv::inline TIGHTKV_ABI::scale {

/// s = |Y|^2 / <Y, c>: <x, x^> = |x|^2 for every draw, so E[x^] = x exactly under Haar for any codebook
/// (reference: DRIVE, EDEN, RaBitQ; algorithms 2.1). The default for keys.
struct Unbiased {
  static constexpr ScaleKind kind() noexcept { return ScaleKind::unbiased; }
  static constexpr fixed::Scale choose(const ScaleSums& s) noexcept {
    return s.ip <= 0 ? fixed::Scale{} : fixed::ratio(s.n2, static_cast<std::uint64_t>(s.ip), 0);
  }
};

/// s = <Y, c> / |c|^2: the least squared error of this vector.
struct MinMse {
  static constexpr ScaleKind kind() noexcept { return ScaleKind::min_mse; }
  static constexpr fixed::Scale choose(const ScaleSums& s) noexcept {
    return s.ip <= 0 ? fixed::Scale{} : fixed::ratio(static_cast<std::uint64_t>(s.ip), s.cc, 0);
  }
};

/// s = |Y| / |c|: the decoded vector has the norm of the original (turboquant_plus' norm correction).
struct NormCorrected {
  static constexpr ScaleKind kind() noexcept { return ScaleKind::norm_corrected; }
  static constexpr fixed::Scale choose(const ScaleSums& s) noexcept {
    return s.cc == 0 ? fixed::Scale{} : fixed::ratio(s.norm_q6, fixed::isqrt(s.cc << 24), 12 - 6);
  }
};

/// s = |Y| / (sqrt(d) gain): the codebook's own scale, TurboQuant_mse of arXiv 2504.19874. Shrinks logits by
/// 1 - D.
struct Unit {
  static constexpr ScaleKind kind() noexcept { return ScaleKind::unit; }
  static constexpr fixed::Scale choose(const ScaleSums& s) noexcept {
    return fixed::ratio(s.norm_q6, s.unit_q22, 22 - 6);
  }
};

/// One of the four, chosen at run time.
struct Any {
  ScaleKind which = ScaleKind::unbiased;
  constexpr ScaleKind kind() const noexcept { return which; }
  constexpr fixed::Scale choose(const ScaleSums& s) const noexcept {
    switch (which) {
      case ScaleKind::unbiased:
        return Unbiased::choose(s);
      case ScaleKind::min_mse:
        return MinMse::choose(s);
      case ScaleKind::norm_corrected:
        return NormCorrected::choose(s);
      case ScaleKind::unit:
        break;
    }
    return Unit::choose(s);
  }
};

static_assert(ScalePolicy<Unbiased> && ScalePolicy<MinMse> && ScalePolicy<NormCorrected> &&
              ScalePolicy<Unit> && ScalePolicy<Any>);

}  // namespace tightkv::inline TIGHTKV_ABI::scale
