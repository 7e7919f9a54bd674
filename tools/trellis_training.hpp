// trellis_training.hpp: trains the levels of the 8-state trellis codebook; used by make_codebooks --train
// only.
//
// The trellis is Ungerboeck's code h0 = 13, h1 = 04 (octal), start state 0, free end state.  With coded bits
// u_i the label of a level is its index mod 4 = 2 y1 + y0,  y0_i = u_{i-2},  y1_i = u_i ^ u_{i-1} ^ u_{i-3}.
// Lloyd's iteration: a Viterbi search labels the samples, then every level becomes the mean of its samples.
// Over-relaxed by 1.6 it needs tens of iterations in place of hundreds.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <random>
#include <vector>

#include <tightkv/codebook/solver.hpp>

namespace training {

inline constexpr std::size_t dim = 128;

/// Points on the sphere of radius sqrt(dim), one after another; the same on every platform up to libm's
/// rounding.
inline std::vector<double> sphere_samples(std::size_t count, std::uint64_t seed) {
  std::mt19937_64 generator(seed);
  const auto uniform = [&] { return (static_cast<double>(generator() >> 11) + 0.5) * 0x1p-53; };
  std::vector<double> z(count * dim);
  for (std::size_t v = 0; v < count; ++v) {
    double norm2 = 0;
    for (std::size_t i = v * dim; i < (v + 1) * dim; i += 2) {
      const double radius = std::sqrt(-2 * std::log(uniform())), angle = 2 * std::numbers::pi * uniform();
      z[i] = radius * std::cos(angle), z[i + 1] = radius * std::sin(angle);
      norm2 += radius * radius;
    }
    const double scale = std::sqrt(static_cast<double>(dim) / norm2);
    for (std::size_t i = v * dim; i < (v + 1) * dim; ++i) z[i] *= scale;
  }
  return z;
}

/// Level indices of the best path through the trellis for one point; returns the squared error.
inline double viterbi(const double* z, const std::vector<double>& levels, std::uint8_t* index) {
  constexpr double unreachable = 1e300;
  std::array<double, 8> cost{};
  cost.fill(unreachable), cost[0] = 0;
  std::array<std::array<std::uint8_t, 4>, dim> best{};     // per step and label: the nearest level
  std::array<std::array<std::uint8_t, 8>, dim> dropped{};  // per step and state: the bit its predecessor lost
  for (std::size_t i = 0; i < dim; ++i) {
    std::array<double, 4> error{};
    for (std::size_t label = 0; label < 4; ++label) {
      error[label] = unreachable;
      for (std::size_t l = label; l < levels.size(); l += 4) {
        const double e = (z[i] - levels[l]) * (z[i] - levels[l]);
        if (e < error[label]) error[label] = e, best[i][label] = static_cast<std::uint8_t>(l);
      }
    }
    std::array<double, 8> next{};
    next.fill(unreachable);
    for (unsigned state = 0; state < 8; ++state) {  // bit j of the state = u_{i-1-j}
      if (cost[state] == unreachable) continue;
      for (unsigned u = 0; u < 2; ++u) {
        const unsigned y0 = (state >> 1) & 1, y1 = u ^ (state & 1) ^ (state >> 2), to = (state << 1 | u) & 7;
        const double c = cost[state] + error[2 * y1 + y0];
        if (c < next[to]) next[to] = c, dropped[i][to] = static_cast<std::uint8_t>(state >> 2);
      }
    }
    cost = next;
  }
  const auto end = std::min_element(cost.begin(), cost.end());
  auto state = static_cast<unsigned>(end - cost.begin());
  for (std::size_t i = dim; i-- > 0;) {
    const unsigned u = state & 1, from = state >> 1 | static_cast<unsigned>(dropped[i][state]) << 2;
    const unsigned y0 = (from >> 1) & 1, y1 = u ^ (from & 1) ^ (from >> 2);
    index[i] = best[i][2 * y1 + y0];
    state = from;
  }
  return *end;
}

struct Accuracy {
  double distortion = 0;  ///< E (z - level)^2 a coordinate
  double variance = 0;    ///< d/(d-1) E tan^2 of the angle: what an unbiased inner product sees
};

inline Accuracy evaluate(const std::vector<double>& levels, const std::vector<double>& z) {
  Accuracy sum;
  std::array<std::uint8_t, dim> index{};
  const std::size_t count = z.size() / dim;
  for (std::size_t v = 0; v < count; ++v) {
    sum.distortion += viterbi(&z[v * dim], levels, index.data());
    double dot = 0, norm2 = 0;
    for (std::size_t i = 0; i < dim; ++i)
      dot += z[v * dim + i] * levels[index[i]], norm2 += levels[index[i]] * levels[index[i]];
    sum.variance += norm2 * static_cast<double>(dim) / (dot * dot) - 1;
  }
  const double n = static_cast<double>(count), d = static_cast<double>(dim);
  return {sum.distortion / (n * d), sum.variance / n * d / (d - 1)};
}

/// 2^(bits+1) symmetric ascending levels.
inline std::vector<double> train_trellis8(unsigned bits, std::size_t samples = 4000, int iterations = 300) {
  std::vector<double> levels = tightkv::solve_lloyd_max(0, bits + 1).levels;
  for (double& level : levels) level *= 0.97;
  const std::size_t n = levels.size(), relaxed = static_cast<std::size_t>(iterations) * 4 / 5;
  const std::vector<double> z = sphere_samples(samples, 1000 + bits);
  std::array<std::uint8_t, dim> index{};
  for (std::size_t iteration = 0; iteration < static_cast<std::size_t>(iterations); ++iteration) {
    std::vector<double> sum(n), count(n);
    for (std::size_t v = 0; v < samples; ++v) {
      viterbi(&z[v * dim], levels, index.data());
      for (std::size_t i = 0; i < dim; ++i) sum[index[i]] += z[v * dim + i], count[index[i]] += 1;
    }
    std::vector<double> moved(n);
    double largest = 0;
    for (std::size_t l = 0; l < n; ++l) moved[l] = count[l] > 0 ? sum[l] / count[l] : levels[l];
    for (std::size_t l = 0; l < n / 2; ++l) {  // the distribution is symmetric, so are the levels
      moved[n - 1 - l] = (moved[n - 1 - l] - moved[l]) / 2;
      moved[l] = -moved[n - 1 - l];
    }
    for (std::size_t l = 0; l < n; ++l) {
      if (iteration < relaxed) moved[l] = levels[l] + 1.6 * (moved[l] - levels[l]);
      largest = std::max(largest, std::abs(moved[l] - levels[l]));
    }
    std::sort(moved.begin(), moved.end());
    levels = moved;
    if (largest < 2e-5) break;
  }
  return levels;
}

}  // namespace training
