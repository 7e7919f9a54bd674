#include <tightkv/conditioner/condition.hpp>

#include <cmath>
#include <limits>
#include <vector>

#include "catch.hpp"
#include "support/npy.hpp"
#include "support/vectors.hpp"

using namespace tightkv;
using tightkv_test::Rng;

namespace {

/// Checks condition_row on one row against (row - mean) * scale in double.
///
/// Bound: row and mean are rounded to 28 bits of the larger (half a unit each), the product is exact, and one
/// rounding brings the result to headroom_bits: at most half a unit of that. Where no scale and no mean is in
/// use and nothing is rounded away, the second rounding is the only one.
void check_row(const std::byte* row, ElementType type, std::size_t dim, const Condition& condition) {
  std::vector<std::int32_t> x(dim);
  const int unit = condition_row(row, type, condition, x);
  double largest = 0;
  std::vector<double> exact(dim), factor(dim, 1.0);
  for (std::size_t i = 0; i < dim; ++i) {
    exact[i] = static_cast<double>(detail::load_element(row, type, i));
    largest = std::max(largest, std::abs(exact[i]));
    if (i < condition.mean.values.size()) {
      const double mean =
          std::ldexp(static_cast<double>(to_float(condition.mean.values[i])), condition.mean.exponent);
      largest = std::max(largest, std::abs(mean));
      exact[i] -= mean;
    }
    if (i < condition.channel_scale.size())
      factor[i] = static_cast<double>(to_float(condition.channel_scale[i]));
    exact[i] *= factor[i];
  }
  const int head = detail::headroom_bits(dim);
  std::int32_t biggest = 0;
  double norm2 = 0;
  for (std::size_t i = 0; i < dim; ++i) {
    const double bound = factor[i] * largest * 0x1p-27 + std::ldexp(0.5, unit) * (1 + 1e-9);
    CAPTURE(i, x[i], unit, exact[i]);
    CHECK(std::abs(std::ldexp(static_cast<double>(x[i]), unit) - exact[i]) <= bound);
    biggest = std::max(biggest, std::abs(x[i]));
    norm2 += static_cast<double>(x[i]) * static_cast<double>(x[i]);
  }
  // The largest has all the bits that rotations leave room for, and never more (+1: it may round up).
  CHECK(biggest <= std::int32_t{1} << head);
  CHECK((biggest == 0 || biggest >= std::int32_t{1} << (head - 1)));
  CHECK(norm2 <= 0x1p50 * (1 + 1e-6));
}

void check_values(const std::vector<double>& values, const Condition& condition) {
  std::vector<float> f32(values.begin(), values.end());
  std::vector<std::uint16_t> f16, bf16;
  for (const float v : f32) bf16.push_back(float_to_bf16(v)), f16.push_back(to_half(v).bits);
  check_row(reinterpret_cast<const std::byte*>(f32.data()), ElementType::f32, f32.size(), condition);
  check_row(reinterpret_cast<const std::byte*>(bf16.data()), ElementType::bf16, f32.size(), condition);
  for (const std::uint16_t h : f16)
    if ((h & 0x7c00) == 0x7c00) return;  // does not fit f16
  check_row(reinterpret_cast<const std::byte*>(f16.data()), ElementType::f16, f32.size(), condition);
}

Condition random_condition(std::size_t dim, double size, bool scales, Rng& rng) {
  Condition c;
  std::vector<float> rows;
  for (std::size_t i = 0; i < dim; ++i) rows.push_back(static_cast<float>(size * rng.normal()));
  c.mean = mean_of_rows({reinterpret_cast<const std::byte*>(rows.data()), 1, dim, 4 * dim, ElementType::f32});
  if (scales)
    for (std::size_t i = 0; i < dim; ++i)
      c.channel_scale.push_back(to_half(i == 0   ? 8.0f
                                        : i == 1 ? 0.125f
                                                 : static_cast<float>(std::exp2(6 * rng.uniform() - 3))));
  return c;
}

}  // namespace

TEST_CASE("a row becomes the integers of (row - mean) * scale in every element type", "[conditioner]") {
  Rng rng(21);
  for (const std::size_t dim : {2u, 16u, 80u, 128u, 576u, 1024u})
    for (const double size : {1e-44, 1e-38, 1e-20, 1e-6, 1.0, 300.0, 6e4, 1e20, 1e38}) {
      CAPTURE(dim, size);
      std::vector<double> row = rng.normals(dim);
      for (double& v : row) v = std::clamp(v, -3.0, 3.0) * size;
      check_values(row, {});
      check_values(row, random_condition(dim, size / 10, false, rng));
      check_values(row, random_condition(dim, size / 10, true, rng));
      check_values(row, random_condition(dim, size < 1e37 ? 20 * size : size, true, rng));
    }
}

TEST_CASE("rows of one loud element, of equal elements, of the ends of the range", "[conditioner]") {
  const double top = static_cast<double>(std::numeric_limits<float>::max());
  for (const double value : {1e-45, 1.17549435e-38, 1.0, 65504.0, top}) {
    CAPTURE(value);
    std::vector<double> one(128, 0.0);
    one[77] = -value;
    check_values(one, {});
    check_values(std::vector<double>(128, value), {});
    one[3] = 1e-45;  // far below the unit of the loud one
    check_values(one, {});
  }
}

TEST_CASE("zeros of either sign become zeros, and a row equal to the mean too", "[conditioner]") {
  std::vector<std::int32_t> x(16, 99);
  const std::vector<float> zeros(16, 0.0f), minus(16, -0.0f), ones(16, 1.0f);
  const auto bytes_of = [](const std::vector<float>& v) {
    return reinterpret_cast<const std::byte*>(v.data());
  };
  CHECK(condition_row(bytes_of(zeros), ElementType::f32, {}, x) == 0);
  CHECK(x == std::vector<std::int32_t>(16, 0));
  condition_row(bytes_of(minus), ElementType::f32, {}, x);
  CHECK(x == std::vector<std::int32_t>(16, 0));
  Condition mean;
  mean.mean.values.assign(16, to_half(1.0f));
  x.assign(16, 99);
  condition_row(bytes_of(ones), ElementType::f32, mean, x);
  CHECK(x == std::vector<std::int32_t>(16, 0));
}

TEST_CASE("a mean of part of the dims leaves the others as they are", "[conditioner]") {
  Rng rng(22);
  Condition condition = random_condition(12, 3, true, rng);
  check_values(rng.normals(20), condition);
}

TEST_CASE("real keys that are a constant plus a little keep the little", "[conditioner]") {
  const auto keys = tightkv_test::test_data("layer00_k");
  const RowsView rows{reinterpret_cast<const std::byte*>(keys.halves.data() + 4 * 128), 64, 128, 256,
                      ElementType::f16};
  Condition condition;
  condition.mean = mean_of_rows(rows);
  for (std::size_t t = 0; t < 64; t += 7) check_row(rows.row(t), ElementType::f16, 128, condition);
  // The same from rows of 2^-120 of their size, mean included.
  std::vector<double> tiny;
  for (std::size_t i = 0; i < 128; ++i) tiny.push_back(static_cast<double>(keys.row(70)[i]) * 0x1p-120);
  condition.mean.exponent -= 120;
  check_values(tiny, condition);
}

TEST_CASE("queries are divided by the channel scale, so that scores keep their meaning", "[conditioner]") {
  Rng rng(23);
  const Condition condition = random_condition(8, 1, true, rng);
  const std::vector<float> q = tightkv_test::floats(rng.normals(10));
  std::vector<float> out(10);
  condition_query(q, condition, out);
  for (std::size_t i = 0; i < 8; ++i) CHECK(out[i] == q[i] / to_float(condition.channel_scale[i]));
  CHECK(out[8] == q[8]);
  CHECK(out[9] == q[9]);
  double exact = 0, magnitude = 0;
  for (std::size_t i = 0; i < 8; ++i) {
    const double term = static_cast<double>(q[i]) * static_cast<double>(condition.mean.at(i));
    exact += term, magnitude += std::abs(term);
  }
  CHECK(std::abs(static_cast<double>(mean_score(q, condition.mean)) - exact) <= 9 * 0x1p-24 * magnitude);
}
