#include <tightkv/codebook/solver.hpp>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numbers>
#include <vector>

#include "catch.hpp"

using tightkv::CoordinateDensity;
using tightkv::LloydMaxSolution;
using tightkv::solve_lloyd_max;

namespace {

constexpr std::size_t gauss = 0;

double simpson(const std::function<double(double)>& f, double a, double b, int pieces) {
  const double h = (b - a) / (2 * pieces);
  double sum = f(a) + f(b);
  for (int i = 1; i < 2 * pieces; ++i) sum += (i % 2 == 1 ? 4 : 2) * f(a + i * h);
  return sum * h / 3;
}

/// Mass, mean and E (z - level)^2 of one cell, by a quadrature that shares nothing with the solver: on the
/// sphere z = sqrt(d) sin t turns the density into cos^(d-2) t, smooth up to the ends; it is normalised
/// numerically.
struct Quadrature {
  explicit Quadrature(std::size_t dim) : d(static_cast<double>(dim)) {
    total = 2 * integrate(
                    0, 40, [](double) { return 1.0; }, 20000);
  }

  double integrate(double lo, double hi, const std::function<double(double)>& g, int pieces = 2000) const {
    const double end =
        d == 0 ? 10
               : std::min(std::numbers::pi / 2, d < 100 ? 10.0 : std::asin(std::min(1.0, 10 / std::sqrt(d))));
    const auto to_t = [&](double z) {
      if (d == 0) return std::min(z, end);
      return z >= std::sqrt(d) ? end : std::min(end, std::asin(z / std::sqrt(d)));
    };
    return simpson(
        [&](double t) {
          if (d == 0) return std::exp(-t * t / 2) * g(t);
          return std::pow(std::cos(t), d - 2) * g(std::sqrt(d) * std::sin(t));
        },
        to_t(lo), to_t(hi), pieces);
  }

  double d, total = 1;
};

struct Row {
  unsigned bits;
  double d64, d80, d96, d128, d192, d256, limit, half_unit;  // half a unit of the last printed digit
  double entropy;                                            // of the limit, to 4 decimals
};

const Row table[] = {
    {1, .358387, .359389, .360056, .360889, .361720, .362136, .363380, 5e-7, 1.0000},
    {2, .114526, .115115, .115508, .116000, .116493, .116740, .117482, 5e-7, 1.9111},
    {3, .033391, .033620, .033773, .033966, .034159, .034256, .034548, 5e-7, 2.8249},
    {4, .009132, .009204, .009253, .009315, .009377, .009408, .009501, 5e-7, 3.7653},
    {5, 2.399e-3, 2.420e-3, 2.434e-3, 2.451e-3, 2.469e-3, 2.478e-3, 2.505e-3, 5e-7, 4.7298},
    {6, 6.160e-4, 6.215e-4, 6.253e-4, 6.300e-4, 6.347e-4, 6.371e-4, 6.442e-4, 5e-8, 5.7101},
    {7, 1.561e-4, 1.576e-4, 1.586e-4, 1.598e-4, 1.610e-4, 1.616e-4, 1.635e-4, 5e-8, 6.6996},
    {8, 3.932e-5, 3.968e-5, 3.993e-5, 4.024e-5, 4.055e-5, 4.071e-5, 4.119e-5, 5e-9, 7.6941},
};

}  // namespace

TEST_CASE("distortions and entropies are the published ones to every printed digit", "[codebook][solver]") {
  for (const Row& row : table) {
    const std::pair<std::size_t, double> columns[] = {{64, row.d64},     {80, row.d80},   {96, row.d96},
                                                      {128, row.d128},   {192, row.d192}, {256, row.d256},
                                                      {gauss, row.limit}};
    for (const auto& [dim, want] : columns) {
      CAPTURE(row.bits, dim);
      CHECK(std::abs(solve_lloyd_max(dim, row.bits).distortion - want) <= row.half_unit);
    }
    CHECK(std::abs(solve_lloyd_max(gauss, row.bits).entropy - row.entropy) <= 5e-5);
  }
}

TEST_CASE("levels and thresholds are the published ones to every printed digit", "[codebook][solver]") {
  struct Half {
    std::size_t dim;
    unsigned bits;
    std::vector<double> levels, thresholds;
  };
  const Half halves[] = {
      {128, 1, {.799444}, {}},
      {128, 2, {.452453, 1.505193}, {.978823}},
      {128, 3, {.244425, .753330, 1.336599, 2.131471}, {.498878, 1.044965, 1.734035}},
      {128,
       4,
       {.127873, .386381, .653619, .937097, 1.247770, 1.604343, 2.045925, 2.688859},
       {.257127, .520000, .795358, 1.092434, 1.426057, 1.825134, 2.367392}},
      {gauss, 2, {.452780, 1.510418}, {}},
      {gauss, 3, {.245094, .756005, 1.343909, 2.151946}, {}},
      {gauss, 4, {.128395, .388048, .656759, .942340, 1.256231, 1.618046, 2.069017, 2.732590}, {}},
  };
  for (const Half& half : halves) {
    const LloydMaxSolution solution = solve_lloyd_max(half.dim, half.bits);
    REQUIRE(solution.levels.size() == 2 * half.levels.size());
    for (std::size_t i = 0; i < half.levels.size(); ++i) {
      CAPTURE(half.dim, half.bits, i);
      CHECK(std::abs(solution.levels[half.levels.size() + i] - half.levels[i]) <= 5e-7);
    }
    for (std::size_t i = 0; i < half.thresholds.size(); ++i) {
      CAPTURE(half.dim, half.bits, i);
      CHECK(std::abs(solution.thresholds[half.levels.size() + i] - half.thresholds[i]) <= 5e-7);
    }
  }
}

TEST_CASE("the solution agrees with an independent quadrature", "[codebook][solver]") {
  for (const std::size_t dim : {4u, 5u, 7u, 16u, 64u, 112u, 512u, 576u, 1000u, 65535u, 0u}) {
    const Quadrature quadrature(dim);
    for (const unsigned bits : {1u, 2u, 4u, 6u}) {
      CAPTURE(dim, bits);
      const LloydMaxSolution solution = solve_lloyd_max(dim, bits);
      const std::size_t half = solution.levels.size() / 2;
      double distortion = 0, entropy = 0, worst_centroid = 0;
      for (std::size_t i = 0; i < half; ++i) {
        const double level = solution.levels[half + i], lo = i == 0 ? 0 : solution.thresholds[half - 1 + i];
        const double hi = i + 1 == half ? 1e9 : solution.thresholds[half + i];
        const double mass = quadrature.integrate(lo, hi, [](double) { return 1.0; }) / quadrature.total;
        const double mean =
            quadrature.integrate(lo, hi, [](double z) { return z; }) / quadrature.total / mass;
        distortion += 2 * quadrature.integrate(lo, hi, [&](double z) { return (z - level) * (z - level); }) /
                      quadrature.total;
        entropy -= 2 * mass * std::log2(mass);
        worst_centroid = std::max(worst_centroid, std::abs(mean - level));
      }
      CHECK(worst_centroid < 1e-9);  // the condition that makes levels optimal for their cells
      CHECK(std::abs(distortion / solution.distortion - 1) < 1e-8);
      CHECK(std::abs(entropy - solution.entropy) < 1e-9);
    }
  }
}

TEST_CASE("the paper's upper bound holds and each bit buys its factor", "[codebook][solver]") {
  for (const std::size_t dim : {4u, 64u, 80u, 128u, 256u, 576u, 1024u, 65535u, 0u}) {
    double before = 1;
    for (unsigned bits = 1; bits <= 8; ++bits) {
      CAPTURE(dim, bits);
      const double distortion = solve_lloyd_max(dim, bits).distortion,
                   power = std::pow(4.0, -static_cast<double>(bits));
      CHECK(distortion < std::sqrt(3.0) * std::numbers::pi / 2 * power);  // TurboQuant, theorem 1
      CHECK(distortion > power);  // rate-distortion bound of the limit
      if (bits > 1) CHECK(before / distortion < 4);
      if (bits == 2) CHECK(before / distortion > 3.09);  // 0.363380 / 0.117482 = 3.0931 in the limit
      if (bits > 2) CHECK(before / distortion > 3.2);
      before = distortion;
    }
  }
}

TEST_CASE("levels are sorted, symmetric, and every cell is in use", "[codebook][solver]") {
  for (const std::size_t dim : {4u, 64u, 1024u, 0u})
    for (unsigned bits = 1; bits <= 8; ++bits) {
      CAPTURE(dim, bits);
      const LloydMaxSolution solution = solve_lloyd_max(dim, bits);
      const std::vector<double>& levels = solution.levels;
      const std::size_t n = levels.size();
      REQUIRE(n == std::size_t{1} << bits);
      REQUIRE(solution.thresholds.size() == n - 1);
      const CoordinateDensity density(static_cast<double>(dim));
      std::size_t disordered = 0, asymmetric = 0, empty = 0;
      for (std::size_t i = 0; i < n; ++i) {
        asymmetric += levels[i] != -levels[n - 1 - i];
        if (i + 1 == n) continue;
        disordered += !(levels[i] < solution.thresholds[i] && solution.thresholds[i] < levels[i + 1]);
        if (i < n / 2) continue;
        const double above = i + 2 == n ? 0 : density.tail(solution.thresholds[i + 1]);
        empty += !(density.tail(solution.thresholds[i]) - above > 1e-6);
      }
      CHECK(disordered == 0);
      CHECK(asymmetric == 0);
      CHECK(empty == 0);
      CHECK(levels.back() < density.support());
    }
}

TEST_CASE("the density's integrals are the textbook ones where those are elementary", "[codebook][solver]") {
  for (double x = 0; x <= 1; x += 0.0625) {
    CAPTURE(x);
    const double arc =
        0.5 - (x * std::sqrt(1 - x * x) + std::asin(x)) / std::numbers::pi;  // d = 4: a half disc
    CHECK(std::abs(CoordinateDensity(4).tail(2 * x) - arc) < 1e-15);
    const double cubic = 0.5 - 0.75 * (x - x * x * x / 3);  // d = 5: a parabola
    CHECK(std::abs(CoordinateDensity(5).tail(std::sqrt(5.0) * x) - cubic) < 1e-15);
    const double cut = std::sqrt(5.0) * 0.1875 * (1 - x * x) * (1 - x * x);
    CHECK(std::abs(CoordinateDensity(5).cut(std::sqrt(5.0) * x) - cut) < 1e-15);
  }
  CHECK(std::abs(CoordinateDensity(0).tail(1) - 0.15865525393145707) < 1e-16);
  CHECK(std::abs(CoordinateDensity(0).tail(6) / 9.865876450376946e-10 - 1) < 1e-13);
}

TEST_CASE("there is no solution outside the limits", "[codebook][solver]") {
  CHECK(solve_lloyd_max(128, 0).levels.empty());
  CHECK(solve_lloyd_max(128, 9).levels.empty());
  CHECK(solve_lloyd_max(3, 4).levels.empty());
  CHECK(solve_lloyd_max(1, 4).levels.empty());
}
