// core/record.hpp: one encoded vector before it is packed, and the shape that says how it is packed.
#pragma once

#include "fixed.hpp"
#include "format.hpp"

namespace tightkv::inline TIGHTKV_ABI {

/// How score and accumulate round: `integer` is what the kernels do (int8 or 16-bit query, 16-bit weights),
/// `exact` keeps the query and the weights in binary32.
enum class Arithmetic : std::uint8_t { integer, exact };

/// What one vector takes in a block: `bits` a dim of `dim` (padded), `sign_rows` sign bits (padded), `scales`
/// halfs, and `raw_bytes` stored as they came.
struct RecordShape {
  std::size_t dim = 0;
  unsigned bits = 0;
  std::size_t sign_rows = 0;
  std::size_t scales = 0;
  std::size_t raw_bytes = 0;

  constexpr std::size_t key_tile_bytes() const noexcept {
    return layout::key_tile_bytes(dim, bits) + layout::key_tile_bytes(sign_rows, 1);
  }
  constexpr std::size_t value_block_bytes() const noexcept { return layout::value_block_bytes(dim, bits); }
  /// Codes, signs, scales and raw part of one vector; fractional bytes do not occur since dims are padded
  /// to 16.
  constexpr std::size_t bytes_per_vector() const noexcept {
    return (dim * bits + sign_rows) / 8 + 2 * scales + raw_bytes;
  }
  friend constexpr bool operator==(const RecordShape&, const RecordShape&) = default;
};

/// One vector on its way into a block: as integers x * 2^unit (conditioned, |x_i| < 2^headroom_bits, used up
/// by encode), and as the row that the engine appended, for codecs that keep values raw.
struct VectorInput {
  std::span<std::int32_t> x;
  int unit = 0;
  const std::byte* row = nullptr;
  ElementType type = ElementType::f32;
};

/// One encoded vector: a code a dim, a sign a sketch row (1 = not negative), scales with their own exponents.
struct Record {
  Buffer<std::uint8_t> codes, signs;
  Buffer<fixed::Scale> scales;
  Buffer<std::byte> raw;

  void resize(const RecordShape& shape) {
    codes.assign(shape.bits ? shape.dim : 0, 0);
    signs.assign(shape.sign_rows, 0);
    scales.assign(shape.scales, {});
    raw.assign(shape.raw_bytes, std::byte{0});
  }
};

/// The same, read back from a block: codes as int8 levels (by the codec's levels()), scales as floats.
struct RecordView {
  std::span<const std::int8_t> levels;
  std::span<const std::uint8_t> signs;
  std::span<const float> scales;
  const std::byte* raw = nullptr;
};

/// The records of a block side by side: levels (tokens, dim padded), scales (tokens, scales a vector).
struct BlockRows {
  std::span<const std::int8_t> levels;
  std::span<const float> scales;
  const std::byte* raw = nullptr;  // (tokens, raw_bytes)
};

namespace detail {

/// |x|_2 <= 2^25 for any x with |x_i| < 2^headroom_bits(dim): what Rotation::forward(integers) asks for.
constexpr int headroom_bits(std::size_t dim) noexcept { return 25 - (fixed::bit_length(dim - 1) + 1) / 2; }

/// Shifts the values so that the largest has headroom_bits(dim) bits; returns the shift. All zero: 0.
inline int normalise(std::span<const std::int64_t> values, std::span<std::int32_t> out,
                     std::size_t dim) noexcept {
  std::uint64_t all = 0;
  for (const std::int64_t v : values) all |= static_cast<std::uint64_t>(v < 0 ? -v : v);
  const int shift = all == 0 ? 0 : fixed::bit_length(all) - headroom_bits(dim);
  for (std::size_t i = 0; i < values.size(); ++i)
    out[i] = static_cast<std::int32_t>(shift >= 0 ? fixed::shift_round(values[i], shift)
                                                  : values[i] * (std::int64_t{1} << -shift));
  return shift;
}

}  // namespace detail

}  // namespace tightkv::inline TIGHTKV_ABI
