// storage/block.hpp: one block: 64 tokens of one kv head of one layer, a single range of bytes without
// pointers.
#pragma once

#include "../conditioner/condition.hpp"
#include "../core/concepts.hpp"
#include "../kernel/dispatch.hpp"
#include "../kernel/pack.hpp"

// offset 0, 64 bytes   header: i16 key scale exponent | i16 value scale exponent | i16 key mean exponent |
//                      i16 value mean exponent | u16 tokens | zero up to 64
// then, each part at a multiple of 64 bytes:
//      key mean   f16[dims]   (conditioner block_mean only)        value mean   f16[dims]
//      key tiles  4 x 16 tokens                                    key raw      (64, raw bytes)
//      value words                                                 value raw    (64, raw bytes)
//      key scales f16 (64, scales a vector)                        value scales f16 (64, scales a vector)
namespace tightkv::inline TIGHTKV_ABI {

/// Where the parts of a block lie. Pages, snapshots and device memory are these byte ranges.
struct BlockLayout {
  RecordShape key, value;
  std::size_t key_mean_dims = 0, value_mean_dims = 0;
  std::size_t key_mean = 0, value_mean = 0, key_codes = 0, key_raw = 0, value_codes = 0, value_raw = 0,
              key_scales = 0, value_scales = 0;
  std::size_t bytes = 0;

  static constexpr std::size_t header_bytes = 64, alignment = 64;

  /// mean dims are 0 unless the side's conditioner is block_mean.
  static constexpr BlockLayout make(const RecordShape& key, const RecordShape& value,
                                    std::size_t key_mean_dims, std::size_t value_mean_dims) noexcept {
    BlockLayout b;
    b.key = key, b.value = value, b.key_mean_dims = key_mean_dims, b.value_mean_dims = value_mean_dims;
    std::size_t end = header_bytes;
    const auto place = [&](std::size_t& at, std::size_t size) {
      at = end;
      end = bytes::round_up(end + size, alignment);
    };
    place(b.key_mean, 2 * key_mean_dims);
    place(b.value_mean, 2 * value_mean_dims);
    place(b.key_codes, layout::block_tokens / layout::tile_tokens * key.key_tile_bytes());
    place(b.key_raw, layout::block_tokens * key.raw_bytes);
    place(b.value_codes, value.value_block_bytes());
    place(b.value_raw, layout::block_tokens * value.raw_bytes);
    place(b.key_scales, layout::block_tokens * 2 * key.scales);
    place(b.value_scales, layout::block_tokens * 2 * value.scales);
    b.bytes = end;
    return b;
  }

  /// Parts of `bytes`, for the accounting: codes, signs and raw values; scales; header and means. The rest is
  /// slack.
  constexpr std::size_t code_bytes() const noexcept {
    return layout::block_tokens *
           (key.bytes_per_vector() - 2 * key.scales + value.bytes_per_vector() - 2 * value.scales);
  }
  constexpr std::size_t scale_bytes() const noexcept {
    return layout::block_tokens * 2 * (key.scales + value.scales);
  }
  constexpr std::size_t header_part_bytes() const noexcept {
    return header_bytes + 2 * (key_mean_dims + value_mean_dims);
  }
};

/// The i16 fields of the header.
enum class HeaderField : std::size_t {
  key_exponent = 0,
  value_exponent = 2,
  key_mean_exponent = 4,
  value_mean_exponent = 6,
  tokens = 8
};

inline int read_header(const std::byte* block, HeaderField field) noexcept {
  return bytes::load<std::int16_t>(block + static_cast<std::size_t>(field));
}
inline void write_header(std::byte* block, HeaderField field, int value) noexcept {
  bytes::store(block + static_cast<std::size_t>(field), static_cast<std::int16_t>(value));
}

/// Buffers of one block before packing or after unpacking; reused from block to block.
struct BlockScratch {
  Record record;
  Buffer<std::int32_t> x;
  Buffer<std::uint8_t> codes, signs;
  Buffer<fixed::Scale> exact_scales;
  Buffer<std::int8_t> levels;
  Buffer<float> scales;
  Buffer<std::byte> tile;

  /// `size` bytes at a multiple of 64.
  std::byte* aligned_tile(std::size_t size) {
    tile.resize(size + 64);
    return tile.data() + (64 - reinterpret_cast<std::uintptr_t>(tile.data()) % 64) % 64;
  }
};

namespace detail {

/// Encodes 16 rows: codes as columns (dim, 16) into scratch.codes, signs (16, sign_rows) into scratch.signs,
/// scales into `scales`, raw parts at `raw`.
template <Codec C>
void encode_tile_rows(const C& codec, const RowsView& rows, const Condition& condition, fixed::Scale* scales,
                      std::byte* raw, BlockScratch& scratch) {
  const RecordShape shape = codec.shape();
  if constexpr (requires {
                  codec.encode_tile(kernel::on_scalar::table, rows, condition, raw, scratch.codes.data(),
                                    scales);
                }) {
    const kernel::Kernels* on = kernel::choice().kernels;
    if (on && codec.encode_tile(*on, rows, condition,
                                scratch.aligned_tile(kernel::EncodeTile::scratch_bytes(shape.dim)),
                                scratch.codes.data(), scales))
      return;
  }
  for (std::size_t t = 0; t < rows.count; ++t) {
    const int unit = condition_row(rows.row(t), rows.type, condition, scratch.x);
    scratch.record.resize(shape);
    codec.encode({scratch.x, unit, rows.row(t), rows.type}, scratch.record);
    for (std::size_t i = 0; i < scratch.record.codes.size(); ++i)
      scratch.codes[i * layout::tile_tokens + t] = scratch.record.codes[i];
    std::copy(scratch.record.signs.begin(), scratch.record.signs.end(),
              scratch.signs.begin() + static_cast<std::ptrdiff_t>(t * shape.sign_rows));
    std::copy(scratch.record.scales.begin(), scratch.record.scales.end(), scales + t * shape.scales);
    std::copy(scratch.record.raw.begin(), scratch.record.raw.end(), raw + t * shape.raw_bytes);
  }
}

/// Encodes 64 rows tile by tile and calls pack(tile index) after each; writes scales at `scales` and raw
/// parts at `raw` of the block; returns the exponent.
template <Codec C, class Pack>
int encode_rows(const C& codec, const RowsView& rows, const Condition& condition, std::byte* scales,
                std::byte* raw, BlockScratch& scratch, Pack&& pack) {
  const RecordShape shape = codec.shape();
  scratch.x.resize(codec.dim());
  scratch.codes.resize(layout::tile_tokens * (shape.bits ? shape.dim : 0));
  scratch.signs.resize(layout::tile_tokens * shape.sign_rows);
  scratch.exact_scales.resize(layout::block_tokens * shape.scales);
  with_concrete(codec, [&](const auto& concrete) {
    for (std::size_t tile = 0; tile < layout::block_tokens / layout::tile_tokens; ++tile) {
      const std::size_t first = tile * layout::tile_tokens;
      const RowsView part{rows.row(first), layout::tile_tokens, rows.dim, rows.stride, rows.type};
      encode_tile_rows(concrete, part, condition, scratch.exact_scales.data() + first * shape.scales,
                       raw + first * shape.raw_bytes, scratch);
      pack(tile);
    }
  });
  const int exponent = fixed::block_exponent(scratch.exact_scales);
  for (std::size_t i = 0; i < scratch.exact_scales.size(); ++i)
    bytes::store(scales + 2 * i, fixed::to_half(scratch.exact_scales[i], exponent).bits);
  return exponent;
}

inline void write_mean(std::byte* to, const HalfVector& mean) noexcept {
  for (std::size_t i = 0; i < mean.values.size(); ++i) bytes::store(to + 2 * i, mean.values[i].bits);
}

inline HalfVector read_mean(const std::byte* from, std::size_t dims, int exponent) {
  HalfVector mean;
  mean.exponent = exponent;
  mean.values.resize(dims);
  for (std::size_t i = 0; i < dims; ++i) mean.values[i].bits = bytes::load<std::uint16_t>(from + 2 * i);
  return mean;
}

inline void read_scales(const std::byte* from, std::size_t count, int exponent, Buffer<float>& out) {
  out.resize(count);
  for (std::size_t i = 0; i < count; ++i)
    out[i] = fixed::scale_by(to_float(Half{bytes::load<std::uint16_t>(from + 2 * i)}), exponent);
}

/// Codes to levels, row by row.
template <Codec C>
void decode_levels(const C& codec, std::size_t dim, BlockScratch& scratch) {
  scratch.levels.resize(scratch.codes.size());
  with_concrete(codec, [&](const auto& concrete) {
    for (std::size_t begin = 0; begin < scratch.codes.size(); begin += dim)
      concrete.levels(std::span<const std::uint8_t>(scratch.codes).subspan(begin, dim),
                      std::span(scratch.levels).subspan(begin, dim));
  });
}

}  // namespace detail

/// Encodes 64 keys into a zeroed block. With a block mean, condition.mean is that of these rows and is stored
/// too.
template <KeyCodec K>
void encode_keys(const K& codec, const BlockLayout& where, const RowsView& rows, const Condition& condition,
                 std::byte* block, BlockScratch& scratch) {
  const auto pack = [&](std::size_t tile) {
    std::byte* const to = block + where.key_codes + tile * where.key.key_tile_bytes();
    if (where.key.bits)
      kernel::pack_key_columns(kernel::scalar{}, where.key.dim, where.key.bits, scratch.codes.data(), to);
    if (where.key.sign_rows)
      kernel::pack_key_tile(kernel::scalar{}, where.key.sign_rows, 1, scratch.signs.data(),
                            to + layout::key_tile_bytes(where.key.dim, where.key.bits));
  };
  const int exponent = detail::encode_rows(codec, rows, condition, block + where.key_scales,
                                           block + where.key_raw, scratch, pack);
  write_header(block, HeaderField::key_exponent, exponent);
  write_header(block, HeaderField::tokens, static_cast<int>(rows.count));
  if (where.key_mean_dims) {
    detail::write_mean(block + where.key_mean, condition.mean);
    write_header(block, HeaderField::key_mean_exponent, condition.mean.exponent);
  }
}

template <ValueCodec V>
void encode_values(const V& codec, const BlockLayout& where, const RowsView& rows, const Condition& condition,
                   std::byte* block, BlockScratch& scratch) {
  const auto pack = [&](std::size_t tile) {
    if (where.value.bits)
      kernel::pack_value_columns(kernel::scalar{}, where.value.dim, where.value.bits,
                                 tile * layout::tile_tokens, scratch.codes.data(), block + where.value_codes);
  };
  const int exponent = detail::encode_rows(codec, rows, condition, block + where.value_scales,
                                           block + where.value_raw, scratch, pack);
  write_header(block, HeaderField::value_exponent, exponent);
  if (where.value_mean_dims) {
    detail::write_mean(block + where.value_mean, condition.mean);
    write_header(block, HeaderField::value_mean_exponent, condition.mean.exponent);
  }
}

/// Unpacks a block's keys into scratch: levels (64, dim), signs, scales.
template <KeyCodec K>
void read_keys(const K& codec, const BlockLayout& where, const std::byte* block, BlockScratch& scratch) {
  scratch.codes.resize(layout::block_tokens * (where.key.bits ? where.key.dim : 0));
  scratch.signs.resize(layout::block_tokens * where.key.sign_rows);
  kernel::unpack_keys(where.key, block + where.key_codes, scratch.codes, scratch.signs);
  detail::decode_levels(codec, where.key.dim, scratch);
  detail::read_scales(block + where.key_scales, layout::block_tokens * where.key.scales,
                      read_header(block, HeaderField::key_exponent), scratch.scales);
}

template <ValueCodec V>
void read_values(const V& codec, const BlockLayout& where, const std::byte* block, BlockScratch& scratch) {
  scratch.codes.resize(layout::block_tokens * (where.value.bits ? where.value.dim : 0));
  scratch.signs.clear();
  kernel::unpack_values(where.value, block + where.value_codes, scratch.codes);
  detail::decode_levels(codec, where.value.dim, scratch);
  detail::read_scales(block + where.value_scales, layout::block_tokens * where.value.scales,
                      read_header(block, HeaderField::value_exponent), scratch.scales);
}

/// Record t of what read_keys or read_values left in scratch; `raw` is the side's raw part of the block.
inline RecordView record_at(const BlockScratch& scratch, const RecordShape& shape, const std::byte* raw,
                            std::size_t t) noexcept {
  const std::size_t dim = shape.bits ? shape.dim : 0;
  return {std::span<const std::int8_t>(scratch.levels).subspan(t * dim, dim),
          std::span<const std::uint8_t>(scratch.signs).subspan(t * shape.sign_rows, shape.sign_rows),
          std::span<const float>(scratch.scales).subspan(t * shape.scales, shape.scales),
          raw + t * shape.raw_bytes};
}

}  // namespace tightkv::inline TIGHTKV_ABI
