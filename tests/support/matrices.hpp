// support/matrices.hpp: the matrix of a rotation in double, and what tests ask of it.
#pragma once

#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

#include "vectors.hpp"

namespace tightkv_test {

/// Column i of R: forward(e_i).
template <class R>
std::vector<float> column_of(const R& rotation, std::size_t i) {
  std::vector<float> e(rotation.dim(), 0.0f);
  e[i] = 1;
  rotation.forward(std::span<float>(e));
  return e;
}

/// Largest |<column i, column j> - [i == j]| over all j >= i and every `step`-th i.
template <class R>
double orthogonality_error(const R& rotation, std::size_t step = 1) {
  std::vector<Vector> columns;
  for (std::size_t i = 0; i < rotation.dim(); ++i) columns.push_back(doubles(column_of(rotation, i)));
  double worst = 0;
  for (std::size_t i = 0; i < columns.size(); i += step)
    for (std::size_t j = i; j < columns.size(); ++j)
      worst = std::max(worst, std::abs(dot(columns[i], columns[j]) - (i == j ? 1 : 0)));
  return worst;
}

/// The determinant by elimination with row pivots. m: row-major n x n.
inline double determinant(std::vector<double> m, std::size_t n) {
  double det = 1;
  for (std::size_t k = 0; k < n; ++k) {
    std::size_t pivot = k;
    for (std::size_t i = k + 1; i < n; ++i)
      if (std::abs(m[i * n + k]) > std::abs(m[pivot * n + k])) pivot = i;
    if (m[pivot * n + k] == 0) return 0;
    if (pivot != k) {
      det = -det;
      for (std::size_t j = 0; j < n; ++j) std::swap(m[k * n + j], m[pivot * n + j]);
    }
    det *= m[k * n + k];
    for (std::size_t i = k + 1; i < n; ++i) {
      const double factor = m[i * n + k] / m[k * n + k];
      for (std::size_t j = k; j < n; ++j) m[i * n + j] -= factor * m[k * n + j];
    }
  }
  return det;
}

}  // namespace tightkv_test
