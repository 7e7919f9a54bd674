#include <tightkv/rotation/haar.hpp>

#include <numbers>

#include "catch.hpp"
#include "support/codec.hpp"
#include "support/matrices.hpp"
#include "support/stats.hpp"
#include "tightkv/codebook/lloyd_max.hpp"
#include "tightkv/quantizer/polar_quant.hpp"
#include "tightkv/rotation/hadamard.hpp"

using namespace tightkv;
using tightkv_test::Moments;
using tightkv_test::Rng;
using tightkv_test::Vector;

namespace {

std::vector<double> entries(const Haar& haar) {
  std::vector<double> m;
  for (const std::int32_t v : haar.values()) m.push_back(v * 0x1p-24);
  return m;
}

/// Mean of |x - x^|^2 / |x|^2 over vectors whose energy lies in coordinates [begin, end).
template <class R>
double distortion(std::size_t dim, std::size_t begin, std::size_t end) {
  Rng rng(dim + begin);
  Moments error;
  const int seeds = R::kind == RotationKind::haar ? 4 : 16;  // Haar's directions need no averaging
  for (int seed = 0; seed < seeds; ++seed) {
    const PolarQuant<R, LloydMax<4>> codec(dim, static_cast<std::uint64_t>(seed));
    for (int n = 0; n < 480 / seeds; ++n) {
      Vector x(dim, 0.0);
      for (std::size_t i = begin; i < end; ++i) x[i] = rng.normal();
      const auto back = tightkv_test::decode(codec, tightkv_test::encode(codec, tightkv_test::floats(x)));
      error.add(std::pow(tightkv_test::norm(tightkv_test::sum(x, tightkv_test::doubles(back), -1)), 2) /
                tightkv_test::dot(x, x));
    }
  }
  return error.mean();
}

}  // namespace

TEST_CASE("Haar matrices have both determinants, half of the time each", "[rotation]") {
  for (const std::size_t dim : {2u, 8u, 80u}) {
    CAPTURE(dim);
    int positive = 0;
    for (std::uint64_t seed = 0; seed < 400; ++seed) {
      const double det = tightkv_test::determinant(entries(Haar(dim, seed)), dim);
      if (std::abs(std::abs(det) - 1) > 1e-5) FAIL("determinant " << det << " of seed " << seed);
      positive += det > 0;
    }
    CHECK(std::abs(tightkv_test::binomial_z(positive, 400, 0.5)) < 4);
  }
}

TEST_CASE("entries of Haar matrices have mean 0, variance 1/dim and no favourite corner", "[rotation]") {
  for (const std::size_t dim : {2u, 8u, 80u}) {
    CAPTURE(dim);
    const double d = static_cast<double>(dim);
    Moments trace, corner[4], square[4], fourth, product;
    for (std::uint64_t seed = 0; seed < 400; ++seed) {
      const auto m = entries(Haar(dim, seed));
      const double at[4] = {m[0], m[dim - 1], m[(dim - 1) * dim], m[dim * dim - 1]};
      double sum = 0;
      for (std::size_t i = 0; i < dim; ++i) sum += m[i * dim + i];
      trace.add(sum);
      for (int c = 0; c < 4; ++c) corner[c].add(at[c]), square[c].add(at[c] * at[c]);
      fourth.add(std::pow(m[0], 4));
      product.add(m[0] * m[0] * m[dim * dim - 1] * m[dim * dim - 1]);
    }
    CHECK(std::abs(trace.z(0)) < 4);
    for (int c = 0; c < 4; ++c) {
      CHECK(std::abs(corner[c].z(0)) < 4);
      CHECK(std::abs(square[c].z(1 / d)) < 4);
    }
    CHECK(std::abs(fourth.z(3 / (d * (d + 2)))) < 4);
    // E[R_11^2 R_nn^2] = (d + 1) / (d (d - 1) (d + 2)), the Weingarten calculus of O(d); 3/8 at d = 2.
    CHECK(std::abs(product.z((d + 1) / (d * (d - 1) * (d + 2)))) < 4);
  }
}

TEST_CASE("the images of e_0 and e_1 at dim 2 are uniform on the circle", "[rotation]") {
  std::vector<double> first(32), second(32);
  for (std::uint64_t seed = 0; seed < 6400; ++seed) {
    const auto m = entries(Haar(2, seed));
    const auto bin = [](double x, double y) {
      const double turn = std::atan2(y, x) / (2 * std::numbers::pi) + 0.5;
      return static_cast<std::size_t>(turn * 32) % 32;
    };
    ++first[bin(m[0], m[2])], ++second[bin(m[1], m[3])];
  }
  CHECK(std::abs(tightkv_test::uniform_chi_square_z(first)) < 4);
  CHECK(std::abs(tightkv_test::uniform_chi_square_z(second)) < 4);
}

TEST_CASE("where a vector's energy lies makes no difference to its error", "[rotation]") {
  for (const std::size_t dim : {96u, 192u, 576u}) {
    CAPTURE(dim);
    const double haar = distortion<Haar>(dim, 0, dim), hadamard = distortion<Hadamard>(dim, 0, dim);
    CHECK(std::abs(hadamard / haar - 1) < 0.05);
    // The rows of Hadamard's first round, the middle one too: with the same rows in both rounds it was 20 %
    // off.
    const std::size_t row = dim % 9 == 0 ? dim / 9 : dim / 3;
    for (std::size_t begin = 0; begin < dim; begin += row)
      CHECK(std::abs(distortion<Hadamard>(dim, begin, begin + row) / haar - 1) < 0.05);
    CHECK(std::abs(distortion<Haar>(dim, 0, 64) / haar - 1) < 0.05);
    CHECK(std::abs(distortion<Haar>(dim, dim - 64, dim) / haar - 1) < 0.05);
    CHECK(std::abs(distortion<Hadamard>(dim, 0, 64) / haar - 1) < 0.05);
    CHECK(std::abs(distortion<Hadamard>(dim, dim - 64, dim) / haar - 1) < 0.05);
  }
}
