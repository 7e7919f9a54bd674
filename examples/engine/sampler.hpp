// sampler.hpp: the next token from logits: greedy, or temperature with top-k and top-p.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <random>
#include <span>
#include <vector>

#include "error.hpp"
#include "tokenizer.hpp"

namespace engine {

struct Sampling {
  double temperature = 0;  // 0: always the most likely token
  std::size_t top_k = 40;  // 0: no limit
  double top_p = 0.95;     // 1: no limit
  std::uint64_t seed = 1;
};

class Sampler {
 public:
  explicit Sampler(const Sampling& options) : options_(options), random_(options.seed) {
    if (!(options.temperature >= 0 && options.temperature <= 100) ||
        !(options.top_p > 0 && options.top_p <= 1))
      throw Error("the temperature must lie in [0, 100] and top-p in (0, 1]");
  }

  Token pick(std::span<const float> logits) {
    for (const float x : logits)
      if (!std::isfinite(x)) throw Error("a logit is not finite");  // sorting NaN would be undefined
    if (logits.empty()) throw Error("there are no logits to pick from");
    if (options_.temperature == 0)  // the first of equals, so that runs can be compared
      return static_cast<Token>(std::max_element(logits.begin(), logits.end()) - logits.begin());

    std::vector<Token> order(logits.size());
    std::iota(order.begin(), order.end(), Token{0});
    const auto logit = [&](Token t) { return double{logits[static_cast<std::size_t>(t)]}; };
    const auto likelier = [&](Token a, Token b) {
      return logit(a) != logit(b) ? logit(a) > logit(b) : a < b;
    };
    const std::size_t kept = options_.top_k == 0 ? order.size() : std::min(options_.top_k, order.size());
    std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(kept), order.end(),
                      likelier);
    order.resize(kept);

    std::vector<double> cumulative;  // of weights relative to the likeliest token
    double total = 0;
    for (const Token t : order)
      cumulative.push_back(total += std::exp((logit(t) - logit(order[0])) / options_.temperature));
    const auto nucleus = std::lower_bound(cumulative.begin(), cumulative.end(), options_.top_p * total);
    const double limit = nucleus == cumulative.end() ? total : *nucleus;
    // 53 random bits by hand: std::uniform_real_distribution differs between standard libraries.
    const double point = static_cast<double>(random_() >> 11) * 0x1p-53 * limit;
    const auto chosen = std::upper_bound(cumulative.begin(), cumulative.end(), point);
    return order[std::min(static_cast<std::size_t>(chosen - cumulative.begin()), order.size() - 1)];
  }

 private:
  Sampling options_;
  std::mt19937_64 random_;
};

}  // namespace engine
