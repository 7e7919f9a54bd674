#include "../../examples/engine/sampler.hpp"

#include <cmath>
#include <limits>
#include <vector>

#include "../../examples/engine/evaluate.hpp"
#include "../catch.hpp"

using engine::Sampler;
using engine::Sampling;
using engine::Token;

namespace {
Sampling warm(std::size_t top_k, double top_p) {
  return {.temperature = 1, .top_k = top_k, .top_p = top_p, .seed = 7};
}
}  // namespace

TEST_CASE("greedy takes the first of the largest logits", "[engine][sampler]") {
  CHECK(Sampler({}).pick(std::vector<float>{1, 3, 3, 2}) == 1);
}

TEST_CASE("top-k 1 and a tiny top-p are greedy at any temperature", "[engine][sampler]") {
  const std::vector<float> logits{0.1f, 0.3f, 0.2f};
  Sampler one(warm(1, 1)), nucleus(warm(0, 1e-9));
  for (int i = 0; i < 50; ++i) {
    CHECK(one.pick(logits) == 1);
    CHECK(nucleus.pick(logits) == 1);
  }
}

TEST_CASE("sampled frequencies are the probabilities that top-p leaves", "[engine][sampler]") {
  const std::vector<double> p{0.1, 0.4, 0.2, 0.3};
  std::vector<float> logits;
  for (const double x : p) logits.push_back(static_cast<float>(std::log(x)));
  Sampler sampler(warm(0, 0.85));  // keeps 0.4 + 0.3 + 0.2, leaves out token 0
  constexpr int draws = 20000;
  std::vector<int> seen(4);
  for (int i = 0; i < draws; ++i) ++seen[static_cast<std::size_t>(sampler.pick(logits))];
  CHECK(seen[0] == 0);
  for (const std::size_t i : {1u, 2u, 3u}) {
    const double q = p[i] / 0.9, sigma = std::sqrt(draws * q * (1 - q));
    CHECK(std::abs(seen[i] - draws * q) < 4.5 * sigma);
  }
}

TEST_CASE("the same seed gives the same tokens", "[engine][sampler]") {
  const std::vector<float> logits(100, 0.0f);
  Sampler a(warm(40, 0.95)), b(warm(40, 0.95));
  for (int i = 0; i < 100; ++i) CHECK(a.pick(logits) == b.pick(logits));
}

TEST_CASE("logits that are not numbers, and senseless options, are refused", "[engine][sampler]") {
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()})
    CHECK_THROWS_AS(Sampler({}).pick(std::vector<float>{0, bad}), engine::Error);
  CHECK_THROWS_AS(Sampler({}).pick({}), engine::Error);
  CHECK_THROWS_AS(Sampler({.temperature = -1}), engine::Error);
  CHECK_THROWS_AS(Sampler({.temperature = 1, .top_p = 0}), engine::Error);
}

TEST_CASE("KLD, agreement and perplexity of two known distributions", "[engine][evaluate]") {
  engine::Matrix p(2, 2), q(2, 2);
  p << 0, 0, 0, 1;  // log 1/2, log 1/2; then token 1 is likelier
  q << std::log(0.25f), std::log(0.75f), 1, 0;
  engine::log_softmax(p);
  engine::log_softmax(q);
  engine::Comparison same, differ;
  same.add(p, p, std::vector<Token>{1});
  CHECK(same.kld() == 0);
  CHECK(same.top1() == 1);
  CHECK(std::abs(same.perplexity() - 2) < 1e-5);
  CHECK(same.positions() == 2);
  differ.add(p, q, std::vector<Token>{1});
  const double first = 0.5 * std::log(0.5 / 0.25) + 0.5 * std::log(0.5 / 0.75);
  const double likely = 1 / (1 + std::exp(-1.0)),
               second = (likely - (1 - likely)) * 1.0;  // logits 0, 1 against 1, 0
  CHECK(std::abs(differ.kld() - (first + second) / 2) < 1e-5);
  CHECK(differ.top1() == 0);  // token 0 against 1, then 1 against 0
  CHECK(std::abs(differ.perplexity() - 1 / 0.75) < 1e-5);
}
