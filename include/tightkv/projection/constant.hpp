// projection/constant.hpp: the exact constants of sign sketches, kappa with E[kappa |r| <Sq, sign(Sr)>] = <q,
// r>.
#pragma once

#include <cstddef>
#include <numbers>

#include "../version.hpp"

namespace tightkv::inline TIGHTKV_ABI {

/// Gaussian rows: E[sign(g) h] = rho sqrt(2 / pi), so kappa = sqrt(pi / 2) / rows. QJL, arXiv 2406.03482,
/// Lemma 3.2.
constexpr double gaussian_sketch_constant(std::size_t rows) noexcept {
  constexpr double sqrt_half_pi = 1.2533141373155002512;
  return sqrt_half_pi / static_cast<double>(rows);
}

/// Orthonormal rows, each uniform on the sphere: kappa = 1 / (rows E|v_1|) with
/// E|v_1| = Gamma(d/2) / (sqrt(pi) Gamma((d+1)/2)), by the recurrence of the Gamma function.
constexpr double orthogonal_sketch_constant(std::size_t dim, std::size_t rows) noexcept {
  // Gamma((d+1)/2) / Gamma(d/2): sqrt(pi)/2 at d = 2, 1/sqrt(pi) at d = 1
  constexpr double sqrt_pi = 1.7724538509055160273;
  double gamma_ratio = dim % 2 == 0 ? sqrt_pi / 2 : 1 / sqrt_pi;
  for (std::size_t d = dim % 2 == 0 ? 2 : 1; d < dim; d += 2)
    gamma_ratio *= static_cast<double>(d + 1) / static_cast<double>(d);
  return sqrt_pi * gamma_ratio / static_cast<double>(rows);
}

}  // namespace tightkv::inline TIGHTKV_ABI
