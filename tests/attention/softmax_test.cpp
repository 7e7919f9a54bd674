#include <tightkv/attention/attend.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "catch.hpp"
#include "support/vectors.hpp"

using namespace tightkv;
using tightkv::kernel::hidden_logit;
using tightkv_test::Rng;

namespace {

const double eps = 0x1p-24;

struct Sums {
  double mass = 0, weighted = 0;
};

/// sum exp(l - max) and sum exp(l - max) v in one pass in double; hidden logits count nothing.
Sums one_shot(const std::vector<float>& logits, const std::vector<double>& values, double start_logit,
              bool start) {
  double maximum = start ? start_logit : -1e300;
  for (const float l : logits)
    if (l > hidden_logit) maximum = std::max(maximum, static_cast<double>(l));
  Sums s;
  if (start) s.mass = std::exp(start_logit - maximum);
  for (std::size_t i = 0; i < logits.size(); ++i) {
    if (logits[i] <= hidden_logit) continue;
    const double w = std::exp(static_cast<double>(logits[i]) - maximum);
    s.mass += w;
    s.weighted += w * values[i];
  }
  return s;
}

}  // namespace

TEST_CASE("softmax in segments equals softmax in one piece", "[attention]") {
  Rng rng(5);
  for (int run = 0; run < 300; ++run) {
    const std::size_t n = 1 + rng.below(400);
    const double spread = run % 3 == 0 ? 0.1 : run % 3 == 1 ? 5 : 60;
    std::vector<float> logits(n);
    for (float& l : logits) {
      l = static_cast<float>(spread * rng.normal());
      if (rng.below(5) == 0) l = hidden_logit;
    }
    const std::vector<double> values = rng.normals(n);
    const bool start = run % 2 == 1;
    const auto start_logit = static_cast<float>(spread * rng.normal());
    OnlineSoftmax online;
    if (start) online.start_with(start_logit);
    double weighted = 0;
    std::size_t segments = 0;
    for (std::size_t i = 0; i < n; ++segments) {
      const std::size_t count = std::min(n - i, 1 + rng.below(64));
      std::vector<float> part(logits.begin() + static_cast<std::ptrdiff_t>(i),
                              logits.begin() + static_cast<std::ptrdiff_t>(i + count));
      weighted *= static_cast<double>(online.add(part));
      for (std::size_t t = 0; t < count; ++t) weighted += static_cast<double>(part[t]) * values[i + t];
      i += count;
    }
    const Sums expected = one_shot(logits, values, static_cast<double>(start_logit), start);
    // A weight: rounding of l - max by eps |l - max| (its relative error), exp to 2 eps, and two roundings
    // for each segment that changes the maximum; the mass is a sum of n terms more. exp(l - max) below e^-90
    // is nothing, so |l - max| <= 90 in all that count.
    const double relative = (90.0 + 2 + 2 * static_cast<double>(segments) + static_cast<double>(n)) * eps;
    double magnitude = 0;
    for (const double v : values) magnitude = std::max(magnitude, std::abs(v));
    if (expected.mass == 0) {
      CHECK(online.mass == 0.0f);
      continue;
    }
    CHECK(std::abs(static_cast<double>(online.mass) - expected.mass) <= relative * expected.mass);
    CHECK(std::abs(weighted - expected.weighted) <= relative * expected.mass * magnitude);
  }
}

TEST_CASE("hidden tokens weigh exactly nothing, alone or among others", "[attention]") {
  OnlineSoftmax online;
  std::vector<float> hidden(5, hidden_logit);
  CHECK(online.add(hidden) == 1.0f);
  CHECK(online.mass == 0.0f);
  CHECK(hidden == std::vector<float>(5, 0.0f));

  std::vector<float> mixed = {hidden_logit, -1e30f, hidden_logit};  // far below all, but seen
  CHECK(online.add(mixed) == 0.0f);                                 // nothing before it is owed anything
  CHECK(mixed == std::vector<float>{0, 1, 0});
  CHECK(online.mass == 1.0f);

  std::vector<float> again(3, hidden_logit);
  CHECK(online.add(again) == 1.0f);
  CHECK(online.mass == 1.0f);
}

TEST_CASE("a sink logit takes mass and gives nothing", "[attention]") {
  OnlineSoftmax online;
  online.start_with(2.0f);
  std::vector<float> logits = {2.0f, 2.0f};
  CHECK(online.add(logits) == 1.0f);
  CHECK(online.mass == 3.0f);
  CHECK(logits == std::vector<float>{1, 1});
  std::vector<float> higher = {2.0f + std::log(4.0f)};
  CHECK(online.add(higher) == Approx(0.25f).epsilon(1e-6));
  CHECK(online.mass == Approx(1.75f).epsilon(1e-6));
}

TEST_CASE("logits as large as a real model's do not overflow", "[attention]") {
  OnlineSoftmax online;
  std::vector<float> low = {-1.4e5f, -1.4e5f}, high = {1.4e5f};
  online.add(low);
  CHECK(online.add(high) == 0.0f);
  CHECK(online.mass == 1.0f);
  CHECK(high[0] == 1.0f);
}

TEST_CASE("soft cap: cap tanh(x / cap), and 0 is none", "[attention]") {
  CHECK(soft_cap(3.5f, 0) == 3.5f);
  for (const float x : {-100.0f, -3.0f, 0.0f, 1e-3f, 20.0f, 1e6f})
    CHECK(static_cast<double>(soft_cap(x, 30)) ==
          Approx(30 * std::tanh(static_cast<double>(x) / 30)).epsilon(1e-6).margin(1e-12));
}

TEST_CASE("finish_logits: causal, window, mask and cap, each alone and hidden after the cap", "[attention]") {
  const Segment segment{10, 4};  // positions 10..13
  const auto finished = [&](AttendParams params, std::ptrdiff_t at) {
    std::vector<float> logits = {1, 2, 3, 4};
    params.scale = 0.5f;
    tightkv::detail::finish_logits(kernel::on_scalar::table, logits, segment, at, params);
    return logits;
  };
  const float no = hidden_logit;
  CHECK(finished({}, 20) == std::vector<float>{0.5f, 1, 1.5f, 2});
  CHECK(finished({}, 11) == std::vector<float>{0.5f, 1, no, no});
  CHECK(finished({}, 9) == std::vector<float>(4, no));
  AttendParams window;
  window.window = 2;
  CHECK(finished(window, 13) == std::vector<float>{no, no, 1.5f, 2});
  CHECK(finished(window, 14) == std::vector<float>{no, no, no, 2});
  CHECK(finished(window, 15) == std::vector<float>(4, no));
  std::vector<std::uint8_t> mask(20, 1);
  mask[12] = 0;
  AttendParams masked;
  masked.mask = mask;
  masked.soft_cap = 1;  // the cap must not bring a hidden logit back to -1
  const auto logits = finished(masked, 12);
  CHECK(logits[0] == std::tanh(0.5f));
  CHECK(logits[2] == no);
  CHECK(logits[3] == no);
}
