// rotation/eigen.hpp: any rotation as one dense Eigen matrix, to rotate many vectors in one product. Opt-in:
// the only header that includes Eigen.
#pragma once

#include <Eigen/Core>
#include <vector>

#include "../core/concepts.hpp"

namespace tightkv::inline TIGHTKV_ABI {

/// The matrix of a rotation in binary32. Pays off for prefill, where the queries of a whole chunk are rotated
/// together: dim multiply-adds a value, but in matrix products. Rounds otherwise than the rotation's own
/// forward(floats), so it is for queries and outputs; stored bytes come from forward(integers) alone.
class EigenRotation {
 public:
  template <class R>
  requires Rotation<R>
  explicit EigenRotation(const R& rotation) {
    const auto n = static_cast<Eigen::Index>(rotation.dim());
    matrix_.resize(n, n);
    std::vector<float> column(rotation.dim());
    for (Eigen::Index i = 0; i < n; ++i) {
      std::fill(column.begin(), column.end(), 0.0f);
      column[static_cast<std::size_t>(i)] = 1;
      rotation.forward(std::span<float>(column));  // R e_i
      matrix_.col(i) = Eigen::Map<const Eigen::VectorXf>(column.data(), n);
    }
  }

  std::size_t dim() const noexcept { return static_cast<std::size_t>(matrix_.rows()); }
  const Eigen::MatrixXf& matrix() const noexcept { return matrix_; }

  /// R x of every column x, in place; x.rows() == dim(). A row-major array of vectors is such a matrix:
  /// Eigen::Map<Eigen::MatrixXf>(data, dim, vectors). Allocates a temporary of the size of x.
  void forward(Eigen::Ref<Eigen::MatrixXf> x) const { x = matrix_ * x; }

  /// R^T x of every column, in place.
  void inverse(Eigen::Ref<Eigen::MatrixXf> x) const { x = matrix_.transpose() * x; }

 private:
  Eigen::MatrixXf matrix_;
};

}  // namespace tightkv::inline TIGHTKV_ABI
