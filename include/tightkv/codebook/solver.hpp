// codebook/solver.hpp: Lloyd-Max quantizers of one rotated coordinate, from closed forms, in double.
//
// z = sqrt(d) x_1 with x uniform on the unit sphere of R^d has variance 1 and density ~ (1 -
// z^2/d)^((d-3)/2); d = 0 names the limit N(0, 1).  Both integrals a level needs are closed: the mass of a
// cell is a difference of tails (an incomplete beta function, or erfc) and its first moment a difference of
// cut(t) = int_t^inf z f(z) dz. Newton on c_i = moment_i / mass_i (a tridiagonal system) converges in about
// ten steps for every d and b. This makes tables and tests; the bytes of a cache are decided by the integers
// in builtin.hpp alone.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numbers>
#include <vector>

#include "../version.hpp"

namespace tightkv::inline TIGHTKV_ABI {

/// The distribution of one coordinate, scaled to variance 1.  Real d > 3 are allowed; 0 is the Gaussian
/// limit.
class CoordinateDensity {
 public:
  explicit CoordinateDensity(double d) noexcept
      : d_(d), a_((d - 1) / 2), norm_(d > 0 ? gamma_ratio(a_) / std::sqrt(std::numbers::pi) : 0) {}

  /// Largest |z|.
  double support() const noexcept { return d_ > 0 ? std::sqrt(d_) : std::numeric_limits<double>::infinity(); }

  double pdf(double z) const noexcept {
    if (d_ == 0) return std::exp(-z * z / 2) / std::sqrt(2 * std::numbers::pi);
    return norm_ / std::sqrt(d_) * power(z, a_ - 1);
  }

  /// int_z^inf t pdf(t) dt.
  double cut(double z) const noexcept {
    return d_ == 0 ? pdf(z) : norm_ * std::sqrt(d_) / (2 * a_) * power(z, a_);
  }

  /// P(Z > z) for z >= 0, with a small relative error far out too.
  double tail(double z) const noexcept {
    if (d_ == 0) return std::erfc(z / std::numbers::sqrt2) / 2;
    const double x2 = (std::min)(z * z / d_, 1.0);  // P(|Z| > z) = I_{1-x2}(a, 1/2)
    if (x2 == 0 || x2 == 1) return (1 - x2) / 2;
    const double front = norm_ * power(z, a_) * std::sqrt(x2) / 2;
    if (1 - x2 < (a_ + 1) / (a_ + 2.5)) return front * beta_fraction(a_, 0.5, 1 - x2) / a_;
    return 0.5 - front * beta_fraction(0.5, a_, x2) / 0.5;
  }

 private:
  /// (1 - z^2/d)^p, 0 outside the support.
  double power(double z, double p) const noexcept {
    const double x2 = z * z / d_;
    return x2 < 1 ? std::exp(p * std::log1p(-x2)) : 0;
  }

  /// Gamma(a + 1/2) / Gamma(a): its asymptotic series, reached by the recurrence; no cancelling logarithms.
  static double gamma_ratio(double a) noexcept {
    double factor = 1;
    for (; a < 32; a += 1) factor *= a / (a + 0.5);
    const double r = 1 / a, r2 = r * r;
    return factor * std::sqrt(a) *
           std::exp(-r * (1.0 / 8 - r2 * (1.0 / 192 - r2 * (1.0 / 640 - r2 * 17.0 / 14336))));
  }

  /// The continued fraction of the incomplete beta function (DLMF 8.17.22), by Lentz's method.
  static double beta_fraction(double a, double b, double x) noexcept {
    double c = 1, e = 1 / (1 - (a + b) * x / (a + 1)), value = e;
    for (double m = 1; m < 1e5; m += 1) {
      const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
      const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
      e = 1 / (1 + even * e), c = 1 + even / c, value *= c * e;
      e = 1 / (1 + odd * e), c = 1 + odd / c, value *= c * e;
      if (std::abs(c * e - 1) < 1e-16) break;
    }
    return value;
  }

  double d_, a_, norm_;
};

/// One solved quantizer, in z-units (divide by sqrt(d) for a unit vector).
struct LloydMaxSolution {
  std::vector<double> levels;      ///< 2^bits, ascending, exactly symmetric
  std::vector<double> thresholds;  ///< the 2^bits - 1 midpoints between them
  double distortion = 0;           ///< E (z - level)^2
  double entropy = 0;              ///< of the code, in bits
};

/// The distortion-optimal levels for dimension dim (>= 4, or 0 for the Gaussian limit) and bits 1..8.
/// Other arguments have no solution here: levels come back empty.
inline LloydMaxSolution solve_lloyd_max(std::size_t dim, unsigned bits) {
  if (bits < 1 || bits > 8 || (dim != 0 && dim < 4)) return {};
  const std::size_t half = std::size_t{1} << (bits - 1);
  const double d = static_cast<double>(dim), h = static_cast<double>(half);
  const CoordinateDensity density(d);

  // Start where the optimal point density pdf^(1/3) puts the levels.  A cube root of this density is the
  // density of dimension d/3 + 2 (or of 3 times the variance), so a bisection on its tail finds every start.
  const CoordinateDensity third(dim == 0 ? 0 : d / 3 + 2);
  const double unit = dim == 0 ? std::sqrt(3.0) : density.support() / third.support();
  std::vector<double> c(half), edge(half + 1), mass(half), moment(half), diagonal(half), step(half);
  for (std::size_t i = 0; i < half; ++i) {
    const double want = 0.5 - (static_cast<double>(i) + 0.5) / (2 * h);
    double lo = 0, hi = (std::min)(third.support(), 40.0);
    for (int k = 0; k < 60; ++k) (third.tail((lo + hi) / 2) > want ? lo : hi) = (lo + hi) / 2;
    c[i] = lo * unit;
  }

  const auto integrate = [&] {  // cells of the positive half; edge[0] = 0
    for (std::size_t i = 1; i < half; ++i) edge[i] = (c[i - 1] + c[i]) / 2;
    edge[half] = density.support();
    for (std::size_t i = 0; i < half; ++i) {
      const bool last = i + 1 == half;
      mass[i] = density.tail(edge[i]) - (last ? 0 : density.tail(edge[i + 1]));
      moment[i] = density.cut(edge[i]) - (last ? 0 : density.cut(edge[i + 1]));
    }
  };
  for (int iteration = 0; iteration < 64; ++iteration) {
    integrate();
    // Solve (I - J) step = moment/mass - c; J is tridiagonal: an edge moves by half of each neighbour's step.
    std::vector<double> above(half);
    for (std::size_t i = 0; i < half; ++i) {
      const double centroid = moment[i] / mass[i];
      const double lower = i == 0 ? 0 : density.pdf(edge[i]) * (centroid - edge[i]) / mass[i] / 2;
      const double upper =
          i + 1 == half ? 0 : density.pdf(edge[i + 1]) * (edge[i + 1] - centroid) / mass[i] / 2;
      diagonal[i] = 1 - lower - upper, above[i] = -upper, step[i] = centroid - c[i];
      if (i == 0) continue;
      const double factor = -lower / diagonal[i - 1];
      diagonal[i] -= factor * above[i - 1], step[i] -= factor * step[i - 1];
    }
    for (std::size_t i = half; i-- > 0;)
      step[i] = (step[i] - (i + 1 == half ? 0 : above[i] * step[i + 1])) / diagonal[i];
    double scale = 1, largest = 0;  // shorten a step that would break the order of the levels
    const auto ordered = [&] {
      double previous = 0;
      for (std::size_t i = 0; i < half; ++i) {
        const double next = c[i] + scale * step[i];
        if (!(next > previous)) return false;
        previous = next;
      }
      return previous < density.support();
    };
    while (scale > 1e-3 && !ordered()) scale /= 2;
    for (std::size_t i = 0; i < half; ++i)
      c[i] += scale * step[i], largest = (std::max)(largest, std::abs(step[i]));
    if (largest < 1e-13) break;
  }
  integrate();

  LloydMaxSolution out;
  out.distortion = 1;  // at the centroids E (z - c)^2 = E z^2 - E c^2
  for (std::size_t i = half; i-- > 0;) out.levels.push_back(-c[i]);
  out.levels.insert(out.levels.end(), c.begin(), c.end());
  for (std::size_t i = 1; i < 2 * half; ++i)
    out.thresholds.push_back((out.levels[i - 1] + out.levels[i]) / 2);
  for (std::size_t i = 0; i < half; ++i) {
    out.distortion -= 2 * moment[i] * moment[i] / mass[i];
    out.entropy -= 2 * mass[i] * std::log2(mass[i]);
  }
  return out;
}

}  // namespace tightkv::inline TIGHTKV_ABI
