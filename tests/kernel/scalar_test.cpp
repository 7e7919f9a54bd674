#include <tightkv/kernel/accumulate.hpp>
#include <tightkv/kernel/score.hpp>

#include <cmath>
#include <vector>

#include "catch.hpp"
#include "support/vectors.hpp"

using namespace tightkv;
using kernel::scalar;

TEST_CASE("integers of a query are off by half a unit at most and meet the ends of the range", "[kernel]") {
  tightkv_test::Rng rng(1);
  for (const bool wide : {false, true})
    for (const std::size_t n : {1u, 16u, 80u, 128u, 1024u})
      for (const double size : {1e-30, 1.0, 1e5, 1e30}) {
        const auto x = tightkv_test::floats(tightkv_test::scaled(rng.normals(n), size));
        IntegerVector v;
        v.assign(x, wide);
        const int top = wide ? 32385 : 127;
        int largest = 0;
        for (std::size_t i = 0; i < n; ++i) {
          // Half a unit, and the float steps of the scaling: 2 eps of up to `top` units.
          const double miss = std::abs(double{x[i]} / double{v.scale} - v.value(i));
          if (miss > 0.5 + 4 * 0x1p-24 * top) FAIL(x[i] << " became " << v.value(i));
          if (std::abs(static_cast<int>(v.low[i])) > 127 || std::abs(static_cast<int>(v.high[i])) > 127)
            FAIL(i);
          if (!wide && v.high[i] != 0) FAIL("8 bits have no high part");
          largest = std::max(largest, std::abs(v.value(i)));
        }
        CHECK(largest == top);
      }
  IntegerVector zero;
  zero.assign(std::vector<float>(16, 0.0f), true);
  CHECK(zero.scale == 0);
  for (std::size_t i = 0; i < 16; ++i) CHECK(zero.value(i) == 0);
}

TEST_CASE("ties of a query round away from zero, both signs alike", "[kernel]") {
  IntegerVector v;
  v.assign(std::vector<float>{127.0f, 0.5f, -0.5f, 2.5f, -2.5f, 0.49f, -0.49f}, false);
  const int want[] = {127, 1, -1, 3, -3, 0, 0};
  for (std::size_t i = 0; i < 7; ++i) CHECK(v.value(i) == want[i]);
}

TEST_CASE("dot products are the sums in 64-bit integers, at the extremes too", "[kernel]") {
  tightkv_test::Rng rng(2);
  for (std::size_t n = 1; n <= 1024; n = n < 40 ? n + 1 : n + 123)
    for (const bool wide : {false, true})
      for (int kind = 0; kind < 6; ++kind) {
        std::vector<std::int8_t> levels(n);
        std::vector<std::uint8_t> signs(n);
        IntegerVector q;
        q.high.assign(n, 0), q.low.assign(n, 0), q.scale = 1, q.wide = wide;
        for (std::size_t i = 0; i < n; ++i) {
          const int alternate = i % 2 ? -127 : 127;
          const auto random = [&] { return static_cast<int>(rng.below(255)) - 127; };
          levels[i] = static_cast<std::int8_t>(kind == 0   ? 127
                                               : kind == 1 ? -127
                                               : kind == 2 ? alternate
                                                           : random());
          const int code = kind == 0   ? 127
                           : kind == 1 ? 127
                           : kind == 2 ? alternate
                           : kind == 3 ? -127
                                       : random();
          q.low[i] = static_cast<std::int8_t>(code);
          if (wide) q.high[i] = static_cast<std::int8_t>(kind < 4 ? code : random());
          signs[i] = kind == 0 || (kind == 2 && i % 2 == 0) || (kind > 2 && rng.below(2) == 1);
        }
        std::int64_t low = 0, high = 0, sign_low = 0, sign_high = 0;
        for (std::size_t i = 0; i < n; ++i) {
          low += std::int64_t{levels[i]} * q.low[i], high += std::int64_t{levels[i]} * q.high[i];
          sign_low += signs[i] ? q.low[i] : -q.low[i], sign_high += signs[i] ? q.high[i] : -q.high[i];
        }
        // The planes' sums are below 2^24.1, so their floats are rounded; then one product and one sum.
        const float dot = 254.0f * static_cast<float>(high) + static_cast<float>(low);
        if (kernel::dot_integer(scalar{}, levels, q) != dot) FAIL("n = " << n << ", kind " << kind);
        const float sign_dot = 254.0f * static_cast<float>(sign_high) + static_cast<float>(sign_low);
        if (kernel::dot_signs_integer(scalar{}, signs, q) != sign_dot) FAIL("signs, n = " << n);
        const double exact = 254.0 * static_cast<double>(high) + static_cast<double>(low);
        if (std::abs(double{dot} - exact) >
            3 * 0x1p-24 * (254.0 * std::abs(static_cast<double>(high)) + std::abs(static_cast<double>(low))))
          FAIL("rounding");
      }
}

TEST_CASE("a dot product may begin inside the query", "[kernel]") {
  IntegerVector q;
  q.assign(std::vector<float>{1, 2, 3, 4}, false);  // 32, 64, 95, 127 units
  const std::vector<std::int8_t> levels = {10, -1};
  CHECK(kernel::dot_integer(scalar{}, levels, q, 2) == 10.0f * 95 - 127);
}

TEST_CASE("integer weights are off by the largest / 131,070 at most", "[kernel]") {
  tightkv_test::Rng rng(3);
  const std::size_t n = 80;
  for (const std::size_t tokens : {1u, 3u, 64u})
    for (const double size : {1e-35, 1e-20, 1.0, 1e20, 1e32})
      for (int kind = 0; kind < 3; ++kind) {  // random, flat, one dominant weight
        std::vector<std::int8_t> levels(tokens * n);
        std::vector<float> weights(tokens);
        for (auto& l : levels) l = static_cast<std::int8_t>(static_cast<int>(rng.below(255)) - 127);
        for (std::size_t t = 0; t < tokens; ++t)
          weights[t] = static_cast<float>(size * (kind == 0   ? rng.uniform()
                                                  : kind == 1 ? 1
                                                  : t == 1    ? 1
                                                              : 1e-4));
        float largest = 0;
        for (const float w : weights) largest = std::max(largest, w);
        std::vector<float> sum(n, 0.0f);
        kernel::accumulate_integer(scalar{}, levels, n, weights, sum);
        for (std::size_t i = 0; i < n; ++i) {
          double want = 0, all = 0, size_of_levels = 0;
          for (std::size_t t = 0; t < tokens; ++t) {
            want += double{weights[t]} * levels[t * n + i];
            all += std::abs(double{weights[t]} * levels[t * n + i]);
            size_of_levels += std::abs(static_cast<int>(levels[t * n + i]));
          }
          const double bound = double{largest} / 131070 * size_of_levels * 1.001 + 70 * 0x1p-24 * all;
          if (!(std::abs(double{sum[i]} - want) <= bound)) FAIL("tokens " << tokens << ", size " << size);
        }
      }
}

TEST_CASE("weights of zero add nothing, and sums are added to what is there", "[kernel]") {
  const std::vector<std::int8_t> levels(32, 100);
  std::vector<float> sum(16, 2.5f);
  for (const auto arithmetic : {Arithmetic::exact, Arithmetic::integer}) {
    kernel::accumulate(levels, 16, std::vector<float>{0, 0}, sum, arithmetic);
    CHECK(sum == std::vector<float>(16, 2.5f));
  }
  kernel::accumulate(levels, 16, std::vector<float>{1, 0}, sum, Arithmetic::integer);
  for (const float v : sum) CHECK(std::abs(v - 102.5f) < 1e-3f);
  // 64 flat tokens at the largest level: 64 * 65,535 * 127 < 2^30.
  const std::vector<std::int8_t> full(64 * 16, 127);
  std::vector<float> total(16, 0.0f);
  kernel::accumulate(full, 16, std::vector<float>(64, 1.0f / 64), total, Arithmetic::integer);
  for (const float v : total) CHECK(std::abs(v - 127) < 1e-3f);
}
