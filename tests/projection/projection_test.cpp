#include <tightkv/projection/any.hpp>

#include <cmath>
#include <numbers>
#include <vector>

#include "catch.hpp"
#include "support/codec.hpp"
#include "support/stats.hpp"
#include "support/vectors.hpp"
#include "tightkv/quantizer/qjl.hpp"

using namespace tightkv;
using tightkv_test::Moments;
using tightkv_test::Rng;
using tightkv_test::Vector;

namespace {

/// Scores of QJL over many sketches of a fixed pair.
template <class P>
Moments scores(std::size_t dim, std::size_t rows, std::uint64_t seeds, const Vector& q, const Vector& k) {
  Moments all;
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    const QJL<P> codec(dim, seed, rows);
    all.add(tightkv_test::score(codec, tightkv_test::floats(q),
                                tightkv_test::encode(codec, tightkv_test::floats(k))));
  }
  return all;
}

template <class P>
void check_consistent(const P& p) {
  CAPTURE(p.dim(), p.rows());
  Rng rng(p.dim() + p.rows());
  const auto x = tightkv_test::floats(rng.normals(p.dim())), y = tightkv_test::floats(rng.normals(p.rows()));
  std::vector<float> sx(p.rows()), sty(p.dim());
  p.sketch(std::span<const float>(x), std::span<float>(sx));
  p.adjoint(y, sty);
  // <S x, y> = <x, S^T y>; both sides are sums of rows * dim products.
  const double left = tightkv_test::dot(sx, y), right = tightkv_test::dot(x, sty);
  const double bound =
      4 * static_cast<double>(p.dim() + p.rows()) * 0x1p-24 * tightkv_test::norm(sx) * tightkv_test::norm(y);
  CHECK(std::abs(left - right) <= bound + 1e-6 * tightkv_test::norm(sx) * tightkv_test::norm(y));

  // The integer sketch is the float one: same direction, so the same signs except next to zero.
  tightkv_test::Input input(x);
  std::vector<std::int64_t> integer(p.rows());
  p.sketch(input.integers(), integer);
  double ii = 0, if_ = 0, ff = 0;
  for (std::size_t i = 0; i < p.rows(); ++i) {
    const auto v = static_cast<double>(integer[i]);
    ii += v * v, if_ += v * double{sx[i]}, ff += double{sx[i]} * double{sx[i]};
    if (std::abs(sx[i]) > 1e-4f * static_cast<float>(tightkv_test::norm(sx)) &&
        (integer[i] >= 0) != (sx[i] >= 0))
      FAIL("sign of row " << i);
  }
  CHECK(if_ / std::sqrt(ii * ff) > 1 - 1e-9);
}

}  // namespace

TEST_CASE("the constants are their closed forms", "[projection]") {
  const double pi = std::numbers::pi;
  for (const std::size_t dim : {1u, 2u, 3u, 7u, 16u, 64u, 80u, 127u, 128u, 256u, 1024u}) {
    CAPTURE(dim);
    const double d = static_cast<double>(dim);
    const double kappa = std::sqrt(pi) / d * std::exp(std::lgamma((d + 1) / 2) - std::lgamma(d / 2));
    CHECK(std::abs(orthogonal_sketch_constant(dim, dim) / kappa - 1) < 1e-12);
    CHECK(std::abs(gaussian_sketch_constant(dim) * d / std::sqrt(pi / 2) - 1) < 1e-15);
    CHECK(std::abs(orthogonal_sketch_constant(dim, 3) * 3 / d / kappa - 1) < 1e-12);
  }
  CHECK(std::abs(orthogonal_sketch_constant(64, 64) - .15605352) < 5e-9);
  CHECK(std::abs(orthogonal_sketch_constant(128, 128) - .11056222) < 5e-9);
  CHECK(std::abs(orthogonal_sketch_constant(256, 256) - .07825567) < 5e-9);
  static_assert(orthogonal_sketch_constant(2, 2) > 0.785 &&
                orthogonal_sketch_constant(2, 2) < 0.786);  // pi / 4
}

TEST_CASE("the constants are the means over random directions", "[projection]") {
  for (const std::size_t dim : {2u, 16u, 64u}) {
    CAPTURE(dim);
    Rng rng(dim);
    Moments sphere, gauss;
    for (int n = 0; n < 40000; ++n) {
      const Vector g = rng.normals(dim);
      sphere.add(std::abs(g[0]) / tightkv_test::norm(g));
      gauss.add(std::abs(g[0]));
    }
    const double d = static_cast<double>(dim);
    CHECK(std::abs(sphere.z(1 / (d * orthogonal_sketch_constant(dim, dim)))) < 4);
    CHECK(std::abs(gauss.z(1 / (d * gaussian_sketch_constant(dim)))) < 4);
  }
}

TEST_CASE("QJL is unbiased for square, flat and tall sketches", "[projection][law]") {
  const std::size_t dim = 32;
  Rng rng(1);
  std::vector<Vector> keys, queries = {rng.normals(dim), tightkv_test::fixed_input("one-hot", dim)};
  for (const char* name : tightkv_test::fixed_inputs)
    keys.push_back(tightkv_test::scaled(tightkv_test::fixed_input(name, dim), 3));
  queries.insert(queries.end(), keys.begin(), keys.end());
  const auto check = [&](auto make, std::size_t rows) {
    std::vector<Moments> all(keys.size() * queries.size());
    for (std::uint64_t seed = 0; seed < 1000; ++seed) {
      const auto codec = make(rows, seed);
      for (std::size_t k = 0; k < keys.size(); ++k) {
        const auto encoded = tightkv_test::encode(codec, tightkv_test::floats(keys[k]));
        for (std::size_t q = 0; q < queries.size(); ++q)
          all[k * queries.size() + q].add(
              tightkv_test::score(codec, tightkv_test::floats(queries[q]), encoded));
      }
    }
    for (std::size_t k = 0; k < keys.size(); ++k)
      for (std::size_t q = 0; q < queries.size(); ++q) {
        CAPTURE(rows, k, q);
        CHECK(std::abs(all[k * queries.size() + q].z(tightkv_test::dot(queries[q], keys[k]))) < 4);
      }
  };
  for (const std::size_t rows : {16u, 32u, 48u, 96u}) {
    check([&](std::size_t r, std::uint64_t s) { return QJL<Gaussian>(dim, s, r); }, rows);
    check([&](std::size_t r, std::uint64_t s) { return QJL<Orthogonal>(dim, s, r); }, rows);
  }
}

TEST_CASE("QJL's variance: (pi/2 - a^2) / rows for Gaussian, 2.75 times less for orthogonal rows",
          "[projection][law]") {
  const std::size_t dim = 64;
  const double pi = std::numbers::pi, d = 64;
  Rng rng(3);
  const tightkv_test::Frame f(dim, rng);
  const int seeds = 2000;  // a variance is known to sqrt(2 / seeds) = 3.2 %; 4 of these are 13 %
  const double gauss = scores<Gaussian>(dim, dim, seeds, f.y, f.x).variance() * d;
  const double orthogonal = scores<Orthogonal>(dim, dim, seeds, f.y, f.x).variance() * d;
  CHECK(std::abs(gauss / (pi / 2) - 1) < 0.13);
  CHECK(std::abs(orthogonal / .566355 - 1) < 0.13);  // exact at dim 64
  const Vector half = tightkv_test::at_cosine(f.x, f.y, .5);
  CHECK(std::abs(scores<Gaussian>(dim, dim, seeds, half, f.x).variance() * d / (pi / 2 - .25) - 1) < 0.13);
  const double tall = scores<Gaussian>(dim, 2 * dim, seeds, f.y, f.x).variance() * d;
  CHECK(std::abs(tall / (pi / 4) - 1) < 0.13);
}

TEST_CASE("SRHT with two rounds is unbiased to 0.3 % of the norms, to 1.5 % on one or two coordinates",
          "[projection][law]") {
  const std::size_t dim = 64;
  for (const char* name : tightkv_test::fixed_inputs) {
    CAPTURE(name);
    const Vector k = tightkv_test::fixed_input(name, dim);
    Rng rng(4);
    for (const Vector& q : {k, tightkv_test::orthogonal_part(k, rng.normals(dim))}) {
      const Moments m = scores<Srht>(dim, dim, 4000, q, k);
      CHECK(std::abs(m.mean() - tightkv_test::dot(q, k)) <
            (std::string(name).find("hot") == std::string::npos ? 0.003 : 0.012) + 4 * m.standard_error());
    }
  }
}

TEST_CASE("integer sketch, float sketch and adjoint belong to one matrix", "[projection]") {
  for (const std::size_t dim : {16u, 64u, 80u, 128u})
    for (const std::size_t rows : {std::size_t{7}, dim / 2, dim, 2 * dim + 3}) {
      check_consistent(Gaussian(dim, rows, 5));
      check_consistent(Orthogonal(dim, rows, 5));
      check_consistent(Srht(dim, rows, 5));
    }
  CHECK(Srht(64, 100, 1).rows() == 64);
}

TEST_CASE("rows of an orthogonal sketch are orthonormal within a block and blocks differ", "[projection]") {
  const std::size_t dim = 48;
  const Orthogonal p(dim, 2 * dim, 9);
  std::vector<std::vector<float>> rows;
  for (std::size_t i = 0; i < 2 * dim; ++i) {
    std::vector<float> e(2 * dim, 0.0f), row(dim);
    e[i] = 1;
    p.adjoint(e, row);
    rows.push_back(row);
  }
  double worst = 0;
  for (std::size_t i = 0; i < 2 * dim; ++i)
    for (std::size_t j = 0; j <= i; ++j)
      if (i / dim == j / dim)
        worst = std::max(worst, std::abs(tightkv_test::dot(rows[i], rows[j]) - (i == j ? 1 : 0)));
  CHECK(worst < 1e-5);
  CHECK(rows[0] != rows[dim]);
}

TEST_CASE("sketches are made of randomness of their own", "[projection]") {
  // The sketch under a seed is not the rotation under that seed: TurboQuant needs them independent.
  CHECK(Orthogonal(64, 64, 42).hash() != Haar(64, 42).hash());
  CHECK(Srht(64, 64, 42).hash() != Hadamard(64, 42).hash());
  CHECK(Gaussian(64, 64, 0).hash() != Gaussian(64, 64, 1).hash());
  CHECK(Gaussian(64, 64, 0).hash() == Gaussian(64, 64, 0).hash());
}

TEST_CASE("the sketches of a seed are fixed for ever", "[projection][golden]") {
  // They decide the bytes of caches that exist: if this goes red, the written format has changed.
  CHECK(Gaussian(80, 80, 42).hash() == 0x5576a2e73eef33dcu);
  CHECK(Gaussian(128, 128, 42).hash() == 0x7f07e93617aa1038u);
  CHECK(Orthogonal(80, 80, 42).hash() == 0x5cd2dcb0b38697c0u);
  CHECK(Orthogonal(128, 128, 42).hash() == 0x3c91031038a0d9e9u);
  CHECK(Srht(80, 80, 42).hash() == 0xcbc7fd9e43144dadu);
  CHECK(Srht(128, 64, 42).hash() == 0xa6c7049dc0b3ebbcu);
}

TEST_CASE("the score of QJL is linear in the stored norm", "[projection]") {
  const QJL<Orthogonal> codec(64, 3);
  Rng rng(8);
  const auto k = tightkv_test::floats(rng.normals(64)), q = tightkv_test::floats(rng.normals(64));
  auto e = tightkv_test::encode(codec, k);
  const float once = tightkv_test::score(codec, q, e);
  e.scales[0] *= 2;
  CHECK(tightkv_test::score(codec, q, e) == 2 * once);
  CHECK(std::abs(tightkv_test::norm(k) / double{e.scales[0]} * 2 - 1) < 0x1p-11);
  CHECK(tightkv_test::encode(codec, std::vector<float>(64, 0.0f)).scales[0] == 0);
}

TEST_CASE("a projection chosen at run time is the one it holds", "[projection]") {
  AnyProjection any = Gaussian(2, 2, 0);
  REQUIRE(AnyProjection::try_make(ProjectionKind::orthogonal, 32, 48, 3, any).ok());
  const Orthogonal typed(32, 48, 3);
  CHECK(any.which() == ProjectionKind::orthogonal);
  CHECK(any.hash() == typed.hash());
  CHECK(any.rows() == 48);
  CHECK(any.dim() == 32);
  CHECK(any.constant() == typed.constant());
  check_consistent(any);
  REQUIRE(AnyProjection::try_make(ProjectionKind::srht, 32, 32, 3, any).ok());
  CHECK(any.hash() == Srht(32, 32, 3).hash());
  REQUIRE(AnyProjection::try_make(ProjectionKind::gaussian, 32, 32, 3, any).ok());
  CHECK(any.hash() == Gaussian(32, 32, 3).hash());
  CHECK(AnyProjection::try_make(ProjectionKind::none, 32, 32, 3, any).code() == ErrorCode::unsupported);
}
