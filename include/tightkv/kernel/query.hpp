// kernel/query.hpp: a query made ready once for all blocks of a head: rotated, and rounded to integers.
#pragma once

#include "../core/concepts.hpp"

namespace tightkv::inline TIGHTKV_ABI {

/// A vector as scale * (254 high + low), both parts int8 in [-127, 127]. An 8-bit vector has high = 0.
struct IntegerVector {
  Buffer<std::int8_t> high, low;
  std::int32_t high_sum = 0, low_sum = 0;  // of the values, for kernels that work on level + 128
  float scale = 0;
  bool wide = false;

  /// Rounds to nearest with the largest value at the end of the range: 127, or 32,385 if `two_planes`. The
  /// error of a value is at most scale / 2. 8 bits are below the noise of codes up to 5 bits, 16 bits below
  /// that of 8-bit codes.
  void assign(std::span<const float> values, bool two_planes) {
    wide = two_planes;
    high.assign(values.size(), 0);
    low.resize(values.size());
    high_sum = low_sum = 0;
    float largest = 0;
    for (const float v : values) largest = (std::max)(largest, v < 0 ? -v : v);
    const float top = wide ? 32385.0f : 127.0f;
    scale = largest / top;
    // Tiny queries are lifted by a power of two, so that the factor stays finite.
    const float lift = largest < 1e-20f ? 18446744073709551616.0f : 1.0f;
    const float inverse = largest > 0 ? top / (largest * lift) : 0.0f;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const float scaled = values[i] * lift * inverse;
      int rounded = static_cast<int>(scaled < 0 ? scaled - 0.5f : scaled + 0.5f);
      if (wide) {
        const int h = (rounded + (rounded < 0 ? -126 : 126)) / 254;
        high[i] = static_cast<std::int8_t>(h);
        rounded -= 254 * h;
      }
      low[i] = static_cast<std::int8_t>(std::clamp(rounded, -127, 127));
      high_sum += high[i], low_sum += low[i];
    }
  }

  /// The integer at i: what the scores are computed from.
  int value(std::size_t i) const noexcept { return 254 * high[i] + low[i]; }
};

/// Everything a codec needs of one query, in buffers that are reused.
struct PreparedQuery {
  Buffer<float> rotated;      // (dim padded): conditioned and rotated, zero in the padding
  IntegerVector code;         // of `rotated`
  Buffer<float> sketch;       // (sign_rows padded): kappa S q, zero in the padding
  IntegerVector sketch_code;  // of `sketch`
  Buffer<float> group_sum;    // (groups): sum of q over a group, for the zero points of GroupQuant
  Buffer<float> raw;          // (raw dims): the part of q that meets raw dims (Split)
};

}  // namespace tightkv::inline TIGHTKV_ABI
