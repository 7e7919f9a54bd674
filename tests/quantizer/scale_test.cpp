#include <tightkv/quantizer/scale.hpp>

#include <cmath>
#include <limits>
#include <vector>

#include "catch.hpp"
#include "support/codec.hpp"
#include "support/vectors.hpp"
#include "tightkv/codebook/grid.hpp"
#include "tightkv/codebook/lloyd_max.hpp"
#include "tightkv/codebook/trellis.hpp"
#include "tightkv/codebook/uniform.hpp"
#include "tightkv/quantizer/polar_quant.hpp"
#include "tightkv/rotation/hadamard.hpp"
#include "tightkv/rotation/identity.hpp"

using namespace tightkv;
using tightkv_test::Vector;

namespace {

/// <x, c>, |c|^2, |x|^2 of an encoded vector, in double; Identity as the rotation.
struct Sums {
  double ip = 0, cc = 0, xx = 0;
  Sums(const Vector& x, const tightkv_test::Encoded& e) {
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double c = e.levels[i], v = static_cast<float>(x[i]);
      ip += v * c, cc += c * c, xx += v * v;
    }
  }
};

template <class C, class S>
double scale_of(const Vector& x, std::size_t dim, Sums* sums = nullptr) {
  const PolarQuant<Identity, C, S> codec(dim, 0);
  const auto e = tightkv_test::encode(codec, tightkv_test::floats(x));
  if (sums) *sums = Sums(x, e);
  return double{e.scales[0]};
}

/// Every policy against its formula: the scale has 11 bits, so half a unit is at most 2^-11 of it; the
/// integers behind it are known far better.
template <class C>
void check_formulas(std::size_t dim) {
  tightkv_test::Rng rng(dim);
  for (int n = 0; n < 60; ++n) {
    const Vector x =
        tightkv_test::scaled(rng.normals(dim), std::ldexp(1.0, static_cast<int>(rng.below(60)) - 30));
    const C codebook(dim);
    Sums s(x, tightkv_test::encode(PolarQuant<Identity, C>(dim, 0), tightkv_test::floats(x)));
    const double gain = codebook.gain_q16() / 65536.0;
    const auto near = [&](double got, double want) {
      CAPTURE(dim, got, want);
      CHECK(std::abs(got / want - 1) < 0x1p-11 * 1.001);
    };
    near(scale_of<C, scale::Unbiased>(x, dim), s.xx / s.ip);
    near(scale_of<C, scale::MinMse>(x, dim), s.ip / s.cc);
    near(scale_of<C, scale::NormCorrected>(x, dim), std::sqrt(s.xx / s.cc));
    near(scale_of<C, scale::Unit>(x, dim), std::sqrt(s.xx / static_cast<double>(dim)) / gain);
  }
}

template <class C, class S>
void check_extremes(std::size_t dim) {
  const PolarQuant<Hadamard, C, S> codec(dim, 3);
  const auto decoded = [&](const std::vector<float>& x) {
    return tightkv_test::decode(codec, tightkv_test::encode(codec, x));
  };
  // Zero: decodes to zeros, scores exactly 0; -0.0 is 0.
  const std::vector<float> zero(dim, 0.0f), minus_zero(dim, -0.0f);
  const auto e = tightkv_test::encode(codec, zero);
  CHECK(e.scales[0] == 0);
  CHECK(decoded(zero) == zero);
  tightkv_test::Rng rng(9);
  const auto q = tightkv_test::floats(rng.normals(dim));
  for (const auto arithmetic : {Arithmetic::exact, Arithmetic::integer}) {
    CHECK(tightkv_test::score(codec, q, e, arithmetic) == 0);
    CHECK(tightkv_test::score(codec, zero, tightkv_test::encode(codec, q), arithmetic) == 0);
  }
  CHECK(tightkv_test::encode(codec, minus_zero).record.codes == e.record.codes);
  std::vector<float> signs = q, plain = q;
  signs[1] = -0.0f, plain[1] = 0.0f;
  CHECK(tightkv_test::encode(codec, signs).record.codes == tightkv_test::encode(codec, plain).record.codes);
  CHECK(tightkv_test::encode(codec, signs).scales == tightkv_test::encode(codec, plain).scales);

  // The same vector at any power of two gives the same codes and the scale times that power.
  const auto base = tightkv_test::encode(codec, q);
  for (const int power : {-120, -60, -1, 1, 60, 120}) {
    std::vector<float> x = q;
    for (float& v : x) v = std::ldexp(v, power);
    const auto other = tightkv_test::encode(codec, x);
    CHECK(other.record.codes == base.record.codes);
    CHECK(other.record.scales[0].mantissa == base.record.scales[0].mantissa);
    CHECK(other.record.scales[0].exponent == base.record.scales[0].exponent + power);
  }

  // One coordinate at and beyond the range of binary16, and at the ends of binary32: finite, and right.
  for (const float big : {6.5e4f, 6.6e4f, 1.25e5f, 1e30f, std::numeric_limits<float>::max(),
                          std::numeric_limits<float>::min(), std::numeric_limits<float>::denorm_min()}) {
    std::vector<float> x = zero;
    x[dim / 2] = big;
    const auto encoded = tightkv_test::encode(codec, x);
    CAPTURE(big);
    CHECK(std::isfinite(encoded.scales[0]));
    CHECK(encoded.record.scales[0].mantissa > 0);
    if (big > 1e30f || big < 1e-30f) continue;
    const auto back = decoded(x);
    for (const float v : back) CHECK(std::isfinite(v));
    CHECK(std::abs(double{back[dim / 2]} / double{big} - 1) < 0.5);
  }
}

template <class C>
double fit(std::size_t dim, unsigned points, const Vector& x) {
  const PolarQuant<Identity, C> codec(dim, 0, points);
  const Sums s(x, tightkv_test::encode(codec, tightkv_test::floats(x)));
  return s.ip * s.ip / (s.xx * s.cc);
}

}  // namespace

TEST_CASE("every scale policy is its formula", "[quantizer]") {
  for (const std::size_t dim : {16u, 64u, 80u, 128u, 576u}) {
    check_formulas<LloydMax<1>>(dim), check_formulas<LloydMax<2>>(dim), check_formulas<LloydMax<4>>(dim);
    check_formulas<LloydMax<8>>(dim), check_formulas<Trellis<3>>(dim), check_formulas<Uniform<4>>(dim);
    check_formulas<Grid<8>>(dim);
  }
}

TEST_CASE("the policy chosen at run time is the one it names", "[quantizer]") {
  const ScaleSums s{1234567890, 4321000, 98765, 2248739, 987654321};
  CHECK(scale::Any{ScaleKind::unbiased}.choose(s) == scale::Unbiased::choose(s));
  CHECK(scale::Any{ScaleKind::min_mse}.choose(s) == scale::MinMse::choose(s));
  CHECK(scale::Any{ScaleKind::norm_corrected}.choose(s) == scale::NormCorrected::choose(s));
  CHECK(scale::Any{ScaleKind::unit}.choose(s) == scale::Unit::choose(s));
  ScaleSums opposite = s;
  opposite.ip = -5;  // codes that point away: nothing sensible to scale
  CHECK(scale::Unbiased::choose(opposite) == fixed::Scale{});
  CHECK(scale::MinMse::choose(opposite) == fixed::Scale{});
}

TEST_CASE("zero, minus zero, powers of two and the ends of the float range", "[quantizer]") {
  for (const std::size_t dim : {64u, 80u}) {
    check_extremes<LloydMax<2>, scale::Unbiased>(dim);
    check_extremes<LloydMax<4>, scale::MinMse>(dim);
    check_extremes<Trellis<3>, scale::Unbiased>(dim);
    check_extremes<Trellis<4>, scale::NormCorrected>(dim);
    check_extremes<LloydMax<3>, scale::Unit>(dim);
    check_extremes<Grid<8>, scale::Unbiased>(dim);
  }
}

TEST_CASE("self-similarity keeps to |x|^2 at every width", "[quantizer]") {
  tightkv_test::Rng rng(12);
  const auto x = tightkv_test::floats(tightkv_test::unit(rng.normals(1024)));
  const PolarQuant<Hadamard, LloydMax<1>> one(1024, 1);
  // <x, x^> = |x|^2 by the choice of the scale, up to its 11 bits; and with norm correction it is a cosine.
  CHECK(std::abs(tightkv_test::score(one, x, tightkv_test::encode(one, x)) - 1) < 0x1p-11f + 1e-5f);
  const PolarQuant<Hadamard, LloydMax<1>, scale::NormCorrected> corrected(1024, 1);
  const float cosine = tightkv_test::score(corrected, x, tightkv_test::encode(corrected, x));
  CHECK(cosine < 1);
  CHECK(cosine > 0.75f);
}

TEST_CASE("more search points never make the fit worse", "[quantizer]") {
  tightkv_test::Rng rng(13);
  for (const std::size_t dim : {64u, 80u, 128u})
    for (int n = 0; n < 40; ++n) {
      const Vector x = rng.normals(dim);
      // The candidates of 3 are among those of 5, and 1 is in all; 9 has a grid of its own that holds 5's
      // ends.
      const double one = fit<LloydMax<4>>(dim, 1, x), three = fit<LloydMax<4>>(dim, 3, x),
                   five = fit<LloydMax<4>>(dim, 5, x), nine = fit<LloydMax<4>>(dim, 9, x);
      const double slack = 1 - 1e-6;  // the encoder compares 32-bit products
      if (three < one * slack || five < one * slack || nine < three * slack)
        FAIL(one << " " << three << " " << five << " " << nine);
      const double t1 = fit<Trellis<3>>(dim, 1, x), t3 = fit<Trellis<3>>(dim, 3, x),
                   t9 = fit<Trellis<3>>(dim, 9, x);
      if (t3 < t1 * slack || t9 < t3 * slack) FAIL(t1 << " " << t3 << " " << t9);
    }
}
