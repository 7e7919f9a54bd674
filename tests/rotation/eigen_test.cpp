#include <tightkv/rotation/eigen.hpp>

#include <Eigen/Dense>

#include "catch.hpp"
#include "support/vectors.hpp"
#include "tightkv/rotation/haar.hpp"
#include "tightkv/rotation/hadamard.hpp"

using namespace tightkv;

namespace {

Eigen::MatrixXf random_columns(Eigen::Index rows, Eigen::Index columns) {
  tightkv_test::Rng rng(9);
  Eigen::MatrixXf x(rows, columns);
  for (Eigen::Index i = 0; i < x.size(); ++i) x.data()[i] = static_cast<float>(rng.normal());
  return x;
}

}  // namespace

TEST_CASE("Householder QR finds nothing but an orthogonal matrix", "[rotation][eigen]") {
  const auto check = [](const auto& rotation) {
    CAPTURE(rotation.dim());
    const Eigen::MatrixXd m = EigenRotation(rotation).matrix().template cast<double>();
    // m = Q R: where m is orthogonal, R is diagonal with +-1, and all singular values are 1.
    const Eigen::HouseholderQR<Eigen::MatrixXd> qr(m);
    const Eigen::MatrixXd r = qr.matrixQR().template triangularView<Eigen::Upper>();
    CHECK((r.cwiseAbs() - Eigen::MatrixXd::Identity(r.rows(), r.cols())).cwiseAbs().maxCoeff() < 1e-5);
    CHECK((m * m.transpose() - Eigen::MatrixXd::Identity(r.rows(), r.cols())).cwiseAbs().maxCoeff() < 1e-5);
  };
  for (const std::size_t dim : {2u, 16u, 30u, 64u, 80u, 96u, 112u, 128u, 192u, 256u}) {
    check(Haar(dim, 1));
    check(Hadamard(dim, 1));
  }
}

TEST_CASE("the batched product is the rotation of every column", "[rotation][eigen]") {
  for (const std::size_t dim : {64u, 80u, 128u}) {
    CAPTURE(dim);
    const auto check = [&](const auto& rotation) {
      const EigenRotation batched(rotation);
      CHECK(batched.dim() == dim);
      const Eigen::MatrixXf x = random_columns(static_cast<Eigen::Index>(dim), 17);
      Eigen::MatrixXf y = x, want = x;
      batched.forward(y);
      for (Eigen::Index c = 0; c < want.cols(); ++c)
        rotation.forward(std::span<float>(want.col(c).data(), dim));
      // Two sums of dim products: 2 (dim + 2) eps |x|, and the matrix' own entries are one eps off.
      const float bound = 2 * (static_cast<float>(dim) + 3) * 0x1p-24f * x.colwise().norm().maxCoeff();
      CHECK((y - want).cwiseAbs().maxCoeff() < bound);
      batched.inverse(y);
      CHECK((y - x).cwiseAbs().maxCoeff() < 2 * bound);
      y.leftCols(3) = x.leftCols(3);
      batched.forward(y.leftCols(3));  // part of a matrix
      CHECK((y.leftCols(3) - want.leftCols(3)).cwiseAbs().maxCoeff() < bound);
    };
    check(Haar(dim, 4));
    check(Hadamard(dim, 4));
  }
}
