// kernel/pack.hpp: codes into the bit planes of a block and back, as core/layout.hpp defines them.
#pragma once

#include "pack/scalar.hpp"

namespace tightkv::inline TIGHTKV_ABI::kernel {

/// Codes of the 64 tokens of a block, (64, dim), into its four key tiles; `bits` planes, then the sign plane.
/// `tiles` holds 4 * shape.key_tile_bytes() bytes, zeroed by the caller.
inline void pack_keys(const RecordShape& shape, std::span<const std::uint8_t> codes,
                      std::span<const std::uint8_t> signs, std::byte* tiles) noexcept {
  for (std::size_t tile = 0; tile < layout::block_tokens / layout::tile_tokens;
       ++tile, tiles += shape.key_tile_bytes()) {
    const std::size_t first = tile * layout::tile_tokens;
    if (shape.bits) pack_key_tile(scalar{}, shape.dim, shape.bits, codes.data() + first * shape.dim, tiles);
    if (shape.sign_rows)
      pack_key_tile(scalar{}, shape.sign_rows, 1, signs.data() + first * shape.sign_rows,
                    tiles + layout::key_tile_bytes(shape.dim, shape.bits));
  }
}

/// The inverse: codes (64, dim) and signs (64, sign_rows).
inline void unpack_keys(const RecordShape& shape, const std::byte* tiles, std::span<std::uint8_t> codes,
                        std::span<std::uint8_t> signs) noexcept {
  for (std::size_t tile = 0; tile < layout::block_tokens / layout::tile_tokens;
       ++tile, tiles += shape.key_tile_bytes()) {
    const std::size_t first = tile * layout::tile_tokens;
    if (shape.bits) unpack_key_tile(scalar{}, shape.dim, shape.bits, tiles, codes.data() + first * shape.dim);
    if (shape.sign_rows)
      unpack_key_tile(scalar{}, shape.sign_rows, 1, tiles + layout::key_tile_bytes(shape.dim, shape.bits),
                      signs.data() + first * shape.sign_rows);
  }
}

/// Codes of the 64 tokens of a block, (64, dim), into its value words; zeroed by the caller.
inline void pack_values(const RecordShape& shape, std::span<const std::uint8_t> codes,
                        std::byte* words) noexcept {
  if (shape.bits) pack_value_block(scalar{}, shape.dim, shape.bits, codes.data(), words);
}

inline void unpack_values(const RecordShape& shape, const std::byte* words,
                          std::span<std::uint8_t> codes) noexcept {
  if (shape.bits) unpack_value_block(scalar{}, shape.dim, shape.bits, words, codes.data());
}

}  // namespace tightkv::inline TIGHTKV_ABI::kernel
