// The float kernels of every instruction set against float64. rows_fast_math_test.cpp runs the same under
// -ffast-math.
#include <tightkv/kernel/dispatch.hpp>
#if defined(TIGHTKV_HAVE_XSIMD)
#include <tightkv/kernel/xsimd.hpp>
#endif

#include <cmath>

#include "catch.hpp"
#include "support/guarded.hpp"
#include "support/vectors.hpp"

#if !defined(TIGHTKV_TEST_BUILD)
#define TIGHTKV_TEST_BUILD ""
#endif

namespace {

using namespace tightkv;
using namespace tightkv_test;
using kernel::hidden_logit;
using kernel::Kernels;

constexpr std::size_t tokens = layout::block_tokens;
constexpr double eps = 0x1p-23, tiny = 0x1p-126;  // below the smallest normal number a CPU may flush to 0

template <class F>
void on_every_table(F&& check) {
  for (const kernel::Candidate& c : kernel::candidates()) {
    if (!c.available) continue;
    CAPTURE(c.table->name);
    check(*c.table);
  }
}

/// |got - want| <= bound, written so that NaN fails also where a compiler assumes that there is none.
bool near(double got, double want, double bound) {
  return !detail::is_non_finite(std::bit_cast<std::uint32_t>(static_cast<float>(got))) &&
         std::abs(got - want) <= bound;
}

/// Rows as an engine keeps them: `stride` bytes apart, at any byte, the last one ending at a forbidden page.
struct Rows {
  ElementType type;
  std::size_t rows, dim, stride;
  Guarded<std::byte> data;
  std::vector<double> values;  // as stored

  Rows(ElementType t, std::size_t n, std::size_t d, Rng& rng)
      : type(t),
        rows(n),
        dim(d),
        stride(d * bytes_of(t) + rng.below(3) * 16),
        data((n - 1) * stride + d * bytes_of(t), Guard::behind, rng.below(2)) {
    for (std::size_t r = 0; r < n; ++r)
      for (std::size_t i = 0; i < d; ++i) {
        const std::uint32_t bits =
            detail::rounded_bits(std::bit_cast<std::uint32_t>(static_cast<float>(rng.normal())), t);
        std::byte* const at = data.bytes() + r * stride + i * bytes_of(t);
        if (t == ElementType::f32)
          bytes::store(at, bits);
        else
          bytes::store(at, t == ElementType::bf16 ? static_cast<std::uint16_t>(bits >> 16)
                                                  : to_half(std::bit_cast<float>(bits)).bits);
        values.push_back(static_cast<double>(std::bit_cast<float>(bits)));
      }
  }
  static std::size_t bytes_of(ElementType t) { return t == ElementType::f32 ? 4 : 2; }
};

constexpr ElementType types[] = {ElementType::f32, ElementType::f16, ElementType::bf16};

}  // namespace

TEST_CASE("softmax of a block" TIGHTKV_TEST_BUILD, "[kernel][isa]") {
  on_every_table([](const Kernels& on) {
    Rng rng(11);
    for (int round = 0; round < 200; ++round) {
      CAPTURE(round);
      const double spread = std::pow(10.0, rng.uniform() * 4 - 2);  // to beyond exp's underflow
      Guarded<float> logits(tokens);
      for (float& l : logits)
        l = rng.below(4) == 0 && round % 2 ? hidden_logit : static_cast<float>(spread * rng.normal());
      const std::vector<float> before(logits.begin(), logits.end());
      float maximum = round % 3 ? static_cast<float>(spread * rng.normal()) : hidden_logit,
            mass = maximum > hidden_logit ? 2.5f : 0.0f;
      const float old = maximum;
      const float owed = on.softmax(logits.data(), maximum, mass);

      float largest = old;
      for (const float l : before) largest = std::max(largest, l);
      REQUIRE(maximum == largest);
      // exp: 2e-7 (1 + |x|), and half a unit of the difference x it is taken of.
      const auto exp_of = [&](float l) {
        return std::exp(static_cast<double>(l) - static_cast<double>(largest));
      };
      const auto bound = [&](float l) {
        return exp_of(l) * 3e-7 * (1 + std::abs(static_cast<double>(l) - static_cast<double>(largest))) +
               2e-38;
      };
      double total = 0, total_bound = 0;
      bool good = true;
      for (std::size_t t = 0; t < tokens; ++t) {
        const float w = logits[t];
        if (before[t] <= hidden_logit) {
          good = good && w == 0;
          continue;
        }
        good = good && near(static_cast<double>(w), exp_of(before[t]), bound(before[t]));
        total += exp_of(before[t]), total_bound += bound(before[t]);
      }
      CHECK(good);
      if (old > hidden_logit) {
        CHECK(near(static_cast<double>(owed), exp_of(old), bound(old)));
        total += 2.5 * exp_of(old), total_bound += 2.5 * bound(old);
      }
      CHECK(near(static_cast<double>(mass), total, total_bound + 66 * eps * total));
    }
  });
}

TEST_CASE("softmax of a block that is hidden, after nothing and after something" TIGHTKV_TEST_BUILD,
          "[kernel][isa]") {
  on_every_table([](const Kernels& on) {
    std::vector<float> logits(tokens, hidden_logit);
    float maximum = hidden_logit, mass = 0;
    CHECK(on.softmax(logits.data(), maximum, mass) == 1);
    CHECK((maximum == hidden_logit && mass == 0 && logits == std::vector<float>(tokens, 0)));

    logits.assign(tokens, hidden_logit);
    maximum = -1e30f, mass = 3;
    CHECK(on.softmax(logits.data(), maximum, mass) == 1);
    CHECK((maximum == -1e30f && mass == 3 && logits == std::vector<float>(tokens, 0)));
  });
}

TEST_CASE("Weights times scales as 16-bit integers" TIGHTKV_TEST_BUILD, "[kernel][isa]") {
  on_every_table([](const Kernels& on) {
    Rng rng(12);
    for (int round = 0; round < 100; ++round) {
      const int exponent = static_cast<int>(rng.below(117)) - 105;  // down to where products underflow
      CAPTURE(round, exponent);
      Guarded<float> weights(tokens), scales(tokens);
      Guarded<std::uint8_t> high(tokens, Guard::behind, 1), low(tokens);
      double largest = 0;
      for (std::size_t t = 0; t < tokens; ++t) {
        weights[t] = rng.below(3) ? static_cast<float>(std::exp(-8 * rng.uniform())) : 0.0f;
        scales[t] = static_cast<float>(std::ldexp(rng.uniform(), exponent));
        largest = std::max(largest, static_cast<double>(weights[t]) * static_cast<double>(scales[t]));
      }
      const float unit = on.weigh(weights.data(), scales.data(), high.data(), low.data());
      CHECK(near(static_cast<double>(unit), largest / 65535, 6 * eps * largest / 65535 + tiny));
      bool good = true;
      for (std::size_t t = 0; t < tokens; ++t) {
        // Half a step, five roundings of a number below 65536, and an underflow of the product.
        const double code = 256.0 * high[t] + low[t], want = static_cast<double>(weights[t]) *
                                                             static_cast<double>(scales[t]) / largest * 65535;
        good = good && near(code, want, 0.5 + 5 * 65536 * eps / 2 + 65535 * tiny / largest);
      }
      CHECK(good);
    }
    std::vector<float> none(tokens, 0), one(tokens, 1);
    std::vector<std::uint8_t> high(tokens, 7), low(tokens, 7);
    CHECK(on.weigh(none.data(), one.data(), high.data(), low.data()) == 0);
    CHECK((high == std::vector<std::uint8_t>(tokens, 0) && low == high));
  });
}

TEST_CASE("Dot products with raw rows" TIGHTKV_TEST_BUILD, "[kernel][isa]") {
  on_every_table([](const Kernels& on) {
    Rng rng(13);
    for (const ElementType type : types)
      for (const std::size_t dim : {1u, 7u, 16u, 20u, 33u, 64u, 80u, 112u, 128u, 576u})
        for (std::size_t n = 1; n <= 8; ++n) {
          const std::size_t count = n % 3 == 0 ? tokens : 1 + rng.below(5);
          Rows rows(type, count, dim, rng);
          Guarded<float> q(n * dim), out(n * tokens);
          for (float& v : q) v = static_cast<float>(rng.normal());
          std::vector<const float*> at;
          for (std::size_t k = 0; k < n; ++k) at.push_back(q.data() + k * dim);
          on.dot_rows(rows.data.bytes(), rows.stride, type, count, dim, at.data(), n, out.data());
          bool good = true;
          for (std::size_t k = 0; k < n; ++k)
            for (std::size_t t = 0; t < count; ++t) {
              double want = 0, magnitude = 0;
              for (std::size_t i = 0; i < dim; ++i) {
                const double term = static_cast<double>(at[k][i]) * rows.values[t * dim + i];
                want += term, magnitude += std::abs(term);
              }
              good = good && near(static_cast<double>(out[k * tokens + t]), want,
                                  static_cast<double>(dim) * eps * magnitude);
            }
          CAPTURE(static_cast<int>(type), dim, n, count);
          CHECK(good);
        }
  });
}

TEST_CASE("Weighted sums of raw rows" TIGHTKV_TEST_BUILD, "[kernel][isa]") {
  on_every_table([](const Kernels& on) {
    Rng rng(14);
    for (const ElementType type : types)
      for (const std::size_t dim : {1u, 7u, 16u, 20u, 33u, 64u, 80u, 112u, 128u, 576u})
        for (std::size_t n = 1; n <= 8; ++n) {
          const std::size_t count = n % 3 == 0 ? tokens : 1 + rng.below(5);
          Rows rows(type, count, dim, rng);
          Guarded<float> weights((n - 1) * tokens + count), sum(n * dim);
          for (float& w : weights) w = static_cast<float>(rng.uniform());
          for (float& s : sum) s = static_cast<float>(rng.normal());
          const std::vector<float> before(sum.begin(), sum.end());
          std::vector<float*> at;
          for (std::size_t k = 0; k < n; ++k) at.push_back(sum.data() + k * dim);
          on.add_rows(rows.data.bytes(), rows.stride, type, count, dim, weights.data(), n, at.data());
          bool good = true;
          for (std::size_t k = 0; k < n; ++k)
            for (std::size_t i = 0; i < dim; ++i) {
              double want = static_cast<double>(before[k * dim + i]), magnitude = std::abs(want);
              for (std::size_t t = 0; t < count; ++t) {
                const double term = static_cast<double>(weights[k * tokens + t]) * rows.values[t * dim + i];
                want += term, magnitude += std::abs(term);
              }
              good = good && near(static_cast<double>(at[k][i]), want,
                                  static_cast<double>(count + 1) * eps * magnitude);
            }
          CAPTURE(static_cast<int>(type), dim, n, count);
          CHECK(good);
        }
  });
}

TEST_CASE("Halfs times a power of two; values times a factor" TIGHTKV_TEST_BUILD, "[kernel][isa]") {
  on_every_table([](const Kernels& on) {
    Rng rng(15);
    for (std::size_t count = 1; count < 70; ++count) {
      Guarded<std::byte> halfs(2 * count);
      Guarded<float> out(count);
      for (std::size_t i = 0; i < count; ++i)
        bytes::store(halfs.bytes() + 2 * i, static_cast<std::uint16_t>(rng.bits() & 0xfbffu));  // finite
      const int exponent = static_cast<int>(rng.below(160)) - 110;
      on.widen(halfs.bytes(), count, exponent, out.data());
      bool good = true;
      for (std::size_t i = 0; i < count; ++i) {
        const auto half =
            static_cast<double>(to_float(Half{bytes::load<std::uint16_t>(halfs.bytes() + 2 * i)}));
        good = good && near(static_cast<double>(out[i]), std::ldexp(half, exponent), tiny);
      }
      const std::vector<float> before(out.begin(), out.end());
      on.multiply(out.data(), count, 0.7f);
      for (std::size_t i = 0; i < count; ++i) {
        const double want = static_cast<double>(before[i]) * static_cast<double>(0.7f);
        good = good && near(static_cast<double>(out[i]), want, std::abs(want) * eps + tiny);
      }
      CAPTURE(count, exponent);
      CHECK(good);
    }
  });
}
