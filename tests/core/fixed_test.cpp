#include <tightkv/core/fixed.hpp>

#include <cmath>
#include <limits>
#include <vector>

#include "catch.hpp"
#include "support/vectors.hpp"

using namespace tightkv;
using fixed::Scale;

namespace {

std::uint32_t bits_of(float x) { return std::bit_cast<std::uint32_t>(x); }

/// Nearest integer, ties to even, of an exact long double.
long double round_even(long double x) {
  const long double floor = std::floor(x), rest = x - floor;
  if (rest > 0.5L || (rest == 0.5L && std::fmod(floor, 2.0L) != 0)) return floor + 1;
  return floor;
}

}  // namespace

TEST_CASE("isqrt is the floor of the root", "[core]") {
  using fixed::isqrt;
  CHECK(isqrt(0) == 0);
  CHECK(isqrt(std::numeric_limits<std::uint64_t>::max()) == 0xffffffffu);
  std::size_t wrong = 0;
  const auto check = [&](std::uint64_t root) {  // root^2 - 1, root^2 and (root + 1)^2 - 1
    const std::uint64_t square = root * root;
    wrong += isqrt(square) != root;
    wrong += root > 0 && isqrt(square - 1) != root - 1;
    wrong += isqrt(square + 2 * root) != root;
  };
  for (std::uint64_t root = 0; root < 70000; ++root) check(root);
  tightkv_test::Rng rng(1);
  for (int i = 0; i < 100000; ++i) check(rng.bits() >> (32 + rng.bits() % 32));
  check(0xffffffffu);
  CHECK(wrong == 0);
}

TEST_CASE("shift_round goes to nearest with ties upwards", "[core]") {
  using fixed::shift_round;
  CHECK(shift_round(5, 1) == 3);
  CHECK(shift_round(-5, 1) == -2);  // -2.5 goes up
  CHECK(shift_round(-6, 2) == -1);  // -1.5
  CHECK(shift_round(7, 2) == 2);
  CHECK(shift_round(7, 0) == 7);
  CHECK(shift_round(7, -3) == 7);
  CHECK(detail::shift_right_even(5, 1) == 2);  // 2.5: even
  CHECK(detail::shift_right_even(7, 1) == 4);  // 3.5
  CHECK(detail::shift_right_even(~std::uint64_t{0}, 64) == 0);
}

TEST_CASE("exponent_above brackets every float", "[core]") {
  CHECK(fixed::exponent_above(bits_of(0.0f)) == -1000);
  CHECK(fixed::exponent_above(bits_of(-0.0f)) == -1000);
  CHECK(fixed::exponent_above(bits_of(1.0f)) == 1);
  CHECK(fixed::exponent_above(bits_of(-0.75f)) == 0);
  CHECK(fixed::exponent_above(bits_of(std::numeric_limits<float>::max())) == 128);
  CHECK(fixed::exponent_above(1u) == -148);
  for (std::uint32_t i = 1; i < 100000; ++i) {
    const std::uint32_t bits = i * 2654435761u;
    const float x = std::bit_cast<float>(bits);
    if (!std::isfinite(x) || x == 0) continue;
    const int e = fixed::exponent_above(bits);
    if (std::abs(double{x}) >= std::ldexp(1.0, e) || std::abs(double{x}) < std::ldexp(1.0, e - 1)) FAIL(x);
  }
  for (unsigned pattern = 0; pattern < 0x7c00u; ++pattern) {
    const Half h{static_cast<std::uint16_t>(pattern)};
    const int e = fixed::exponent_above(h, 7);
    const double x = std::ldexp(double{to_float(h)}, 7);
    if (x == 0 ? e != -1000 : (x >= std::ldexp(1.0, e) || x < std::ldexp(1.0, e - 1))) FAIL(pattern);
  }
}

TEST_CASE("from_float_bits rounds to nearest even at any unit", "[core]") {
  CHECK(fixed::from_float_bits(bits_of(2.5f), 0) == 2);
  CHECK(fixed::from_float_bits(bits_of(-3.5f), 0) == -4);
  CHECK(fixed::from_float_bits(bits_of(-0.0f), -149) == 0);
  CHECK(fixed::from_float_bits(1u, -149) == 1);                  // the smallest subnormal
  CHECK(fixed::from_float_bits(0x007fffffu, -149) == 0x7fffff);  // the largest subnormal
  CHECK(fixed::from_float_bits(0x00800000u, -149) == 0x800000);  // the smallest normal
  CHECK(fixed::from_float_bits(3u, -148) == 2);                  // 1.5: even
  CHECK(fixed::from_float_bits(1u, -148) == 0);                  // 0.5: even
  CHECK(fixed::from_float_bits(bits_of(std::numeric_limits<float>::max()), 97) == 0x7fffff80);
  CHECK(fixed::from_float_bits(bits_of(-std::numeric_limits<float>::max()), 104) == -0xffffff);
  CHECK(fixed::from_float_bits(bits_of(1.0f), 100) == 0);
  tightkv_test::Rng rng(2);
  for (int i = 0; i < 200000; ++i) {
    const auto bits = static_cast<std::uint32_t>(rng.bits());
    const float x = std::bit_cast<float>(bits);
    if (!std::isfinite(x)) continue;
    const int e = fixed::exponent_above(bits);
    const int unit = (e == -1000 ? -120 : e - 31) + static_cast<int>(rng.below(40));
    const auto want = std::copysign(round_even(std::ldexp(std::abs(static_cast<long double>(x)), -unit)), x);
    if (fixed::from_float_bits(bits, unit) != static_cast<std::int64_t>(want)) FAIL(x << " at 2^" << unit);
  }
}

TEST_CASE("ratio is the quotient rounded once to 11 bits", "[core]") {
  CHECK(fixed::ratio(0, 3, 5) == Scale{});
  CHECK(fixed::ratio(1, 1, 0) == Scale{1024, -10});
  CHECK(fixed::ratio(1, 3, 0) == Scale{1365, -12});
  CHECK(fixed::ratio(4095, 1, 0) == Scale{1024, 2});  // 4095 needs 12 bits and the tie carries over
  CHECK(fixed::ratio(2049, 1, 0) == Scale{1024, 1});  // a tie: even
  CHECK(fixed::ratio(2051, 1, 0) == Scale{1026, 1});
  CHECK(fixed::ratio(2051 * 4 - 3, 4, 0) == Scale{1025, 1});  // just below that tie: the remainder decides
  // 1024.5 and 2^-39 more: only the remainder of the division tells it from a tie.
  const std::uint64_t wide = (std::uint64_t{1} << 39) + 2;
  CHECK(fixed::ratio(2049 * (wide / 2), wide, 0) == Scale{1024, 0});
  CHECK(fixed::ratio(2049 * (wide / 2) + 1, wide, 0) == Scale{1025, 0});
  CHECK(fixed::ratio((std::uint64_t{1} << 63) - 1, 1, 0) == Scale{1024, 53});
  CHECK(fixed::ratio(1, (std::uint64_t{1} << 40) - 1, 0) == Scale{1024, -50});
  tightkv_test::Rng rng(3);
  for (int i = 0; i < 200000; ++i) {
    const std::uint64_t numerator = rng.bits() >> (1 + rng.below(60)),
                        denominator = (rng.bits() >> (24 + rng.below(38))) | 1;
    const Scale s = fixed::ratio(numerator, denominator, -7);
    if (numerator == 0) continue;
    if (s.mantissa < 1024 || s.mantissa > 2047) FAIL("mantissa " << s.mantissa);
    // |numerator - s denominator| <= half a unit of s, in integers: numerator 2^-up against m denominator.
    const int up = s.exponent + 7;  // numerator / denominator = mantissa * 2^up up to rounding
    __extension__ typedef __int128 Wide;
    const Wide left = up < 0 ? static_cast<Wide>(numerator) << -up : static_cast<Wide>(numerator);
    const Wide unit = up > 0 ? static_cast<Wide>(denominator) << up : static_cast<Wide>(denominator);
    Wide miss = left - s.mantissa * unit;
    if (miss < 0) miss = -miss;
    if (2 * miss > unit) FAIL(numerator << " / " << denominator);
    if (2 * miss == unit && s.mantissa % 2 != 0) FAIL("tie to odd: " << numerator << " / " << denominator);
  }
}

TEST_CASE("a scale becomes the half of the same value", "[core]") {
  for (int exponent = -60; exponent <= 60; ++exponent)
    for (const std::int32_t mantissa : {1024, 1365, 2047, -1024, -1999}) {
      const Scale s{mantissa, exponent};
      const Half h = fixed::to_half(s, exponent - 5);  // mantissa * 2^5: at most 65,504
      if (std::ldexp(double{to_float(h)}, exponent - 5) != std::ldexp(double(mantissa), exponent))
        FAIL(mantissa << " * 2^" << exponent);
    }
  CHECK(fixed::to_half(Scale{}, 0).bits == 0);
  CHECK(fixed::to_half(Scale{2047, 6}, 0).bits == 0x7c00);
  CHECK(fixed::to_half(Scale{1024, -35}, 0).bits == 0);  // 2^-25: a tie, even
  CHECK(fixed::to_half(Scale{1025, -35}, 0).bits == 1);
  CHECK(fixed::to_half(Scale{1025, -34}, 0).bits == to_half(1025 * 0x1p-34f).bits);  // subnormal, rounded
  CHECK(fixed::round_to_scale(0, 3) == Scale{});
  CHECK(fixed::round_to_scale(-2049, 3) == Scale{-1024, 4});
  CHECK(fixed::to_float(Scale{-1025, -10}) == -1025 * 0x1p-10f);
}

TEST_CASE("from_half gives every half in any unit, rounded to nearest even", "[core]") {
  for (unsigned pattern = 0; pattern < 0x10000u; ++pattern) {
    const Half h{static_cast<std::uint16_t>(pattern)};
    if (!std::isfinite(to_float(h))) continue;
    for (const int unit : {-24, -20, -8, 0, 3, 20}) {
      const auto value = static_cast<long double>(to_float(h));
      const auto want = std::copysign(round_even(std::ldexp(std::abs(value), 4 - unit)), value);
      if (fixed::from_half(h, 4, unit) != static_cast<std::int64_t>(want)) FAIL(pattern << " at 2^" << unit);
    }
  }
}

TEST_CASE("the block exponent puts the largest scale at the top of binary16", "[core]") {
  CHECK(fixed::block_exponent({}) == 0);
  CHECK(fixed::block_exponent(std::vector<Scale>{{}, {}}) == 0);
  tightkv_test::Rng rng(4);
  for (int i = 0; i < 1000; ++i) {
    std::vector<Scale> scales;
    double largest = 0;
    for (int k = 0; k < 5; ++k) {
      const auto mantissa = static_cast<std::int32_t>(1024 + rng.below(1024));
      scales.push_back(rng.below(4) == 0
                           ? Scale{}
                           : Scale{k % 2 ? -mantissa : mantissa, static_cast<int>(rng.below(200)) - 100});
      largest = std::max(largest, std::abs(double{fixed::to_float(scales.back())}));
    }
    if (largest == 0) continue;
    const double top = std::ldexp(largest, -fixed::block_exponent(scales));
    if (top < 32768 || top > 65504) FAIL(top);
  }
}

TEST_CASE("powers of two are exact and clamped to the normal range", "[core]") {
  for (int e = -126; e <= 127; ++e) CHECK(fixed::power_of_two(e) == std::ldexp(1.0f, e));
  CHECK(fixed::power_of_two(-500) == std::numeric_limits<float>::min());
  CHECK(fixed::power_of_two(500) == 0x1p127f);
  CHECK(fixed::scale_by(3.0f, -140) == std::ldexp(3.0f, -140));  // a subnormal result
  CHECK(fixed::scale_by(0x1p-100f, 200) == 0x1p100f);
}
