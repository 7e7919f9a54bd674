// core/types.hpp: 16-bit floats by integer arithmetic, and strided views of what an engine hands over.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "buffer.hpp"

namespace tightkv::inline TIGHTKV_ABI {

enum class ElementType : std::uint8_t { f32 = 0, f16 = 1, bf16 = 2 };

constexpr std::size_t element_size(ElementType type) noexcept { return type == ElementType::f32 ? 4 : 2; }

constexpr const char* name(ElementType type) noexcept {
  return type == ElementType::f32 ? "f32" : type == ElementType::f16 ? "f16" : "bf16";
}

/// IEEE binary16 as its bits. Conversions are integer only, so that they do not depend on flags or on F16C.
struct Half {
  std::uint16_t bits = 0;
  friend constexpr bool operator==(Half, Half) = default;
};

namespace detail {

/// Shifts right by `shift` (>= 0), rounding to nearest, ties to even. A shift above 63 gives 0.
constexpr std::uint64_t shift_right_even(std::uint64_t value, int shift) noexcept {
  if (shift <= 0) return value;
  if (shift > 63) return 0;
  const std::uint64_t floor = value >> shift, rest = value & ((std::uint64_t{1} << shift) - 1),
                      half = std::uint64_t{1} << (shift - 1);
  return floor + ((rest > half || (rest == half && (floor & 1))) ? 1 : 0);
}

/// The binary16 nearest to mantissa * 2^exponent (ties to even, overflow to infinity, subnormals kept).
constexpr std::uint16_t half_magnitude(std::uint64_t mantissa, int exponent) noexcept {
  if (mantissa == 0) return 0;
  const int top = 63 - std::countl_zero(mantissa) + exponent;  // value is in [2^top, 2^(top+1))
  const int unit = (top < -14 ? -14 : top) - 10;               // weight of the last kept bit
  const int shift = unit - exponent;
  std::uint64_t kept = shift >= 0 ? shift_right_even(mantissa, shift) : mantissa << -shift;
  int biased = unit + 25;  // exponent field for kept in [2^10, 2^11)
  if (kept >> 11) kept >>= 1, ++biased;
  if (kept < 1024) return static_cast<std::uint16_t>(kept);  // subnormal
  if (biased >= 31) return 0x7c00;
  return static_cast<std::uint16_t>((static_cast<std::uint64_t>(biased) << 10) | (kept & 1023));
}

}  // namespace detail

/// Exact.
constexpr float to_float(Half h) noexcept {
  const std::uint32_t sign = (h.bits & 0x8000u) << 16, field = (h.bits >> 10) & 31u, rest = h.bits & 1023u;
  if (field == 31) return std::bit_cast<float>(sign | 0x7f800000u | (rest << 13));
  if (field != 0) return std::bit_cast<float>(sign | ((field + 112) << 23) | (rest << 13));
  if (rest == 0) return std::bit_cast<float>(sign);
  const int top = 31 - std::countl_zero(rest);  // subnormal: rest * 2^-24
  return std::bit_cast<float>(sign | (static_cast<std::uint32_t>(top + 103) << 23) |
                              ((rest << (23 - top)) & 0x7fffffu));
}

/// Nearest, ties to even; overflow gives infinity, NaN stays NaN.
constexpr Half to_half(float x) noexcept {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(x), magnitude = bits & 0x7fffffffu;
  const auto sign = static_cast<std::uint16_t>((bits >> 16) & 0x8000u);
  if (magnitude >= 0x7f800000u)
    return {static_cast<std::uint16_t>(sign | (magnitude > 0x7f800000u ? 0x7e00u : 0x7c00u))};
  const std::uint32_t field = magnitude >> 23;
  const std::uint64_t mantissa = (magnitude & 0x7fffffu) | (field ? 0x800000u : 0u);
  return {static_cast<std::uint16_t>(
      sign | detail::half_magnitude(mantissa, static_cast<int>(field ? field : 1) - 150))};
}

constexpr float bf16_to_float(std::uint16_t bits) noexcept {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

/// Nearest, ties to even; NaN stays NaN.
constexpr std::uint16_t float_to_bf16(float x) noexcept {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(x);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return static_cast<std::uint16_t>((bits >> 16) | 0x40u);
  return static_cast<std::uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

/// What an engine hands over: element (token, head, i) is at data + token * token_stride + head * head_stride
/// + i, strides counted in elements. Nothing is aligned.
struct TensorView {
  const void* data = nullptr;
  ElementType type = ElementType::f32;
  std::size_t tokens = 0, heads = 0, dim = 0;
  std::ptrdiff_t token_stride = 0, head_stride = 0;

  const std::byte* row(std::size_t token, std::size_t head) const noexcept {
    const auto offset =
        static_cast<std::ptrdiff_t>(token) * token_stride + static_cast<std::ptrdiff_t>(head) * head_stride;
    return static_cast<const std::byte*>(data) + offset * static_cast<std::ptrdiff_t>(element_size(type));
  }
};

/// A dense [tokens][heads][dim] array.
inline TensorView contiguous(const float* data, std::size_t tokens, std::size_t heads,
                             std::size_t dim) noexcept {
  return {data,
          ElementType::f32,
          tokens,
          heads,
          dim,
          static_cast<std::ptrdiff_t>(heads * dim),
          static_cast<std::ptrdiff_t>(dim)};
}

namespace detail {

/// The bits of element i of a row as a binary32, exactly. `row` may be unaligned.
inline std::uint32_t float_bits(const std::byte* row, ElementType type, std::size_t i) noexcept {
  if (type == ElementType::f32) {
    std::uint32_t bits;
    std::memcpy(&bits, row + 4 * i, 4);
    return bits;
  }
  std::uint16_t bits;
  std::memcpy(&bits, row + 2 * i, 2);
  if (type == ElementType::bf16) return static_cast<std::uint32_t>(bits) << 16;
  return std::bit_cast<std::uint32_t>(to_float(Half{bits}));
}

inline float load_element(const std::byte* row, ElementType type, std::size_t i) noexcept {
  return std::bit_cast<float>(float_bits(row, type, i));
}

/// The bits of a binary32 after one rounding to `type`.
constexpr std::uint32_t rounded_bits(std::uint32_t bits, ElementType type) noexcept {
  const float x = std::bit_cast<float>(bits);
  if (type == ElementType::f16) return std::bit_cast<std::uint32_t>(to_float(to_half(x)));
  return type == ElementType::bf16 ? static_cast<std::uint32_t>(float_to_bf16(x)) << 16 : bits;
}

/// Converts element i of a row to `type`; exact where the types are equal or `type` is f32.
inline void convert_element(const std::byte* from, ElementType from_type, std::size_t i, ElementType type,
                            std::byte* to) noexcept {
  if (from_type == type) {
    std::memcpy(to, from + i * element_size(type), element_size(type));
    return;
  }
  const float value = load_element(from, from_type, i);
  if (type == ElementType::f32)
    std::memcpy(to, &value, 4);
  else {
    const std::uint16_t bits = type == ElementType::f16 ? to_half(value).bits : float_to_bf16(value);
    std::memcpy(to, &bits, 2);
  }
}

/// True for NaN and infinity, decided on the bits: -ffast-math cannot remove it.
constexpr bool is_non_finite(std::uint32_t bits) noexcept { return (bits & 0x7f800000u) == 0x7f800000u; }

}  // namespace detail

}  // namespace tightkv::inline TIGHTKV_ABI
