#include <tightkv/core/types.hpp>

#include <cmath>
#include <limits>
#include <vector>

#include "catch.hpp"

using namespace tightkv;

namespace {

/// The value of 16 bits by their definition: `fields` exponent bits (5 or 8), the rest mantissa.
double value_of(unsigned bits, int fields) {
  const int mantissa_bits = 15 - fields, bias = (1 << (fields - 1)) - 1;
  const int field = static_cast<int>(bits >> mantissa_bits) & ((1 << fields) - 1);
  const double rest = static_cast<double>(bits & ((1u << mantissa_bits) - 1)), sign = bits >> 15 ? -1 : 1;
  if (field == (1 << fields) - 1)
    return rest != 0 ? std::numeric_limits<double>::quiet_NaN()
                     : sign * std::numeric_limits<double>::infinity();
  if (field == 0) return sign * std::ldexp(rest, 1 - bias - mantissa_bits);
  return sign * std::ldexp(rest + std::ldexp(1, mantissa_bits), field - bias - mantissa_bits);
}

/// Rounding by definition: the pattern of the nearest finite value, ties to the even pattern; above the
/// midpoint of the largest finite value and the next power of two: infinity.
unsigned round_by_search(double x, int fields) {
  const unsigned sign = std::signbit(x) ? 0x8000u : 0u, infinity = ((1u << fields) - 1) << (15 - fields);
  const double magnitude = std::abs(x);
  unsigned low = 0, high = infinity;  // value_of(low) <= magnitude < value_of(high)
  if (std::isinf(x)) return sign | infinity;
  while (high - low > 1) {
    const unsigned middle = (low + high) / 2;
    (value_of(middle, fields) <= magnitude ? low : high) = middle;
  }
  const double below = value_of(low, fields);
  const double above =
      high == infinity ? 2 * value_of(infinity - (1u << (15 - fields)), fields) : value_of(high, fields);
  const double middle = below + (above - below) / 2;
  if (magnitude > middle || (magnitude == middle && low % 2 == 1)) return sign | high;
  return sign | low;
}

std::vector<float> hard_floats() {
  std::vector<float> all;
  for (unsigned pattern = 0; pattern < 0x8000u; ++pattern)
    for (const int fields : {5, 8}) {
      const double here = value_of(pattern, fields), next = value_of(pattern + 1, fields);
      if (!std::isfinite(here)) continue;
      const float tie = std::isfinite(next) ? static_cast<float>((here + next) / 2)
                                            : static_cast<float>(fields == 5 ? 65520.0 : 3.3961775e38);
      for (const float x : {static_cast<float>(here), tie, std::nextafter(tie, 0.0f),
                            std::nextafter(tie, std::numeric_limits<float>::max())})
        all.push_back(x), all.push_back(-x);
    }
  for (unsigned i = 0; i < 200000; ++i) {  // spread over all binary32
    const float x = std::bit_cast<float>(i * 2654435761u);
    if (std::isfinite(x)) all.push_back(x);
  }
  return all;
}

}  // namespace

TEST_CASE("known 16-bit floats", "[core]") {
  CHECK(to_float(Half{0x3c00}) == 1.0f);
  CHECK(to_float(Half{0xc000}) == -2.0f);
  CHECK(to_float(Half{0x7bff}) == 65504.0f);
  CHECK(to_float(Half{0x0001}) == 0x1p-24f);
  CHECK(to_half(65519.996f).bits == 0x7bff);
  CHECK(to_half(65520.0f).bits == 0x7c00);  // the tie above the largest half goes to infinity
  CHECK(to_half(0x1p-25f).bits == 0);       // half of the smallest subnormal: tie to even
  CHECK(to_half(0x1.8p-24f).bits == 2);
  CHECK(to_half(-0.0f).bits == 0x8000);
  CHECK(float_to_bf16(1.00390625f) == 0x3f80);  // a tie
  CHECK(float_to_bf16(1.01171875f) == 0x3f82);
  CHECK(float_to_bf16(std::numeric_limits<float>::max()) == 0x7f80);
  static_assert(to_half(1.0f).bits == 0x3c00 && to_float(Half{0x3555}) == 0.333251953125f);
}

TEST_CASE("all 65,536 halfs and bfloats have their defined value and come back", "[core]") {
  std::size_t wrong = 0;
  for (unsigned pattern = 0; pattern < 0x10000u; ++pattern) {
    const auto bits = static_cast<std::uint16_t>(pattern);
    const float half = to_float(Half{bits}), bfloat = bf16_to_float(bits);
    const double want_half = value_of(pattern, 5), want_bfloat = value_of(pattern, 8);
    if (std::isnan(want_half)) {
      wrong += !std::isnan(half) || !std::isnan(to_float(to_half(half))) || (to_half(half).bits ^ bits) >> 15;
    } else {
      wrong += static_cast<double>(half) != want_half || to_half(half).bits != bits;
    }
    if (std::isnan(want_bfloat)) {
      wrong += !std::isnan(bfloat) || !std::isnan(bf16_to_float(float_to_bf16(bfloat)));
    } else {
      wrong += static_cast<double>(bfloat) != want_bfloat || float_to_bf16(bfloat) != bits;
    }
  }
  CHECK(wrong == 0);
}

TEST_CASE("conversion to 16 bits rounds to nearest even: ties, neighbours of ties, subnormals", "[core]") {
  std::size_t wrong_half = 0, wrong_bfloat = 0;
  for (const float x : hard_floats()) {
    if (to_half(x).bits != round_by_search(x, 5)) ++wrong_half;
    if (float_to_bf16(x) != round_by_search(x, 8)) ++wrong_bfloat;
  }
  CHECK(wrong_half == 0);
  CHECK(wrong_bfloat == 0);
}

TEST_CASE("NaN stays NaN even where its mantissa would be rounded away", "[core]") {
  for (const std::uint32_t bits : {0x7f800001u, 0xff800001u, 0x7fffffffu, 0x7fc00000u}) {
    const float nan = std::bit_cast<float>(bits);
    CHECK(std::isnan(to_float(to_half(nan))));
    CHECK(std::isnan(bf16_to_float(float_to_bf16(nan))));
    CHECK(detail::is_non_finite(bits));
  }
  CHECK(detail::is_non_finite(0x7f800000u));
  CHECK_FALSE(detail::is_non_finite(0x7f7fffffu));
}

TEST_CASE("rows are read at any byte offset and in any element type", "[core]") {
  std::vector<std::byte> buffer(64);
  const float values[3] = {1.5f, -2.25f, 0.125f};
  for (std::size_t offset = 0; offset < 8; ++offset)
    for (std::size_t i = 0; i < 3; ++i) {
      std::memcpy(buffer.data() + offset, values, sizeof values);
      CHECK(detail::load_element(buffer.data() + offset, ElementType::f32, i) == values[i]);
      for (std::size_t k = 0; k < 3; ++k) {
        const std::uint16_t half = to_half(values[k]).bits;
        std::memcpy(buffer.data() + offset + 2 * k, &half, 2);
      }
      CHECK(detail::load_element(buffer.data() + offset, ElementType::f16, i) == values[i]);
      for (std::size_t k = 0; k < 3; ++k) {
        const std::uint16_t bfloat = float_to_bf16(values[k]);
        std::memcpy(buffer.data() + offset + 2 * k, &bfloat, 2);
      }
      CHECK(detail::load_element(buffer.data() + offset, ElementType::bf16, i) == values[i]);
    }
}

TEST_CASE("a tensor view counts strides in elements", "[core]") {
  const float data[24] = {};
  const TensorView dense = contiguous(data, 3, 2, 4);
  CHECK(dense.row(2, 1) == reinterpret_cast<const std::byte*>(data) + 4 * (2 * 8 + 4));
  const TensorView heads_first{data, ElementType::f16, 3, 2, 4, 4, 12};
  CHECK(heads_first.row(2, 1) == reinterpret_cast<const std::byte*>(data) + 2 * (2 * 4 + 12));
  const TensorView backwards{data + 20, ElementType::f32, 3, 1, 4, -4, 0};
  CHECK(backwards.row(1, 0) == reinterpret_cast<const std::byte*>(data + 16));
}
