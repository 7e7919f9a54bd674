// The statistical promises of the estimators: E[score] = <q, k>, and the variances of docs/accuracy.md. The
// independent unit is a draw of the random rotation or sketch; vectors are fixed, or a random orthonormal
// pair, which is what a Haar rotation makes of a fixed pair.
#include <cstdlib>
#include <string>
#include <vector>

#include "catch.hpp"
#include "support/codec.hpp"
#include "support/stats.hpp"
#include "support/vectors.hpp"
#include "tightkv/codebook/lloyd_max.hpp"
#include "tightkv/codebook/trellis.hpp"
#include "tightkv/projection/gaussian.hpp"
#include "tightkv/projection/orthogonal.hpp"
#include "tightkv/quantizer/turbo_quant.hpp"
#include "tightkv/rotation/haar.hpp"
#include "tightkv/rotation/hadamard.hpp"
#include "tightkv/rotation/identity.hpp"

using namespace tightkv;
using tightkv_test::Moments;
using tightkv_test::Vector;

namespace {

constexpr double cosines[] = {0, 0.5, 0.8, 0.95};

/// Set TIGHTKV_LONG for 4,096 seeds of the dims whose rotations are slow to make.
bool long_run() { return std::getenv("TIGHTKV_LONG") != nullptr; }

/// Errors of scores of one codec against a fixed key, for queries at the four cosines.
struct Errors {
  Moments at[4];

  template <class C>
  void add(const C& codec, const Vector& key, const Vector& across,
           Arithmetic arithmetic = Arithmetic::exact) {
    tightkv_test::encode_into(codec, tightkv_test::floats(key), encoded);
    for (int c = 0; c < 4; ++c) {
      const auto q = tightkv_test::floats(tightkv_test::at_cosine(key, across, cosines[c]));
      codec.prepare(q, prepared);
      at[c].add(static_cast<double>(codec.score(prepared, encoded.view(), arithmetic)) - cosines[c]);
    }
  }

  /// |mean| < 4 standard errors at every cosine: a true mean of 0 fails once in 16,000.
  void check_unbiased(const std::string& what) const {
    for (int c = 0; c < 4; ++c) {
      CAPTURE(what, cosines[c], at[c].mean(), at[c].standard_error());
      CHECK(std::abs(at[c].z(0)) < 4);
    }
  }

  tightkv_test::Encoded encoded;
  PreparedQuery prepared;
};

/// A unit query direction at right angles to the key, not aligned with anything.
Vector across(const Vector& key, std::uint64_t seed) {
  tightkv_test::Rng rng(seed);
  return tightkv_test::orthogonal_part(key, rng.normals(key.size()));
}

/// Single stage under real Haar rotations: LloydMax<1..4> and Trellis<2..4>, the four fixed inputs.
void check_single_stage(std::size_t dim, std::uint64_t seeds) {
  const std::size_t inputs = 4;
  std::vector<Errors> errors(inputs * 7);
  std::vector<Vector> keys, others;
  for (const char* name : tightkv_test::fixed_inputs) {
    keys.push_back(tightkv_test::fixed_input(name, dim));
    others.push_back(across(keys.back(), dim));
  }
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    const Haar haar(dim, seed);
    const auto add = [&](auto codebook, std::size_t slot) {
      const PolarQuant<Haar, decltype(codebook)> codec(haar, codebook, {}, 1);
      for (std::size_t i = 0; i < inputs; ++i) errors[7 * i + slot].add(codec, keys[i], others[i]);
    };
    add(LloydMax<1>(dim), 0), add(LloydMax<2>(dim), 1), add(LloydMax<3>(dim), 2), add(LloydMax<4>(dim), 3);
    add(Trellis<2>(dim), 4), add(Trellis<3>(dim), 5), add(Trellis<4>(dim), 6);
  }
  for (std::size_t i = 0; i < inputs; ++i)
    for (std::size_t slot = 0; slot < 7; ++slot)
      errors[7 * i + slot].check_unbiased(
          "dim " + std::to_string(dim) + ", " + tightkv_test::fixed_inputs[i] +
          (slot < 4 ? ", lloyd_max " + std::to_string(slot + 1) : ", trellis " + std::to_string(slot - 2)));
}

/// TurboQuant with a real first stage and a fresh sketch a seed.
template <class R, class P>
void check_turbo_quant(std::size_t dim, std::uint64_t seeds, const std::string& what) {
  const std::size_t inputs = 4;
  std::vector<Errors> errors(inputs * 3);
  std::vector<Vector> keys, others;
  for (const char* name : tightkv_test::fixed_inputs) {
    keys.push_back(tightkv_test::fixed_input(name, dim));
    others.push_back(across(keys.back(), dim));
  }
  // One first stage for all seeds: its error is there in full, and the sketch alone must take it away.
  const R rotation(dim, 1);
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    const P sketch(dim, dim, seed);
    const auto add = [&](auto codebook, std::size_t slot) {
      using C = decltype(codebook);
      const TurboQuant<R, C, P> codec(PolarQuant<R, C, scale::Unit>(rotation, codebook, {}, 1), sketch);
      for (std::size_t i = 0; i < inputs; ++i) errors[3 * i + slot].add(codec, keys[i], others[i]);
    };
    add(LloydMax<1>(dim), 0), add(LloydMax<2>(dim), 1), add(LloydMax<3>(dim), 2);
  }
  for (std::size_t i = 0; i < inputs; ++i)
    for (std::size_t slot = 0; slot < 3; ++slot)
      errors[3 * i + slot].check_unbiased(what + ", dim " + std::to_string(dim) + ", " +
                                          tightkv_test::fixed_inputs[i] + ", " + std::to_string(slot + 2) +
                                          " bits");
}

/// Errors over random orthonormal pairs; Identity as the rotation, since the pair is rotated already.
template <class C, class S = scale::Unbiased>
Errors over_frames(std::size_t dim, unsigned search_points, int frames, std::uint64_t seed,
                   Arithmetic arithmetic = Arithmetic::exact) {
  const PolarQuant<Identity, C, S> codec(dim, 0, search_points);
  tightkv_test::Rng rng(seed);
  Errors errors;
  for (int n = 0; n < frames; ++n) {
    const tightkv_test::Frame f(dim, rng);
    errors.add(codec, f.x, f.y, arithmetic);
  }
  return errors;
}

/// dim * E[(score - <q, k>)^2] of unit vectors.
double variance(const Errors& errors, int cosine, std::size_t dim) {
  return static_cast<double>(dim) * errors.at[cosine].mean_square();
}

void check_within(double value, double want, double part, const std::string& what) {
  CAPTURE(what, value, want);
  CHECK(std::abs(value / want - 1) < part);
}

template <unsigned Bits>
double distortion(std::size_t dim) {  // exact D of algorithms 3.1
  const double at64[] = {0, .358387, .114526, .033391, .009132},
               at80[] = {0, .359389, .115115, .033620, .009204},
               at128[] = {0, .360889, .116000, .033966, .009315},
               at192[] = {0, .361720, .116493, .034159, .009377};
  return (dim == 64 ? at64 : dim == 80 ? at80 : dim == 128 ? at128 : at192)[Bits];
}

template <unsigned Bits>
void check_frames(std::size_t dim) {
  const Errors errors = over_frames<LloydMax<Bits>>(dim, 1, 1 << 16, 100 + Bits);
  const std::string what = "dim " + std::to_string(dim) + ", bits " + std::to_string(Bits);
  errors.check_unbiased(what);
  // V = D / (1 - D) up to 1 % at dim >= 128 and 2.5 % at 64; times 1 - cos^2 for every query.
  const double d = distortion<Bits>(dim), v = d / (1 - d), part = dim >= 128 ? 0.03 : 0.05;
  for (int c = 0; c < 4; ++c)
    check_within(variance(errors, c, dim), v * (1 - cosines[c] * cosines[c]), part, what);
}

}  // namespace

TEST_CASE("PolarQuant with the unbiased scale is unbiased under Haar for fixed keys, dims 64 and 80",
          "[law]") {
  check_single_stage(64, 4096);
  check_single_stage(80, 4096);
}

TEST_CASE("PolarQuant with the unbiased scale is unbiased under Haar for fixed keys, dims 128 and 192",
          "[law]") {
  check_single_stage(128, long_run() ? 4096 : 768);
  check_single_stage(192, long_run() ? 4096 : 192);
}

TEST_CASE("PolarQuant with the unbiased scale over 65,536 random pairs: unbiased, and V = D / (1 - D)",
          "[law]") {
  for (const std::size_t dim : {64u, 80u, 128u, 192u}) {
    check_frames<1>(dim);
    check_frames<2>(dim);
    check_frames<3>(dim);
    check_frames<4>(dim);
  }
}

TEST_CASE("the variances of the single stage are those of the reference table", "[law]") {
  // d E(<y,x^> - <y,x>)^2 of unit vectors at cosine 0 and .5 (200,000 trials; printed to 1 %).
  struct Row {
    std::size_t dim;
    unsigned bits;
    double zero, half;
  };
  const Row rows[] = {{64, 1, .5714, .4299},  {64, 2, .1295, .0972},  {64, 3, .0343, .0258},
                      {64, 4, .0090, .0068},  {128, 1, .5705, .4301}, {128, 2, .1310, .0984},
                      {128, 3, .0349, .0263}, {128, 4, .0093, .0070}};
  for (const Row& row : rows) {
    const int frames = 1 << 15;
    const Errors e = row.bits == 1   ? over_frames<LloydMax<1>>(row.dim, 1, frames, 7)
                     : row.bits == 2 ? over_frames<LloydMax<2>>(row.dim, 1, frames, 7)
                     : row.bits == 3 ? over_frames<LloydMax<3>>(row.dim, 1, frames, 7)
                                     : over_frames<LloydMax<4>>(row.dim, 1, frames, 7);
    const std::string what = "dim " + std::to_string(row.dim) + ", bits " + std::to_string(row.bits);
    check_within(variance(e, 0, row.dim), row.zero, 0.03, what);
    check_within(variance(e, 1, row.dim), row.half, 0.03, what);
  }
}

TEST_CASE("the trellis with 9-point search is unbiased with V below .094, .0232 and .0057", "[law]") {
  const std::size_t dim = 128;
  const Errors two = over_frames<Trellis<2>>(dim, 9, 12000, 21),
               three = over_frames<Trellis<3>>(dim, 9, 12000, 22),
               four = over_frames<Trellis<4>>(dim, 9, 12000, 23);
  two.check_unbiased("trellis 2"), three.check_unbiased("trellis 3"), four.check_unbiased("trellis 4");
  // cosine 0 alone has a standard error of 1.3 %; all four cosines see the same vector error, so they add
  // little.
  CHECK(variance(two, 0, dim) < .094);
  CHECK(variance(three, 0, dim) < .0232);
  CHECK(variance(four, 0, dim) < .0057);
}

TEST_CASE("the trellis over random pairs is unbiased at every dim", "[law]") {
  for (const std::size_t dim : {64u, 80u, 192u}) {
    over_frames<Trellis<2>>(dim, 1, 65536, 31).check_unbiased("trellis 2, dim " + std::to_string(dim));
    over_frames<Trellis<3>>(dim, 1, 65536, 32).check_unbiased("trellis 3, dim " + std::to_string(dim));
    over_frames<Trellis<4>>(dim, 1, 65536, 33).check_unbiased("trellis 4, dim " + std::to_string(dim));
  }
}

TEST_CASE("integer arithmetic keeps the estimate unbiased and adds no visible variance", "[law]") {
  const std::size_t dim = 128;
  const Errors errors = over_frames<LloydMax<4>>(dim, 1, 1 << 15, 41, Arithmetic::integer);
  errors.check_unbiased("integer query");
  check_within(variance(errors, 0, dim), .0093 * 1.0046, 0.03, "8-bit query: 0.46 % more");
}

TEST_CASE("the unit scale at 2 bits is biased, and this test can see it", "[law]") {
  const Errors errors = over_frames<LloydMax<2>, scale::Unit>(128, 1, 1 << 14, 51);
  CHECK(std::abs(errors.at[0].z(0)) < 4);  // nothing to shrink at cosine 0
  for (int c = 1; c < 4; ++c) {
    CHECK(errors.at[c].z(0) < -40);
    check_within(errors.at[c].mean(), -.116 * cosines[c], 0.02, "S = 1 shrinks by D");
  }
  const Errors norm = over_frames<LloydMax<2>, scale::NormCorrected>(128, 1, 1 << 14, 52);
  for (int c = 1; c < 4; ++c)
    check_within(norm.at[c].mean(), -(1 - std::sqrt(1 - .116)) * cosines[c], 0.03, "norm correction");
}

TEST_CASE("TurboQuant is unbiased whatever its first stage leaves over: Gaussian sketch", "[law]") {
  check_turbo_quant<Haar, Gaussian>(64, 4096, "haar, gaussian");
  check_turbo_quant<Haar, Gaussian>(80, 2048, "haar, gaussian");
  check_turbo_quant<Hadamard, Gaussian>(80, 2048, "hadamard, gaussian");
  check_turbo_quant<Hadamard, Gaussian>(128, long_run() ? 4096 : 768, "hadamard, gaussian");
  check_turbo_quant<Hadamard, Gaussian>(192, long_run() ? 4096 : 256, "hadamard, gaussian");
}

TEST_CASE("TurboQuant is unbiased whatever its first stage leaves over: orthogonal sketch", "[law]") {
  check_turbo_quant<Haar, Orthogonal>(64, 4096, "haar, orthogonal");
  check_turbo_quant<Haar, Orthogonal>(80, 4096, "haar, orthogonal");
  check_turbo_quant<Hadamard, Orthogonal>(64, 2048, "hadamard, orthogonal");
  check_turbo_quant<Haar, Orthogonal>(128, long_run() ? 4096 : 768, "haar, orthogonal");
  check_turbo_quant<Hadamard, Orthogonal>(192, long_run() ? 4096 : 192, "hadamard, orthogonal");
}

TEST_CASE("the variances of TurboQuant are those of the reference table", "[law]") {
  struct Row {
    std::size_t dim;
    double gaussian[3], orthogonal[3], half_gaussian[3], half_orthogonal[3];  // at 2, 3, 4 bits
  };
  const Row rows[] = {
      {64, {.5588, .1785, .0518}, {.2014, .0644, .0187}, {.5253, .1753, .0519}, {.1851, .0623, .0185}},
      {128, {.5653, .1806, .0531}, {.2045, .0658, .0191}, {.5326, .1772, .0530}, {.1882, .0639, .0189}}};
  for (const Row& row : rows) {
    const std::uint64_t sketches = row.dim == 64 ? 1024 : 384;
    const int frames = row.dim == 64 ? 64 : 120;  // standard error of a variance below .7 %
    const auto run = [&](auto codebook, auto make, double zero, double half, const std::string& what) {
      using C = decltype(codebook);
      using P = decltype(make(std::uint64_t{0}));
      tightkv_test::Rng rng(61);
      Errors errors;
      for (std::uint64_t seed = 0; seed < sketches; ++seed) {
        const TurboQuant<Identity, C, P> codec(
            PolarQuant<Identity, C, scale::Unit>(Identity(row.dim), codebook, {}, 1), make(seed));
        for (int n = 0; n < frames; ++n) {
          const tightkv_test::Frame f(row.dim, rng);
          errors.add(codec, f.x, f.y);
        }
      }
      check_within(variance(errors, 0, row.dim), zero, 0.03, what + " dim " + std::to_string(row.dim));
      check_within(variance(errors, 1, row.dim), half, 0.03, what + " dim " + std::to_string(row.dim));
    };
    const auto both = [&](auto codebook, std::size_t i) {
      const std::string bits = std::to_string(i + 2) + " bits";
      run(
          codebook, [&](std::uint64_t s) { return Gaussian(row.dim, row.dim, s); }, row.gaussian[i],
          row.half_gaussian[i], "gaussian " + bits);
      run(
          codebook, [&](std::uint64_t s) { return Orthogonal(row.dim, row.dim, s); }, row.orthogonal[i],
          row.half_orthogonal[i], "orthogonal " + bits);
    };
    both(LloydMax<1>(row.dim), 0), both(LloydMax<2>(row.dim), 1), both(LloydMax<3>(row.dim), 2);
  }
}
