// rope.hpp: rotary position embedding. Pair i of a head turns by position * base^(-2i / rope_dim).
#pragma once

#include <cmath>
#include <cstddef>

#include "config.hpp"
#include "matrix.hpp"

namespace engine {

/// The rotations of one chunk of tokens, shared by all layers and heads.
class Rope {
 public:
  Rope(const Config& config, std::size_t first_position, Index tokens)
      : pairs_(config.arch.rope),
        half_(static_cast<Index>(config.rope_dim / 2)),
        cos_(tokens, half_),
        sin_(tokens, half_) {
    for (Index t = 0; t < tokens; ++t)
      for (Index i = 0; i < half_; ++i) {  // in double: at position 8000 a float angle is off by 2^-11
        const double frequency =
            std::pow(config.rope_base, -static_cast<double>(i) / static_cast<double>(half_));
        const double angle = (static_cast<double>(first_position) + static_cast<double>(t)) * frequency;
        cos_(t, i) = static_cast<float>(std::cos(angle));
        sin_(t, i) = static_cast<float>(std::sin(angle));
      }
  }

  /// Turns every head of x, (tokens, heads * dim), in place.
  void apply(Matrix& x, std::size_t head_dim) const {
    const auto dim = static_cast<Index>(head_dim);
    const Index step = pairs_ == RopePairs::adjacent ? 2 : 1,
                partner = pairs_ == RopePairs::adjacent ? 1 : half_;
    for (Index t = 0; t < x.rows(); ++t)
      for (Index head = 0; head < x.cols(); head += dim)
        for (Index i = 0; i < half_; ++i) {
          float& a = x(t, head + i * step);
          float& b = x(t, head + i * step + partner);
          const float c = cos_(t, i), s = sin_(t, i), turned = a * c - b * s;
          b = a * s + b * c;
          a = turned;
        }
  }

 private:
  RopePairs pairs_;
  Index half_;
  Matrix cos_, sin_;  // (tokens, pairs)
};

}  // namespace engine
