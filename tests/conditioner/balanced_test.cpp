#include <tightkv/conditioner/balanced.hpp>

#include <cmath>
#include <vector>

#include "catch.hpp"
#include "support/vectors.hpp"

using namespace tightkv;
using tightkv_test::Rng;

namespace {

/// Rows with a power of its own in every channel, alternating in sign: the channel's mean square is exact.
struct Rows {
  std::vector<float> data;
  std::size_t dim;
  Rows(const std::vector<double>& amplitude, std::size_t count, double offset = 0) : dim(amplitude.size()) {
    for (std::size_t t = 0; t < count; ++t)
      for (const double a : amplitude) data.push_back(static_cast<float>(offset + (t % 2 ? a : -a)));
  }
  RowsView view() const {
    return {reinterpret_cast<const std::byte*>(data.data()), data.size() / dim, dim, 4 * dim,
            ElementType::f32};
  }
};

HalfVector no_mean(std::size_t dim) { return {Buffer<Half>(dim), 0}; }

/// The definition in double: (Q / K)^(1/4), K and Q mean squares plus 3 % of their average over channels,
/// divided by the geometric mean, clamped.
std::vector<double> expected_scale(const std::vector<double>& k, const std::vector<double>& q) {
  const auto powers = [](const std::vector<double>& amplitude) {
    double all = 0;
    for (const double a : amplitude) all += a * a / static_cast<double>(amplitude.size());
    std::vector<double> p;
    for (const double a : amplitude) p.push_back(a * a + 0.03 * all);
    return p;
  };
  const std::vector<double> kp = powers(k), qp = q.empty() ? std::vector<double>(k.size(), 1.0) : powers(q);
  std::vector<double> log_scale;
  double average = 0;
  for (std::size_t i = 0; i < k.size(); ++i) {
    log_scale.push_back(std::log2(qp[i] / kp[i]) / 4);
    average += log_scale[i] / static_cast<double>(k.size());
  }
  for (double& l : log_scale) l = std::clamp(std::exp2(l - average), 0.125, 8.0);
  return log_scale;
}

/// A half below the target: relative error in [-2^-10, 0], and 2^-12 for the integer powers and logarithms.
void check_scale(const std::vector<double>& k, const std::vector<double>& q) {
  const Rows keys(k, 64), queries(q.empty() ? std::vector<double>(k.size(), 1.0) : q, 128);
  RowsView query_view = queries.view();
  if (q.empty()) query_view.count = 0;
  const Buffer<Half> scale = balanced_scale(keys.view(), no_mean(k.size()), query_view);
  const std::vector<double> expected = expected_scale(k, q);
  REQUIRE(scale.size() == k.size());
  for (std::size_t i = 0; i < k.size(); ++i) {
    const double ratio = static_cast<double>(to_float(scale[i])) / expected[i];
    CAPTURE(i, to_float(scale[i]), expected[i]);
    CHECK(ratio <= 1 + 0x1p-12);
    CHECK(ratio >= 1 - 0x1p-10 - 0x1p-12);
  }
}

}  // namespace

TEST_CASE("equal channels get scale 1", "[conditioner]") {
  const std::vector<double> flat(16, 3.0);
  const Rows keys(flat, 64), queries(std::vector<double>(16, 0.01), 64);
  for (const Half h : balanced_scale(keys.view(), no_mean(16), queries.view())) CHECK(to_float(h) == 1.0f);
}

TEST_CASE("a loud channel of keys is coded quieter, a loud channel of queries finer", "[conditioner]") {
  std::vector<double> k(16, 1.0), q(16, 1.0);
  k[3] = 10;
  check_scale(k, q);
  q[7] = 10;
  check_scale(k, q);
  const Rows keys(k, 64), queries(q, 64);
  const auto scale = balanced_scale(keys.view(), no_mean(16), queries.view());
  CHECK(to_float(scale[3]) < 0.7f);
  CHECK(to_float(scale[7]) > 1.4f);
}

TEST_CASE("without queries the scale is 1 / sqrt(rms) of the keys", "[conditioner]") {
  check_scale({1, 2, 4, 1, 1, 3, 1, 0.5}, {});
}

TEST_CASE("a silent channel does not get all the range", "[conditioner]") {
  std::vector<double> k(16, 1.0);
  k[5] = 0;
  check_scale(k, {});
  const auto scale = balanced_scale(Rows(k, 64).view(), no_mean(16), {});
  CHECK(to_float(scale[5]) < 2.5f);  // the floor of 3 %: (1.03 / 0.03)^(1/4) = 2.42 against the others
  for (const Half h : balanced_scale(Rows(std::vector<double>(4, 0.0), 64).view(), no_mean(4), {}))
    CHECK(to_float(h) == 1.0f);
}

TEST_CASE("scales stay in [1/8, 8]", "[conditioner]") {
  // One channel in 1024 may exceed the floor by (1024 / 0.03)^(1/4) = 13.6; both sides together by more.
  std::vector<double> k(1024, 1e-4), q(1024, 1e-4);
  k[0] = 100, q[1] = 100;
  const auto scale = balanced_scale(Rows(k, 64).view(), no_mean(1024), Rows(q, 64).view());
  CHECK(to_float(scale[0]) == 0.125f);
  CHECK(to_float(scale[1]) == 8.0f);
  check_scale(k, q);
}

TEST_CASE("the geometric mean of the scales is 1, whatever the units", "[conditioner]") {
  Rng rng(3);
  std::vector<double> k, q;
  for (int i = 0; i < 64; ++i) k.push_back(std::exp2(rng.normal())), q.push_back(std::exp2(rng.normal()));
  for (const double unit : {1e-20, 1.0, 1e15}) {
    std::vector<double> scaled_k = k;
    for (double& a : scaled_k) a *= unit;
    check_scale(scaled_k, q);
    double sum = 0;
    for (const Half h : balanced_scale(Rows(scaled_k, 64).view(), no_mean(64), Rows(q, 64).view()))
      sum += std::log2(static_cast<double>(to_float(h)));
    CHECK(std::abs(sum / 64) < 0x1p-9);
  }
}

TEST_CASE("the mean is taken off before the power of a channel is measured", "[conditioner]") {
  const std::vector<double> k = {1, 2, 4, 8};
  const Rows centred(k, 64), shifted(k, 64, 1000);
  const auto expected = balanced_scale(centred.view(), no_mean(4), {});
  const auto actual = balanced_scale(shifted.view(), mean_of_rows(shifted.view()), {});
  for (std::size_t i = 0; i < k.size(); ++i)
    CHECK(to_float(actual[i]) == Approx(to_float(expected[i])).epsilon(0.02));
}
