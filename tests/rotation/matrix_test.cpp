#include <tightkv/rotation/matrix.hpp>

#include <vector>

#include "catch.hpp"
#include "support/codec.hpp"
#include "support/vectors.hpp"
#include "tightkv/codebook/lloyd_max.hpp"
#include "tightkv/quantizer/polar_quant.hpp"
#include "tightkv/rotation/haar.hpp"

using namespace tightkv;

namespace {

constexpr std::int32_t one = 1 << Matrix::grid;

std::vector<std::int32_t> identity(std::size_t dim) {
  std::vector<std::int32_t> values(dim * dim, 0);
  for (std::size_t i = 0; i < dim; ++i) values[i * dim + i] = one;
  return values;
}

}  // namespace

TEST_CASE("a loaded matrix is applied as rows times vector", "[rotation]") {
  Matrix m;
  REQUIRE(Matrix::try_make(2, std::vector<std::int32_t>{0, -one, one, 0}, m).ok());  // a quarter turn
  std::vector<float> x = {3, 5};
  m.forward(std::span<float>(x));
  CHECK(x == std::vector<float>{-5, 3});
  m.inverse(std::span<float>(x));
  CHECK(x == std::vector<float>{3, 5});
  std::vector<std::int32_t> i = {3, 5};
  m.forward(std::span<std::int32_t>(i));
  CHECK(i == std::vector<std::int32_t>{-5, 3});
}

TEST_CASE("a matrix that is not orthogonal, or of the wrong size, is refused with the numbers",
          "[rotation]") {
  Matrix m;
  REQUIRE(Matrix::try_make(4, identity(4), m).ok());
  const std::uint64_t hash = m.hash();
  const auto refused = [&](std::size_t dim, std::vector<std::int32_t> values, const std::string& words) {
    const Status status = Matrix::try_make(dim, std::move(values), m);
    CHECK(status.code() == ErrorCode::invalid_argument);
    CHECK(status.message().find(words) != std::string::npos);
    CHECK(m.hash() == hash);  // left as it was
    CHECK(m.dim() == 4);
  };
  refused(4, identity(3), "matrix has 9 values; dim 4 needs 16");
  refused(0, {}, "dim at most 1024");
  refused(1025, {}, "dim at most 1024");
  auto bent = identity(4);
  bent[1] = one / 1000;
  refused(4, bent, "rows 1 and 0 miss by");
  auto stretched = identity(4);
  stretched[5] = one + one / 1000;
  refused(4, stretched, "outside [-1, 1]");
  auto shrunk = identity(4);
  shrunk[5] = one - one / 1000;
  refused(4, shrunk, "rows 1 and 1 miss by");
  refused(4, std::vector<std::int32_t>(16, 0), "not orthogonal");
  refused(4, std::vector<std::int32_t>(16, std::numeric_limits<std::int32_t>::min()), "outside [-1, 1]");
  auto almost = identity(4);
  almost[1] = one / 200000;  // 5e-6: within the limit of 1e-5
  CHECK(Matrix::try_make(4, almost, m).ok());
}

TEST_CASE("every Haar matrix passes as a loaded one, with the same hash", "[rotation]") {
  for (const std::size_t dim : {2u, 16u, 80u, 128u, 256u}) {
    const Haar haar(dim, 3);
    Matrix m;
    CHECK(Matrix::try_make(dim, std::vector<std::int32_t>{haar.values().begin(), haar.values().end()}, m)
              .message() == "");
    CHECK(m.hash() == haar.hash());
  }
}

TEST_CASE("nothing in a score depends on handedness", "[rotation]") {
  const std::size_t dim = 64;
  const Haar haar(dim, 11);
  std::vector<std::int32_t> mirrored(haar.values().begin(), haar.values().end());
  for (std::size_t i = 0; i < dim; ++i) mirrored[5 * dim + i] = -mirrored[5 * dim + i];
  Matrix mirror;
  REQUIRE(Matrix::try_make(dim, mirrored, mirror).ok());
  const PolarQuant<Haar, LloydMax<3>> plain(haar, LloydMax<3>(dim), {}, 1);
  const PolarQuant<Matrix, LloydMax<3>> other(mirror, LloydMax<3>(dim), {}, 1);
  tightkv_test::Rng rng(6);
  for (int n = 0; n < 200; ++n) {
    const auto q = tightkv_test::floats(rng.normals(dim)), k = tightkv_test::floats(rng.normals(dim));
    const float a = tightkv_test::score(plain, q, tightkv_test::encode(plain, k));
    const float b = tightkv_test::score(other, q, tightkv_test::encode(other, k));
    // The same sum with one product negated twice; rounding of integers at ties goes up, so one unit of 2^-25
    // |x| may differ, far below float rounding of the sum.
    CHECK(std::abs(a - b) <= 64 * 0x1p-24 * tightkv_test::norm(q) * tightkv_test::norm(k));
  }
}
