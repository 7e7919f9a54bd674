// quantizer/error_estimate.hpp: how far a score of PolarQuant is off, in standard deviations. An estimate.
#pragma once

#include <array>
#include <cmath>

#include "../core/format.hpp"

namespace tightkv::inline TIGHTKV_ABI {

/// What a score <q, x^> says about <q, x>.
struct ErrorEstimate {
  float stddev = 0;  ///< of score - <q, x>
  float cosine = 0;  ///< between q and x, estimated from the score
};

/// V of PolarQuant with the unbiased scale: dim * Var(<y, x^>) for unit vectors y and x at right angles, by
/// codebook, bits and search points. Measured over 6,000 to 12,000 random vectors of dim 128 (standard error
/// 0.1 to 0.3 %); other dims from 64 on are within 4 %. 0 where nothing was measured: grid below 6 bits,
/// uniform, tables; pass D / (1 - D) there, D the mean squared error of a coordinate of variance 1.
constexpr double score_variance(CodebookKind codebook, unsigned bits, unsigned search_points) noexcept {
  using Row = std::array<double, 4>;  // 1, 3, 5, 9 search points
  constexpr std::array<Row, 8> lloyd_max = {{{.5718, .5718, .5718, .5718},
                                             {.1318, .1307, .1306, .1305},
                                             {.03509, .03364, .03334, .03319},
                                             {.009348, .008433, .008182, .008040},
                                             {.002472, .002161, .002070, .001997},
                                             {6.655e-4, 5.889e-4, 5.641e-4, 5.286e-4},
                                             {1.938e-4, 1.701e-4, 1.621e-4, 1.534e-4},
                                             {1.061e-4, 9.158e-5, 8.524e-5, 7.940e-5}}};
  constexpr std::array<Row, 4> trellis = {{{.09412, .09275, .09254, .09247},
                                           {.02388, .02273, .02246, .02232},
                                           {.006154, .005643, .005492, .005387},
                                           {.001606, .001475, .001414, .001366}}};
  constexpr std::array<double, 3> grid = {6.807e-4, 1.677e-4, 4.192e-5};  // the stretch leaves no search
  const std::size_t column = search_points >= 9 ? 3 : search_points >= 5 ? 2 : search_points >= 3 ? 1 : 0;
  if (codebook == CodebookKind::lloyd_max && bits >= 1 && bits <= 8) return lloyd_max[bits - 1][column];
  if (codebook == CodebookKind::trellis && bits >= 2 && bits <= 5) return trellis[bits - 2][column];
  if (codebook == CodebookKind::grid && bits >= 6 && bits <= 8) return grid[bits - 6];
  return 0;
}

/// The spread of a score under the unbiased scale: |q| |x| sqrt(V (1 - cos^2) / dim), by the error's law
/// under a random rotation (it is at right angles to x, of nearly constant length, in a uniformly random
/// direction). `decoded_norm` = |x^| = |s| |c|; |x| and the cosine follow from it and the score. With exact
/// arithmetic; an 8-bit query adds at most 0.5 % to codes of 4 bits. With one fixed rotation the errors of
/// similar keys are similar: the estimate is the spread of each, not of their differences.
inline ErrorEstimate score_stddev(float score, float q_norm, float decoded_norm, double v,
                                  std::size_t dim) noexcept {
  if (!(q_norm > 0) || !(decoded_norm > 0)) return {};
  const double d = static_cast<double>(dim);
  const double x_norm =
      static_cast<double>(decoded_norm) / std::sqrt(1 + v * (d - 1) / d);  // |x^|^2 = |x|^2 (1 + E tan^2)
  const double cosine =
      std::fmin(1, std::fmax(-1, static_cast<double>(score) / (static_cast<double>(q_norm) * x_norm)));
  // The score itself is off by sqrt(V / d), which makes cos^2 too large by that much on average.
  const double across = std::fmin(1, 1 - cosine * cosine + (1 - cosine * cosine) * v / d);
  return {static_cast<float>(static_cast<double>(q_norm) * x_norm * std::sqrt(v * across / d)),
          static_cast<float>(cosine)};
}

}  // namespace tightkv::inline TIGHTKV_ABI
