#include <tightkv/rotation/any.hpp>

#include <cmath>
#include <string>
#include <vector>

#include "catch.hpp"
#include "support/codec.hpp"
#include "support/matrices.hpp"

using namespace tightkv;
using tightkv_test::Rng;
using tightkv_test::Vector;

namespace {

// Head dims of real models and the corner cases: 2 is the smallest, 30 = 2 * 15 and 10 have an odd factor.
const std::size_t listed_dims[] = {2, 4, 6, 8, 10, 16, 30, 64, 80, 96, 112, 128, 192, 256, 512, 576};

struct Shape {
  double log2_width = 0, odd = 1;  // dim = 2^log2_width * odd
};
Shape shape_of(std::size_t dim) {
  Shape s;
  for (; dim % 2 == 0; dim /= 2) ++s.log2_width;
  s.odd = static_cast<double>(dim);
  return s;
}

/// |forward(integers) - exact| for |x| = 2^25. Matrix: one rounding a value. Hadamard: four roundings a value
/// (shift, DCT, twice), each of at most half a unit and carried on by maps of norm 1; and the DCT's
/// constants, two grid steps of 2^-30 off at most, make odd 2^-29 |x| a round.
double integer_bound(RotationKind kind, std::size_t dim) {
  const double root = std::sqrt(static_cast<double>(dim));
  if (kind != RotationKind::hadamard) return 0.5 * root;
  return 4 * 0.5 * root + 2 * shape_of(dim).odd * 0x1p-29 * 0x1p25;
}

/// |forward(floats) - exact| / |x| with eps = 2^-24. Matrix: a dot product of n terms is off by at most
/// (n + 2) eps sum |R_ik x_k| <= (n + 2) eps |x| a value. Hadamard: a round has log2_width additions, one
/// factor (itself one rounding off) and a dot product of `odd` terms with rounded constants.
double float_bound(RotationKind kind, std::size_t dim) {
  const double eps = 0x1p-24, n = static_cast<double>(dim);
  if (kind == RotationKind::identity) return eps;
  if (kind != RotationKind::hadamard) return (n + 2) * std::sqrt(n) * eps;
  const Shape s = shape_of(dim);
  return 2 * (s.log2_width + 2 + (s.odd > 1 ? (s.odd + 3) * std::sqrt(s.odd) : 0)) * eps;
}

/// Everything that a rotation promises about single vectors.
template <class R>
void check_vectors(const R& rotation, RotationKind kind) {
  const std::size_t dim = rotation.dim();
  Rng rng(dim);
  std::vector<Vector> inputs = {tightkv_test::fixed_input("one-hot", dim), Vector(dim, 1.0), rng.normals(dim),
                                rng.normals(dim)};
  for (const Vector& input : inputs) {
    std::vector<std::int32_t> integers;
    for (const double v : tightkv_test::scaled(tightkv_test::unit(input), 0x1p25 - 1024))
      integers.push_back(static_cast<std::int32_t>(std::lround(v)));
    std::vector<float> x(integers.begin(), integers.end()), y = x;
    const double length = tightkv_test::norm(x);
    rotation.forward(std::span<std::int32_t>(integers));
    rotation.forward(std::span<float>(y));
    double miss2 = 0;
    for (std::size_t i = 0; i < dim; ++i) miss2 += std::pow(integers[i] - double{y[i]}, 2);
    // The input as float is one rounding off as well.
    if (std::sqrt(miss2) > integer_bound(kind, dim) + (float_bound(kind, dim) + 0x1p-24) * length)
      FAIL("integer and float forward differ by " << std::sqrt(miss2) << " at dim " << dim);
    if (std::abs(tightkv_test::norm(y) / length - 1) > 2e-6) FAIL("norm not kept at dim " << dim);
    if (std::abs(tightkv_test::norm(integers) / length - 1) > 2e-6) FAIL("norm not kept at dim " << dim);
    rotation.inverse(std::span<float>(y));
    double back2 = 0;
    for (std::size_t i = 0; i < dim; ++i) back2 += std::pow(double{y[i]} - double{x[i]}, 2);
    // Matrix: its 2^-24 grid makes R^T R = I only to dim 2^-24.
    if (std::sqrt(back2) > (2 * float_bound(kind, dim) + static_cast<double>(dim) * 0x1p-24) * length)
      FAIL("inverse(forward(x)) misses x by " << std::sqrt(back2) << " of " << length << " at dim " << dim);
  }
}

template <class R>
std::vector<std::vector<float>> images(std::size_t dim, const std::vector<float>& x) {
  std::vector<std::vector<float>> all;
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    all.push_back(x);
    R(dim, seed).forward(std::span<float>(all.back()));
  }
  return all;
}

}  // namespace

TEST_CASE("Hadamard keeps its promises at every even dim up to 576", "[rotation]") {
  for (std::size_t dim = 2; dim <= 576; dim += 2) check_vectors(Hadamard(dim, 42), RotationKind::hadamard);
  check_vectors(Hadamard(max_head_dim, 42), RotationKind::hadamard);
}

TEST_CASE("Haar and Identity keep their promises at the listed dims", "[rotation]") {
  for (const std::size_t dim : listed_dims) {
    check_vectors(Haar(dim, 42), RotationKind::haar);
    check_vectors(Identity(dim), RotationKind::identity);
  }
}

TEST_CASE("R^T R = I within 1e-5", "[rotation]") {
  for (const std::size_t dim : listed_dims) {
    CAPTURE(dim);
    const std::size_t step = dim > 128 ? dim / 8 : 1;
    CHECK(tightkv_test::orthogonality_error(Haar(dim, 7), step) < 1e-5);
    CHECK(tightkv_test::orthogonality_error(Hadamard(dim, 7), step) < 1e-5);
  }
  for (std::size_t dim = 2; dim <= 160; dim += 2)
    if (tightkv_test::orthogonality_error(Hadamard(dim, 7), 1 + dim / 8) > 1e-5) FAIL(dim);
}

TEST_CASE("seed 0 is a seed like others: e_0 and the all-ones vector go to four different places",
          "[rotation]") {
  for (const std::size_t dim : {32u, 64u, 80u, 128u}) {
    std::vector<float> one_hot(dim, 0.0f), ones(dim, 1.0f);
    one_hot[0] = 1;
    for (const auto& x : {one_hot, ones}) {
      for (const auto& all : {images<Haar>(dim, x), images<Hadamard>(dim, x)}) {
        for (std::size_t a = 0; a < 4; ++a) {
          for (std::size_t b = 0; b < a; ++b) CHECK(all[a] != all[b]);
          // Not the plain transform: two rounds without signs are the identity (up to order, at odd factors).
          std::size_t zeros = 0;
          for (const float v : all[a]) zeros += std::abs(v) < 1e-6f;
          CHECK(zeros < dim * 3 / 4);
        }
      }
    }
  }
}

TEST_CASE("seeds, dims and kinds have hashes of their own", "[rotation]") {
  std::vector<std::uint64_t> hashes;
  for (const std::size_t dim : {8u, 64u, 80u})
    for (std::uint64_t seed = 0; seed < 8; ++seed)
      hashes.push_back(Haar(dim, seed).hash()), hashes.push_back(Hadamard(dim, seed).hash());
  for (const std::size_t dim : {8u, 64u, 80u}) hashes.push_back(Identity(dim).hash());
  for (std::size_t a = 0; a < hashes.size(); ++a)
    for (std::size_t b = 0; b < a; ++b)
      if (hashes[a] == hashes[b]) FAIL("equal hashes " << a << " and " << b);
  CHECK(Haar(64, 3).hash() == Haar(64, 3).hash());
  CHECK(Hadamard(64, 3).hash() == Hadamard(64, 3).hash());
  CHECK(Hadamard(64, 3).hash() != Hadamard(64, 3, RandomStream::srht_sketch).hash());
}

TEST_CASE("the matrices of a seed are fixed for ever", "[rotation][golden]") {
  // They decide the bytes of caches that exist: if this goes red, the written format has changed.
  CHECK(Haar(80, 42).hash() == 0x22a131034009c743u);
  CHECK(Haar(128, 42).hash() == 0x3e02c7086a38c1d4u);
  CHECK(Hadamard(80, 42).hash() == 0x6bb93cc577c30c1fu);
  CHECK(Hadamard(128, 42).hash() == 0x030b0d35b24ec4a4u);
}

TEST_CASE("the image of an integer vector is fixed for ever", "[rotation][golden]") {
  const auto image_hash = [](const auto& rotation) {
    std::vector<std::int32_t> x;
    for (std::size_t i = 0; i < rotation.dim(); ++i)
      x.push_back(static_cast<std::int32_t>(i * i * 37 % 20011) - 10000 + (i == 3 ? 1000000 : 0));
    rotation.forward(std::span<std::int32_t>(x));
    bytes::Hash hash;
    for (const std::int32_t v : x) hash.add(v);
    return hash.value();
  };
  CHECK(image_hash(Haar(80, 42)) == 0x269a3a09b2f52adcu);
  CHECK(image_hash(Haar(128, 42)) == 0xc0f7de11e94d5738u);
  CHECK(image_hash(Hadamard(80, 42)) == 0xf0a6763eb551d957u);
  CHECK(image_hash(Hadamard(128, 42)) == 0xd55acaff422e5ba0u);
  CHECK(image_hash(Hadamard(576, 42)) == 0xfd96d0f1d4f19e13u);
}

TEST_CASE("a rotation chosen at run time is the one it holds", "[rotation]") {
  Rng rng(5);
  const std::vector<float> x = tightkv_test::floats(rng.normals(80));
  AnyRotation any = Identity(2);
  const auto same = [&](const auto& typed) {
    std::vector<float> a = x, b = x;
    any.forward(std::span<float>(a)), typed.forward(std::span<float>(b));
    CHECK(a == b);
    any.inverse(std::span<float>(a)), typed.inverse(std::span<float>(b));
    CHECK(a == b);
    tightkv_test::Input i(x), j(x);
    any.forward(i.get().x), typed.forward(j.get().x);
    CHECK(i.integers() == j.integers());
    CHECK(any.hash() == typed.hash());
    CHECK(any.dim() == 80);
  };
  REQUIRE(AnyRotation::try_make(RotationKind::haar, 80, 9, any).ok());
  CHECK(any.which() == RotationKind::haar);
  same(Haar(80, 9));
  REQUIRE(AnyRotation::try_make(RotationKind::hadamard, 80, 9, any).ok());
  CHECK(any.which() == RotationKind::hadamard);
  same(Hadamard(80, 9));
  REQUIRE(AnyRotation::try_make(RotationKind::identity, 80, 9, any).ok());
  same(Identity(80));
  CHECK(AnyRotation::try_make(RotationKind::matrix, 80, 9, any).code() == ErrorCode::unsupported);
  CHECK(any.which() == RotationKind::identity);
}
