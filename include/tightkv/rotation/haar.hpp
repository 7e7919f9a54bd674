// rotation/haar.hpp: a uniformly random orthogonal matrix, the same bits on every machine.
#pragma once

#include "../core/random.hpp"
#include "matrix.hpp"

namespace tightkv::inline TIGHTKV_ABI {

namespace detail {

/// A Haar matrix of O(dim) in units of 2^-24: the product of dim - 1 Householder reflections of uniformly
/// random vectors with random signs (Stewart 1980), built from the lower right corner up, in 64-bit integers
/// on a 2^-30 grid. Each reflection is exact whatever its vector, so the result is orthogonal to a few grid
/// steps. The determinant is +1 or -1, each half of the time: scores do not depend on handedness.
inline Buffer<std::int32_t> haar_matrix(std::size_t dim, std::uint64_t seed, RandomStream stream) {
  constexpr std::int64_t one = std::int64_t{1} << 30;
  IntegerNormal normal(seed, stream);
  Buffer<std::int64_t> m(dim * dim, 0), v(dim), u(dim);
  m[dim * dim - 1] = normal.next() < 0 ? -one : one;
  for (std::size_t corner = dim - 1;
       corner-- > 0;) {  // m is orthogonal on [corner + 1, dim)^2; extend it to corner
    const std::size_t n = dim - corner;
    std::uint64_t norm2 = 0;
    for (std::size_t i = 0; i < n; ++i) {
      v[i] = normal.next();
      norm2 += static_cast<std::uint64_t>(v[i] * v[i]);
    }
    const auto norm = static_cast<std::int64_t>(fixed::isqrt(norm2));
    const std::int64_t sign = v[0] < 0 ? -1 : 1;
    v[0] += sign * norm;  // the reflection takes the random direction to -sign * e_0
    std::int64_t length2 = 0;
    for (std::size_t i = 0; i < n; ++i) length2 += v[i] * v[i];
    std::int64_t* const sub = m.data() + corner * dim + corner;
    sub[0] = -sign * one;
    if (length2 == 0) continue;
    std::fill_n(u.begin(), n, 0);
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < n; ++j) u[j] += v[i] * sub[i * dim + j];
    for (std::size_t j = 0; j < n;
         ++j) {  // 2 u / |v|^2 with 20 fraction bits, in two steps to stay inside 64 bits
      const std::int64_t whole = 2 * u[j] / length2, rest = 2 * u[j] % length2;
      u[j] = (whole << 20) + (rest << 20) / length2;
    }
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < n; ++j) sub[i * dim + j] -= fixed::shift_round(v[i] * u[j], 20);
  }
  Buffer<std::int32_t> values(dim * dim);
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<std::int32_t>(fixed::shift_round(m[i], 30 - Matrix::grid));
  return values;
}

}  // namespace detail

/// The rotation under which PolarQuant's `unbiased` scale and TurboQuant are exactly unbiased. O(dim^2) a
/// vector.
class Haar : public Matrix {
 public:
  static constexpr RotationKind kind = RotationKind::haar;

  explicit Haar(std::size_t dim, std::uint64_t seed)
      : Matrix(dim, detail::haar_matrix(dim, seed, RandomStream::haar)) {}
};

static_assert(Rotation<Haar>);

}  // namespace tightkv::inline TIGHTKV_ABI
