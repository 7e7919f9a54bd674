// dequant.hpp: ggml's quantized weights back to float, one block at a time.
//
// Every format stores a row as blocks: a 16-bit float scale (and sometimes a minimum), then small integers.
// 32-value blocks keep value j in the low and value j + 16 in the high nibble of byte j. The K formats hold
// 256 values in sub-blocks with 6- or 8-bit scales of their own.
#pragma once

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "tensor_type.hpp"

namespace engine {

/// IEEE 754 binary16 to float: exact, including subnormals, infinities and NaN.
inline float half_to_float(std::uint16_t h) noexcept {
  const auto sign = static_cast<std::uint32_t>(h & 0x8000u) << 16;
  const std::uint32_t exponent = (h >> 10) & 31u, mantissa = h & 1023u;
  if (exponent == 0) {  // zero or subnormal: mantissa * 2^-24
    const float magnitude = std::ldexp(static_cast<float>(mantissa), -24);
    return sign != 0 ? -magnitude : magnitude;
  }
  const std::uint32_t wide = exponent == 31 ? 255u : exponent + 112u;
  return std::bit_cast<float>(sign | (wide << 23) | (mantissa << 13));
}

namespace block {

template <class T>
T load(const std::byte* from) noexcept {  // blocks are byte-packed, so nothing is aligned
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}
inline float half(const std::byte* from) noexcept { return half_to_float(load<std::uint16_t>(from)); }
inline int byte(const std::byte* from) noexcept { return std::to_integer<int>(*from); }

inline void q4_0(const std::byte* in, float* out) noexcept {
  const float scale = half(in);
  for (int j = 0; j < 16; ++j) {
    const int b = byte(in + 2 + j);
    out[j] = scale * static_cast<float>((b & 15) - 8);
    out[j + 16] = scale * static_cast<float>((b >> 4) - 8);
  }
}

inline void q4_1(const std::byte* in, float* out) noexcept {
  const float scale = half(in), minimum = half(in + 2);
  for (int j = 0; j < 16; ++j) {
    const int b = byte(in + 4 + j);
    out[j] = scale * static_cast<float>(b & 15) + minimum;
    out[j + 16] = scale * static_cast<float>(b >> 4) + minimum;
  }
}

inline void q5_0(const std::byte* in, float* out) noexcept {
  const float scale = half(in);
  const auto fifth = load<std::uint32_t>(in + 2);  // bit i is the top bit of value i
  for (int j = 0; j < 16; ++j) {
    const int b = byte(in + 6 + j);
    const int low = (b & 15) | static_cast<int>((fifth >> j & 1u) << 4);
    const int high = (b >> 4) | static_cast<int>((fifth >> (j + 16) & 1u) << 4);
    out[j] = scale * static_cast<float>(low - 16);
    out[j + 16] = scale * static_cast<float>(high - 16);
  }
}

inline void q8_0(const std::byte* in, float* out) noexcept {
  const float scale = half(in);
  for (int j = 0; j < 32; ++j) out[j] = scale * static_cast<float>(load<std::int8_t>(in + 2 + j));
}

/// 8 sub-blocks of 32; scale and minimum of each are 6 bits, packed into the 12 bytes after the two halves.
inline void q4_k(const std::byte* in, float* out) noexcept {
  const float scale = half(in), minimum = half(in + 2);
  const std::byte* packed = in + 4;
  const std::byte* codes = in + 16;
  for (int sub = 0; sub < 8; ++sub) {
    int s, m;
    if (sub < 4) {
      s = byte(packed + sub) & 63;
      m = byte(packed + sub + 4) & 63;
    } else {  // low 4 bits in bytes 8..11, top 2 bits above those of sub-blocks 0..3
      s = (byte(packed + sub + 4) & 15) | (byte(packed + sub - 4) >> 6 << 4);
      m = (byte(packed + sub + 4) >> 4) | (byte(packed + sub) >> 6 << 4);
    }
    const float step = scale * static_cast<float>(s), floor = minimum * static_cast<float>(m);
    for (int j = 0; j < 32; ++j) {
      const int b = byte(codes + sub / 2 * 32 + j);
      out[sub * 32 + j] = step * static_cast<float>(sub % 2 == 0 ? b & 15 : b >> 4) - floor;
    }
  }
}

/// Two halves of 128 values: 64 bytes of low nibbles, 32 bytes of top bit pairs, 8 int8 scales (one per 16
/// values).
inline void q6_k(const std::byte* in, float* out) noexcept {
  const float scale = half(in + 208);
  for (int n = 0; n < 2; ++n) {
    const std::byte *low = in + n * 64, *top = in + 128 + n * 32, *scales = in + 192 + n * 8;
    for (int j = 0; j < 128; ++j) {
      const int lane = j % 32, row = j / 32;  // row: which bit pair of top, and which nibble of low
      const int nibble = byte(low + lane + row % 2 * 32) >> (row / 2 * 4) & 15;
      const int code = (nibble | (byte(top + lane) >> (row * 2) & 3) << 4) - 32;
      out[n * 128 + j] =
          scale * static_cast<float>(load<std::int8_t>(scales + j / 16)) * static_cast<float>(code);
    }
  }
}

}  // namespace block

/// `in` holds whole blocks of `type`; `out` has room for in.size() / block_bytes * block_values floats.
inline void dequantize(TensorType type, std::span<const std::byte> in, float* out) {
  const TensorLayout& layout = tensor_layout(type);
  if (in.size() % layout.block_bytes != 0)
    throw Error(std::to_string(in.size()) + " bytes are no whole number of " + layout.name + " blocks");
  for (std::size_t at = 0; at < in.size(); at += layout.block_bytes, out += layout.block_values) {
    const std::byte* from = in.data() + at;
    switch (type) {
      case TensorType::f32:
        *out = block::load<float>(from);
        break;
      case TensorType::f16:
        *out = block::half(from);
        break;
      case TensorType::bf16:
        *out = std::bit_cast<float>(static_cast<std::uint32_t>(block::load<std::uint16_t>(from)) << 16);
        break;
      case TensorType::q4_0:
        block::q4_0(from, out);
        break;
      case TensorType::q4_1:
        block::q4_1(from, out);
        break;
      case TensorType::q5_0:
        block::q5_0(from, out);
        break;
      case TensorType::q8_0:
        block::q8_0(from, out);
        break;
      case TensorType::q4_k:
        block::q4_k(from, out);
        break;
      case TensorType::q6_k:
        block::q6_k(from, out);
        break;
    }
  }
}

}  // namespace engine
