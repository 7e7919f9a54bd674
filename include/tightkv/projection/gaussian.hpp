// projection/gaussian.hpp: independent N(0, 1) entries, as the QJL and TurboQuant papers define their sketch.
#pragma once

#include "../core/random.hpp"
#include "constant.hpp"
#include "dense.hpp"

namespace tightkv::inline TIGHTKV_ABI {

/// Unbiased for every input; variance |r|^2 (pi/2 |q|^2 - a^2) / rows, a = <q, r/|r|> (reference: arXiv
/// 2406.03482).
class Gaussian : public DenseSketch {
 public:
  static constexpr ProjectionKind kind = ProjectionKind::gaussian;

  Gaussian(std::size_t dim, std::size_t rows, std::uint64_t seed)
      : DenseSketch(dim, rows, entries(dim * rows, seed), 16) {}

  double constant() const noexcept { return gaussian_sketch_constant(rows()); }

 private:
  static Buffer<std::int32_t> entries(std::size_t count, std::uint64_t seed) {
    IntegerNormal normal(seed, RandomStream::gaussian_sketch);
    Buffer<std::int32_t> values(count);
    for (std::int32_t& v : values) v = normal.next();
    return values;
  }
};

static_assert(Projection<Gaussian>);

}  // namespace tightkv::inline TIGHTKV_ABI
