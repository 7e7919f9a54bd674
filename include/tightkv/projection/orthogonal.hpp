// projection/orthogonal.hpp: rows of independent Haar matrices. Same bytes as Gaussian, 2.75 times less
// variance.
#pragma once

#include "../rotation/haar.hpp"
#include "constant.hpp"
#include "dense.hpp"

namespace tightkv::inline TIGHTKV_ABI {

/// Every row is uniform on the sphere and rows within a block of dim are orthonormal, so the estimate is
/// unbiased for every input with the finite-d constant; variance (pi/2 - 1) |r|^2 |q|^2 / d at a = 0 and rows
/// = d.
class Orthogonal : public DenseSketch {
 public:
  static constexpr ProjectionKind kind = ProjectionKind::orthogonal;

  Orthogonal(std::size_t dim, std::size_t rows, std::uint64_t seed)
      : DenseSketch(dim, rows, entries(dim, rows, seed), Matrix::grid) {}

  double constant() const noexcept { return orthogonal_sketch_constant(dim(), rows()); }

 private:
  static Buffer<std::int32_t> entries(std::size_t dim, std::size_t rows, std::uint64_t seed) {
    Buffer<std::int32_t> values;
    for (std::uint64_t block = 0; values.size() < rows * dim; ++block) {
      const auto more =
          detail::haar_matrix(dim, seed + block * 0x9e3779b97f4a7c15u, RandomStream::orthogonal_sketch);
      values.insert(values.end(), more.begin(), more.end());
    }
    values.resize(rows * dim);
    return values;
  }
};

static_assert(Projection<Orthogonal>);

}  // namespace tightkv::inline TIGHTKV_ABI
