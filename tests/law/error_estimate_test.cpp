#include <tightkv/quantizer/error_estimate.hpp>

#include <cmath>
#include <string>
#include <vector>

#include "catch.hpp"
#include "support/codec.hpp"
#include "support/npy.hpp"
#include "support/stats.hpp"
#include "support/vectors.hpp"
#include "tightkv/codebook/grid.hpp"
#include "tightkv/codebook/lloyd_max.hpp"
#include "tightkv/codebook/trellis.hpp"
#include "tightkv/quantizer/polar_quant.hpp"
#include "tightkv/rotation/hadamard.hpp"
#include "tightkv/rotation/identity.hpp"

using namespace tightkv;
using tightkv_test::Vector;

namespace {

/// Share of errors within 1, 2 and 3 standard deviations.
struct Coverage {
  double within[3] = {}, total = 0;
  void add(double error, double stddev) {
    ++total;
    for (int s = 0; s < 3; ++s) within[s] += std::abs(error) <= (s + 1) * stddev;
  }
  void check(const std::string& what) const {
    const double normal[3] = {68.27, 95.45, 99.73};
    for (int s = 0; s < 3; ++s) {
      const double percent = 100 * within[s] / total;
      CAPTURE(what, s + 1, percent, total);
      CHECK(std::abs(percent - normal[s]) < 1);
    }
  }
};

template <class C>
double decoded_norm(const C& codec, const tightkv_test::Encoded& e) {
  double cc = 0;
  for (std::size_t i = 0; i < codec.dim(); ++i) cc += double{1} * e.levels[i] * e.levels[i];
  return std::abs(double{e.scales[0]}) * std::sqrt(cc);
}

template <class C>
void add_pair(const C& codec, double v, const Vector& q, const Vector& k, Coverage& coverage) {
  const auto e = tightkv_test::encode(codec, tightkv_test::floats(k));
  const float score = tightkv_test::score(codec, tightkv_test::floats(q), e);
  const auto estimate = score_stddev(score, static_cast<float>(tightkv_test::norm(q)),
                                     static_cast<float>(decoded_norm(codec, e)), v, codec.dim());
  coverage.add(double{score} - tightkv_test::dot(q, k), double{estimate.stddev});
}

/// Each pair of a real query and a real key under a Haar rotation of its own. Of a pair only |q|, |k| and <q,
/// k> survive a Haar rotation, so it is enough to draw a random pair with these.
template <class C>
void check_real_pairs(const std::string& layer, CodebookKind kind, unsigned bits, unsigned points) {
  const auto keys = tightkv_test::test_data(layer + "_k"), queries = tightkv_test::test_data(layer + "_q");
  const std::size_t dim = keys.dim();
  const PolarQuant<Identity, C> codec(dim, 0, points);
  const double v = score_variance(kind, bits, points);
  tightkv_test::Rng rng(bits);
  Coverage coverage;
  for (std::size_t t = 0; t < keys.rows(); ++t)
    for (std::size_t n = 0; n < queries.rows(); ++n) {
      const Vector k(keys.row(t), keys.row(t) + dim), q(queries.row(n), queries.row(n) + dim);
      const double nk = tightkv_test::norm(k), nq = tightkv_test::norm(q);
      const tightkv_test::Frame f(dim, rng);
      add_pair(codec, v,
               tightkv_test::scaled(tightkv_test::at_cosine(f.x, f.y, tightkv_test::dot(q, k) / nq / nk), nq),
               tightkv_test::scaled(f.x, nk), coverage);
    }
  coverage.check(layer + ", " + std::to_string(bits) + " bits, " + std::to_string(points) + " points");
}

}  // namespace

TEST_CASE("known estimates: nothing to say of zero vectors, no error along the key", "[quantizer]") {
  CHECK(score_stddev(0, 0, 1, .01, 64).stddev == 0);
  CHECK(score_stddev(0, 1, 0, .01, 64).stddev == 0);
  // At right angles: |q| |x| sqrt(V / d), with |x^| a little above |x|.
  const auto across = score_stddev(0, 2, 3, .01, 100);
  CHECK(std::abs(double{across.stddev} - 6 / std::sqrt(1 + .01 * .99) * std::sqrt(.01 / 100)) < 1e-5);
  CHECK(across.cosine == 0);
  const auto along = score_stddev(6, 2, 3, .01, 100);
  CHECK(along.cosine == 1);
  CHECK(along.stddev == 0);
}

TEST_CASE("the table of variances is what PolarQuant does", "[law]") {
  const auto check = [](auto codebook, unsigned points, std::size_t dim, double part) {
    using C = decltype(codebook);
    const PolarQuant<Identity, C> codec(dim, 0, points);
    const double v = score_variance(C::kind, codebook.bits(), points), d = static_cast<double>(dim);
    tightkv_test::Rng rng(77);
    tightkv_test::Moments tan2;
    for (int n = 0; n < 1500; ++n) {
      const Vector x = tightkv_test::unit(rng.normals(dim));
      const auto e = tightkv_test::encode(codec, tightkv_test::floats(x));
      tan2.add(std::pow(decoded_norm(codec, e), 2) - 1);
    }
    CAPTURE(codebook.bits(), points, dim, tan2.mean() * d / (d - 1), v);
    CHECK(std::abs(tan2.mean() * d / (d - 1) / v - 1) < part);
  };
  for (const unsigned points : {1u, 3u, 5u, 9u}) {
    check(LloydMax<1>(128), points, 128, .02), check(LloydMax<2>(128), points, 128, .02);
    check(LloydMax<3>(128), points, 128, .02), check(LloydMax<4>(128), points, 128, .02);
    check(Trellis<2>(128), points, 128, .02), check(Trellis<3>(128), points, 128, .02);
    check(Trellis<4>(128), points, 128, .02);
  }
  check(LloydMax<4>(64), 1, 64, .06), check(LloydMax<4>(256), 1, 256, .04);
  check(Trellis<3>(64), 9, 64, .06), check(Trellis<3>(256), 9, 256, .04);
  CHECK(score_variance(CodebookKind::table, 4, 1) == 0);
}

TEST_CASE("errors of real scores keep to 1, 2 and 3 estimated standard deviations: layer 14", "[law]") {
  check_real_pairs<LloydMax<2>>("layer14", CodebookKind::lloyd_max, 2, 1);
  check_real_pairs<LloydMax<4>>("layer14", CodebookKind::lloyd_max, 4, 1);
  check_real_pairs<Trellis<3>>("layer14", CodebookKind::trellis, 3, 1);
}

TEST_CASE("errors of real scores keep to 1, 2 and 3 estimated standard deviations: layer 0", "[law]") {
  check_real_pairs<LloydMax<3>>("layer00", CodebookKind::lloyd_max, 3, 3);
  check_real_pairs<LloydMax<4>>("layer00", CodebookKind::lloyd_max, 4, 1);
}

TEST_CASE("the same under Hadamard rotations, every 4th key of layer 14 and 256 seeds", "[law]") {
  const auto keys = tightkv_test::test_data("layer14_k"), queries = tightkv_test::test_data("layer14_q");
  const std::size_t dim = keys.dim();
  Coverage coverage;
  for (std::uint64_t seed = 0; seed < 256; ++seed) {
    const PolarQuant<Hadamard, LloydMax<4>> codec(dim, seed);
    const double v = score_variance(CodebookKind::lloyd_max, 4, 1);
    for (std::size_t t = 0; t < keys.rows(); t += 4) {
      const Vector k(keys.row(t), keys.row(t) + dim);
      const float* q = queries.row((t + seed) % queries.rows());
      add_pair(codec, v, Vector(q, q + dim), k, coverage);
    }
  }
  coverage.check("hadamard");
}
