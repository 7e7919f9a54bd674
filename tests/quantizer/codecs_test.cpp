#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "catch.hpp"
#include "support/codec.hpp"
#include "support/vectors.hpp"
#include "tightkv/codebook/lloyd_max.hpp"
#include "tightkv/codebook/trellis.hpp"
#include "tightkv/projection/gaussian.hpp"
#include "tightkv/projection/orthogonal.hpp"
#include "tightkv/quantizer/group_quant.hpp"
#include "tightkv/quantizer/q8.hpp"
#include "tightkv/quantizer/raw.hpp"
#include "tightkv/quantizer/split.hpp"
#include "tightkv/quantizer/turbo_quant.hpp"
#include "tightkv/rotation/hadamard.hpp"

using namespace tightkv;
using tightkv_test::Vector;

namespace {

/// Vectors with offset, one outlier beyond binary16, equal values, zeros.
std::vector<std::vector<float>> hard_vectors(std::size_t dim) {
  tightkv_test::Rng rng(dim);
  std::vector<std::vector<float>> all;
  for (int n = 0; n < 20; ++n) {
    Vector x = tightkv_test::scaled(rng.normals(dim), std::ldexp(1.0, n - 10));
    if (n % 3 == 1)
      for (double& v : x) v += 5;
    if (n % 5 == 2) x[3] = 1.25e5;
    all.push_back(tightkv_test::floats(x));
  }
  all.push_back(std::vector<float>(dim, 0.0f));
  all.push_back(std::vector<float>(dim, -3.25f));
  all.push_back(std::vector<float>(dim, 0.0f));
  all.back()[dim - 1] = -1e-20f;
  return all;
}

void check_group_quant(std::size_t dim, unsigned bits, std::size_t group) {
  const GroupQuant codec(dim, bits, group);
  const std::size_t width = group == 0 ? dim : group;
  for (const auto& x : hard_vectors(dim)) {
    const auto e = tightkv_test::encode(codec, x);
    const auto back = tightkv_test::decode(codec, e);
    double vector_largest = 0;  // the integers of a vector resolve 2^-19 of it at dim 576
    for (const float v : x) vector_largest = std::max(vector_largest, std::abs(double{v}));
    for (std::size_t g = 0; g * width < dim; ++g) {
      const std::size_t end = std::min(dim, (g + 1) * width);
      double low = 1e300, high = -1e300;
      for (std::size_t i = g * width; i < end; ++i)
        low = std::min(low, double{x[i]}), high = std::max(high, double{x[i]});
      const double step = (high - low) / ((1 << bits) - 1), size = std::max(std::abs(low), std::abs(high));
      // Half a step; step and minimum have 11 bits: the top code is off by (2^bits - 1) step 2^-12, the
      // minimum by its own 2^-12, and codes are chosen against both as stored, which costs only the ends of
      // the range.
      const double bound =
          step / 2 * (1 + 0x1p-10) + (high - low + size) * 0x1p-11 + vector_largest * 0x1p-19;
      for (std::size_t i = g * width; i < end; ++i)
        if (!(std::abs(double{back[i]} - double{x[i]}) <= bound))
          FAIL("dim " << dim << ", " << bits << " bits, group " << group << ": " << x[i] << " became "
                      << back[i] << ", bound " << bound);
    }
  }
}

/// score = <q, decode>, for exact arithmetic up to float rounding and for integer arithmetic up to the
/// rounding of the query (half a unit of 1/127 or 1/32385 of its largest rotated coordinate, over |levels| <=
/// 127).
template <class C>
void check_score_is_decode(const C& codec) {
  tightkv_test::Rng rng(3);
  for (int n = 0; n < 10; ++n) {
    const auto x = tightkv_test::floats(rng.normals(codec.dim())),
               q = tightkv_test::floats(rng.normals(codec.dim()));
    const auto e = tightkv_test::encode(codec, x);
    const double want = tightkv_test::dot(q, tightkv_test::decode(codec, e));
    const double size = tightkv_test::norm(q) * tightkv_test::norm(x);
    CHECK(std::abs(double{tightkv_test::score(codec, q, e)} - want) < 1e-5 * size);
    CHECK(std::abs(double{tightkv_test::score(codec, q, e, Arithmetic::integer)} - want) < 0.01 * size);
  }
}

/// accumulate + unrotate = the weighted sum of decoded vectors.
template <class C>
void check_accumulate_is_decode(const C& codec, std::size_t tokens) {
  tightkv_test::Rng rng(4);
  const RecordShape shape = codec.shape();
  std::vector<std::int8_t> levels;
  std::vector<float> scales, weights;
  std::vector<std::byte> raw;
  Vector want(codec.dim(), 0.0);
  for (std::size_t t = 0; t < tokens; ++t) {
    const auto e = tightkv_test::encode(codec, tightkv_test::floats(rng.normals(codec.dim())));
    levels.insert(levels.end(), e.levels.begin(), e.levels.end());
    scales.insert(scales.end(), e.scales.begin(), e.scales.end());
    raw.insert(raw.end(), e.record.raw.begin(), e.record.raw.end());
    weights.push_back(t % 7 == 3 ? 0.0f : static_cast<float>(rng.uniform()));
    want = tightkv_test::sum(want, tightkv_test::doubles(tightkv_test::decode(codec, e)),
                             double{weights.back()});
  }
  for (const auto arithmetic : {Arithmetic::exact, Arithmetic::integer}) {
    std::vector<float> sum(shape.dim, 0.0f);
    codec.accumulate({levels, scales, raw.data()}, weights, sum, arithmetic);
    codec.unrotate(std::span<float>(sum).first(codec.dim()));
    double miss = 0;
    for (std::size_t i = 0; i < codec.dim(); ++i) miss = std::max(miss, std::abs(double{sum[i]} - want[i]));
    CHECK(miss < 2e-4 * static_cast<double>(tokens));
  }
}

}  // namespace

TEST_CASE("GroupQuant decodes within half a step", "[quantizer]") {
  for (const std::size_t dim : {16u, 64u, 80u, 128u, 576u})
    for (const unsigned bits : {2u, 3u, 4u, 8u})
      for (const std::size_t group : {0u, 16u, 32u, 64u}) check_group_quant(dim, bits, group);
}

TEST_CASE("Q8 decodes within half a step of its group's largest value / 127", "[quantizer]") {
  for (const std::size_t dim : {16u, 64u, 80u, 128u, 576u}) {
    const Q8 codec(dim);
    for (const auto& x : hard_vectors(dim)) {
      const auto back = tightkv_test::decode(codec, tightkv_test::encode(codec, x));
      double vector_largest = 0;
      for (const float v : x) vector_largest = std::max(vector_largest, std::abs(double{v}));
      for (std::size_t i = 0; i < dim; ++i) {
        double largest = 0;
        for (std::size_t k = i / 32 * 32; k < std::min(dim, i / 32 * 32 + 32); ++k)
          largest = std::max(largest, std::abs(double{x[k]}));
        // The scale has 11 bits, so code 127 may miss the largest value by 2^-11 of it; a value is known to
        // 2^-18 of the vector's largest.
        const double bound = largest / 254 * (1 + 0x1p-10) + largest * 0x1p-11 + vector_largest * 0x1p-18;
        if (!(std::abs(double{back[i]} - double{x[i]}) <= bound)) FAIL(x[i] << " became " << back[i]);
      }
    }
  }
}

TEST_CASE("Raw keeps the rounding of its element type, and the bits where the types agree", "[quantizer]") {
  for (const std::size_t dim : {16u, 80u, 128u})
    for (const auto& x : hard_vectors(dim)) {
      const Raw f32(dim, ElementType::f32), f16(dim), bf16(dim, ElementType::bf16);
      const auto a = tightkv_test::decode(f32, tightkv_test::encode(f32, x)),
                 b = tightkv_test::decode(f16, tightkv_test::encode(f16, x)),
                 c = tightkv_test::decode(bf16, tightkv_test::encode(bf16, x));
      CHECK(a == x);
      for (std::size_t i = 0; i < dim; ++i) {
        CHECK(b[i] == to_float(to_half(x[i])));
        CHECK(c[i] == bf16_to_float(float_to_bf16(x[i])));
      }
    }
}

TEST_CASE("records have the documented bytes", "[quantizer]") {
  const PolarQuant<Hadamard, LloydMax<4>> k4(128, 1), k4_64(64, 1), k4_80(80, 1);
  const PolarQuant<Hadamard, Trellis<3>> k3(128, 1);
  const TurboQuant<Hadamard, LloydMax<3>, Gaussian> paper4(128, 1), paper4_64(64, 1);
  CHECK(k4.shape().bytes_per_vector() == 66);
  CHECK(k4_64.shape().bytes_per_vector() == 34);
  CHECK(k4_80.shape().bytes_per_vector() == 42);
  CHECK(k3.shape().bytes_per_vector() == 50);
  CHECK(paper4.shape().bytes_per_vector() == 68);
  CHECK(paper4_64.shape().bytes_per_vector() == 36);
  CHECK(QJL<Orthogonal>(128, 1).shape().bytes_per_vector() == 18);
  CHECK(QJL<Orthogonal>(128, 1, 256).shape().bytes_per_vector() == 34);
  CHECK(GroupQuant(128, 4, 32).shape().bytes_per_vector() == 64 + 4 * 4);
  CHECK(GroupQuant(128, 4, 0).shape().bytes_per_vector() == 68);
  CHECK(Q8(128).shape().bytes_per_vector() == 136);
  CHECK(Raw(128).shape().bytes_per_vector() == 256);
  const Split<PolarQuant<Hadamard, LloydMax<4>>> mla({512, 1}, Raw(64));
  CHECK(mla.dim() == 576);
  CHECK(mla.shape().bytes_per_vector() == 256 + 2 + 128);
  CHECK(paper4.format().bits == 4);
  CHECK(paper4.format().kind == CodecKind::turbo_quant);
  CHECK(k4.format().codebook == CodebookKind::lloyd_max);
  CHECK(k4.hash() == PolarQuant<Hadamard, LloydMax<4>>(128, 1).hash());
  CHECK(k4.hash() != PolarQuant<Hadamard, LloydMax<4>>(128, 2).hash());
}

TEST_CASE("a score is the inner product with the decoded vector", "[quantizer]") {
  for (const std::size_t dim : {64u, 80u}) {
    check_score_is_decode(PolarQuant<Hadamard, LloydMax<4>>(dim, 1));
    check_score_is_decode(PolarQuant<Hadamard, LloydMax<8>>(dim, 1));
    check_score_is_decode(PolarQuant<Hadamard, Trellis<3>>(dim, 1, 9));
    check_score_is_decode(TurboQuant<Hadamard, LloydMax<3>, Orthogonal>(dim, 1));
    check_score_is_decode(QJL<Orthogonal>(dim, 1));
    check_score_is_decode(GroupQuant(dim, 4, 32));
    check_score_is_decode(GroupQuant(dim, 8, 0));
    check_score_is_decode(Q8(dim));
    check_score_is_decode(Raw(dim));
    check_score_is_decode(Split<PolarQuant<Hadamard, LloydMax<4>>>({dim, 1}, Raw(16)));
  }
}

TEST_CASE("the weighted sum is that of the decoded vectors", "[quantizer]") {
  for (const std::size_t dim : {64u, 80u})
    for (const std::size_t tokens : {1u, 7u, 64u}) {
      check_accumulate_is_decode(PolarQuant<Hadamard, LloydMax<4>, scale::MinMse>(dim, 1), tokens);
      check_accumulate_is_decode(PolarQuant<Hadamard, Trellis<3>>(dim, 1), tokens);
      check_accumulate_is_decode(GroupQuant(dim, 4, 32), tokens);
      check_accumulate_is_decode(GroupQuant(dim, 8, 0), tokens);
      check_accumulate_is_decode(Q8(dim), tokens);
      check_accumulate_is_decode(Raw(dim), tokens);
    }
}

TEST_CASE("TurboQuant's sketch is alive and linear in the residual norm", "[quantizer]") {
  const TurboQuant<Hadamard, LloydMax<2>, Orthogonal> codec(64, 5);
  tightkv_test::Rng rng(6);
  const auto k = tightkv_test::floats(rng.normals(64)), q = tightkv_test::floats(rng.normals(64));
  auto e = tightkv_test::encode(codec, k);
  const float with = tightkv_test::score(codec, q, e), norm = e.scales[1];
  e.scales[1] = 0;
  const float without = tightkv_test::score(codec, q, e);
  e.scales[1] = 2 * norm;
  const float twice = tightkv_test::score(codec, q, e);
  CHECK(with != without);
  CHECK(std::abs((twice - without) - 2 * (with - without)) < 1e-5f);
  // The stored norm is that of what the first stage left over.
  const auto first = tightkv_test::decode(codec.polar(), tightkv_test::encode(codec.polar(), k));
  const double residual =
      tightkv_test::norm(tightkv_test::sum(tightkv_test::doubles(k), tightkv_test::doubles(first), -1));
  CHECK(std::abs(double{norm} / residual - 1) < 0x1p-11);
}
