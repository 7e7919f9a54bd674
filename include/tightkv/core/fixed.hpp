// core/fixed.hpp: the integer arithmetic that decides every stored byte. No float operation takes part, so
// the bytes are the same on every CPU, compiler and flag.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

#include "types.hpp"

namespace tightkv::inline TIGHTKV_ABI::fixed {

constexpr int bit_length(std::uint64_t x) noexcept { return 64 - std::countl_zero(x); }

/// x / 2^shift, to nearest, ties upwards (one add and one arithmetic shift, the same on every backend).
constexpr std::int64_t shift_round(std::int64_t x, int shift) noexcept {
  return shift <= 0 ? x : (x + (std::int64_t{1} << (shift - 1))) >> shift;
}

/// floor(sqrt(x)).
constexpr std::uint64_t isqrt(std::uint64_t x) noexcept {
  std::uint64_t root = 0;
  for (std::uint64_t bit = std::uint64_t{1} << ((bit_length(x | 1) - 1) & ~1); bit != 0; bit >>= 2) {
    if (x >= root + bit) {
      x -= root + bit;
      root = (root >> 1) + bit;
    } else {
      root >>= 1;
    }
  }
  return root;
}

/// The exponent e with |value| < 2^e for a finite binary32 given as bits; a very small number for zero.
constexpr int exponent_above(std::uint32_t bits) noexcept {
  const std::uint32_t magnitude = bits & 0x7fffffffu, field = magnitude >> 23;
  if (magnitude == 0) return -1000;
  return field ? static_cast<int>(field) - 126 : bit_length(magnitude) - 149;
}

/// A finite binary32 (as bits) in units of 2^unit, rounded to nearest even. Needs |value| < 2^(unit + 31).
constexpr std::int32_t from_float_bits(std::uint32_t bits, int unit) noexcept {
  const std::uint32_t field = (bits >> 23) & 255u;
  const std::uint64_t mantissa = (bits & 0x7fffffu) | (field ? 0x800000u : 0u);
  const int shift = (static_cast<int>(field ? field : 1) - 150) - unit;
  const std::uint64_t magnitude =
      shift >= 0 ? (mantissa ? mantissa << shift : 0) : detail::shift_right_even(mantissa, -shift);
  const auto value = static_cast<std::int32_t>(magnitude);
  return bits >> 31 ? -value : value;
}

/// A number m * 2^exponent with |m| in [2^10, 2^11), or zero (m = 0): a binary16 without its range.
struct Scale {
  std::int32_t mantissa = 0;
  int exponent = 0;
  friend constexpr bool operator==(Scale, Scale) = default;
};

/// numerator / denominator * 2^exponent, rounded to 11 bits (nearest even). Needs numerator < 2^63 and 0 <
/// denominator < 2^40.
constexpr Scale ratio(std::uint64_t numerator, std::uint64_t denominator, int exponent) noexcept {
  if (numerator == 0) return {};
  const int up = std::countl_zero(numerator) - 1;
  numerator <<= up;
  std::uint64_t quotient = numerator / denominator;  // at least 2^22
  quotient =
      (quotient << 1) | (numerator % denominator != 0 ? 1 : 0);  // a sticky bit keeps the rounding exact
  const int drop = bit_length(quotient) - 11;
  std::uint64_t kept = detail::shift_right_even(quotient, drop);
  int e = exponent - up - 1 + drop;
  if (kept >> 11) kept >>= 1, ++e;
  return {static_cast<std::int32_t>(kept), e};
}

/// The stored half of a scale relative to the block exponent: scale = half * 2^block_exponent.
constexpr Half to_half(Scale s, int block_exponent) noexcept {
  const auto magnitude = static_cast<std::uint64_t>(s.mantissa < 0 ? -s.mantissa : s.mantissa);
  const std::uint16_t bits = detail::half_magnitude(magnitude, s.exponent - block_exponent);
  return {static_cast<std::uint16_t>(bits | (s.mantissa < 0 ? 0x8000u : 0u))};
}

/// The integer value * 2^unit rounded to 11 bits (nearest even).
constexpr Scale round_to_scale(std::int64_t value, int unit) noexcept {
  if (value == 0) return {};
  const Scale s = ratio(static_cast<std::uint64_t>(value < 0 ? -value : value), 1, unit);
  return {value < 0 ? -s.mantissa : s.mantissa, s.exponent};
}

/// half * 2^exponent in units of 2^unit, rounded to nearest even. Needs |value| < 2^(unit + 62).
constexpr std::int64_t from_half(Half h, int exponent, int unit) noexcept {
  const int field = (h.bits >> 10) & 31;
  const std::uint64_t mantissa = (h.bits & 1023u) | (field ? 1024u : 0u);
  const int shift = (field ? field : 1) - 25 + exponent - unit;
  const auto magnitude = static_cast<std::int64_t>(shift >= 0 ? (mantissa ? mantissa << shift : 0)
                                                              : detail::shift_right_even(mantissa, -shift));
  return h.bits >> 15 ? -magnitude : magnitude;
}

/// The exponent e with |half * 2^exponent| < 2^e; a very small number for zero.
constexpr int exponent_above(Half h, int exponent) noexcept {
  const int field = (h.bits >> 10) & 31;
  const std::uint64_t mantissa = (h.bits & 1023u) | (field ? 1024u : 0u);
  return mantissa == 0 ? -1000 : bit_length(mantissa) + (field ? field : 1) - 25 + exponent;
}

/// The block exponent that puts the largest of these scales into [2^15, 2^16); 0 if all are zero.
constexpr int block_exponent(std::span<const Scale> scales) noexcept {
  int largest = 0;
  bool any = false;
  for (const Scale s : scales)
    if (s.mantissa != 0 && (!any || s.exponent + 10 > largest)) largest = s.exponent + 10, any = true;
  return any ? largest - 15 : 0;
}

/// 2^exponent as a float, clamped to the normal range: no libm.
constexpr float power_of_two(int exponent) noexcept {
  const int field = exponent + 127 < 1 ? 1 : exponent + 127 > 254 ? 254 : exponent + 127;
  return std::bit_cast<float>(static_cast<std::uint32_t>(field) << 23);
}

/// Multiplies by 2^exponent for any exponent, in two steps so that neither factor leaves the float range.
constexpr float scale_by(float x, int exponent) noexcept {
  return x * power_of_two(exponent / 2) * power_of_two(exponent - exponent / 2);
}

constexpr float to_float(Scale s) noexcept { return scale_by(static_cast<float>(s.mantissa), s.exponent); }

}  // namespace tightkv::inline TIGHTKV_ABI::fixed
