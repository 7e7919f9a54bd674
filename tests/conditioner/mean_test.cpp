#include <tightkv/conditioner/mean.hpp>

#include <cmath>
#include <limits>
#include <vector>

#include "catch.hpp"
#include "support/vectors.hpp"

using namespace tightkv;
using tightkv_test::Rng;

namespace {

struct Rows {
  std::vector<float> data;
  std::size_t dim;
  RowsView view() const {
    return {reinterpret_cast<const std::byte*>(data.data()), data.size() / dim, dim, 4 * dim,
            ElementType::f32};
  }
  double at(std::size_t t, std::size_t i) const { return static_cast<double>(data[t * dim + i]); }
};

double stored(const HalfVector& mean, std::size_t i) {
  return std::ldexp(static_cast<double>(to_float(mean.values[i])), mean.exponent);
}

/// Each channel against the mean in double. Tolerance: 11 bits of the mean (2^-11 relative); below 2^-14 of
/// the block's unit a half is subnormal, in steps of 2^-24 (the largest mean is at least 2^15 units, so half
/// a step is at most 2^-40 of it); and the integers hold 28 bits of the largest element: half a unit for each
/// summand, one for the division by the count.
void check_mean(const Rows& rows) {
  const HalfVector mean = mean_of_rows(rows.view());
  REQUIRE(mean.values.size() == rows.dim);
  double largest = 0, largest_mean = 0;
  std::vector<double> exact(rows.dim);
  const std::size_t n = rows.data.size() / rows.dim;
  for (std::size_t i = 0; i < rows.dim; ++i) {
    for (std::size_t t = 0; t < n; ++t) {
      exact[i] += rows.at(t, i) / static_cast<double>(n);
      largest = std::max(largest, std::abs(rows.at(t, i)));
    }
    largest_mean = std::max(largest_mean, std::abs(exact[i]));
  }
  for (std::size_t i = 0; i < rows.dim; ++i) {
    const double integers = 2 * largest * 0x1p-28;
    const double bound =
        0x1p-11 * (std::abs(exact[i]) + integers) + 0x1p-40 * (largest_mean + integers) + integers;
    CAPTURE(i, exact[i], stored(mean, i));
    CHECK(std::abs(stored(mean, i) - exact[i]) <= bound);
  }
}

}  // namespace

TEST_CASE("the mean of rows is the mean in double, to 11 bits", "[conditioner]") {
  Rng rng(11);
  for (const double size : {1e-42, 1e-30, 1e-3, 1.0, 900.0, 1e9, 5e36}) {
    Rows rows{std::vector<float>(64 * 24), 24};
    for (std::size_t k = 0; k < rows.data.size(); ++k) {
      const std::size_t i = k % 24;
      const double offset = i % 3 == 0 ? 5 : i % 3 == 1 ? -0.1 : 0;  // large, small and no mean
      rows.data[k] = static_cast<float>(size * (offset + rng.normal()));
    }
    CAPTURE(size);
    check_mean(rows);
  }
}

TEST_CASE("the mean of constant rows is exact where 11 bits hold it", "[conditioner]") {
  Rows rows{{}, 8};
  const float constant[8] = {0, 1, -1, 1023.5f, -0.125f, 1536, 0x1p-12f, -2047};
  for (int t = 0; t < 64; ++t) rows.data.insert(rows.data.end(), constant, constant + 8);
  const HalfVector mean = mean_of_rows(rows.view());
  for (std::size_t i = 0; i < 8; ++i) CHECK(mean.at(i) == constant[i]);
}

TEST_CASE("the mean of one row, of zeros and of cancelling rows", "[conditioner]") {
  const Rows one{{1.5f, -2, 0}, 3};
  CHECK(mean_of_rows(one.view()).at(1) == -2.0f);
  const Rows zeros{std::vector<float>(64 * 4, -0.0f), 4};
  for (std::size_t i = 0; i < 4; ++i) CHECK(mean_of_rows(zeros.view()).at(i) == 0.0f);
  const Rows cancelling{{3e38f, 1, -3e38f, 1}, 2};
  const HalfVector mean = mean_of_rows(cancelling.view());
  CHECK(mean.at(0) == 0.0f);
  check_mean(cancelling);
}

TEST_CASE("half rows, strided rows and a part of the dims give the same mean", "[conditioner]") {
  Rng rng(12);
  const std::size_t dim = 10;
  std::vector<std::uint16_t> halves, brains;
  Rows as_half{{}, dim}, as_brain{{}, dim};
  for (std::size_t k = 0; k < 64 * dim; ++k) {
    const auto x = static_cast<float>(100 + rng.normal());
    halves.push_back(to_half(x).bits), as_half.data.push_back(to_float(Half{halves.back()}));
    brains.push_back(float_to_bf16(x)), as_brain.data.push_back(bf16_to_float(brains.back()));
  }
  const auto check = [&](const std::vector<std::uint16_t>& data, ElementType type, const Rows& same) {
    RowsView view{reinterpret_cast<const std::byte*>(data.data()), 64, dim, 2 * dim, type};
    const HalfVector whole = mean_of_rows(view), expected = mean_of_rows(same.view());
    for (std::size_t i = 0; i < dim; ++i) CHECK(whole.at(i) == expected.at(i));
    view.dim = 4;
    const HalfVector part = mean_of_rows(view);
    REQUIRE(part.values.size() == 4);
    for (std::size_t i = 0; i < 4; ++i) CHECK(part.at(i) == expected.at(i));
  };
  check(halves, ElementType::f16, as_half);
  check(brains, ElementType::bf16, as_brain);
}
