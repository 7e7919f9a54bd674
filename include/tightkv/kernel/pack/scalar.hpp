// kernel/pack/scalar.hpp: the definition of packing, plane by plane and lane word by lane word.
#pragma once

#include <algorithm>

#include "../../core/record.hpp"
#include "../isa.hpp"

namespace tightkv::inline TIGHTKV_ABI::kernel {

namespace detail {

/// The bits of one plane, in place in a byte: value << offset.
constexpr std::uint8_t field(std::uint8_t code, layout::Plane plane) noexcept {
  return static_cast<std::uint8_t>((code >> plane.shift) & ((1u << plane.bits) - 1u));
}

}  // namespace detail

/// codes: (16, dim), dim a multiple of 16; tile: key_tile_bytes(dim, bits), zeroed.
inline void pack_key_tile(scalar, std::size_t dim, unsigned bits, const std::uint8_t* codes,
                          std::byte* tile) noexcept {
  for (const layout::Plane plane : layout::planes(bits)) {
    for (std::size_t token = 0; token < layout::tile_tokens; ++token)
      for (std::size_t i = 0; i < dim; ++i) {
        const auto [byte, shift] = layout::key_place(dim, plane.bits, token, i);
        tile[byte] |= static_cast<std::byte>(detail::field(codes[token * dim + i], plane) << shift);
      }
    tile += layout::key_plane_bytes(dim, plane.bits);
  }
}

/// codes: (64, dim); words: value_block_bytes(dim, bits), zeroed.
inline void pack_value_block(scalar, std::size_t dim, unsigned bits, const std::uint8_t* codes,
                             std::byte* words) noexcept {
  for (const layout::Plane plane : layout::planes(bits)) {
    for (std::size_t token = 0; token < layout::block_tokens; ++token)
      for (std::size_t i = 0; i < dim; ++i) {
        const auto [byte, shift] = layout::value_place(dim, plane.bits, token, i);
        words[byte] |= static_cast<std::byte>(detail::field(codes[token * dim + i], plane) << shift);
      }
    words += layout::value_plane_bytes(dim, plane.bits);
  }
}

/// The same as pack_key_tile from columns: codes (dim, 16 tokens), as encoding a tile leaves them.
inline void pack_key_columns(scalar, std::size_t dim, unsigned bits, const std::uint8_t* columns,
                             std::byte* tile) noexcept {
  for (const layout::Plane plane : layout::planes(bits)) {
    const std::size_t per_word = 32u / plane.bits;
    for (std::size_t begin = 0; begin < dim; begin += per_word) {
      std::uint32_t words[layout::tile_tokens] = {};
      for (std::size_t k = 0; k < (std::min)(per_word, dim - begin); ++k) {
        const unsigned shift =
            static_cast<unsigned>(8 * (k % 4)) + layout::slot_offset(static_cast<unsigned>(k / 4));
        const std::uint8_t* column = columns + (begin + k) * layout::tile_tokens;
        for (std::size_t token = 0; token < layout::tile_tokens; ++token)
          words[token] |= static_cast<std::uint32_t>(detail::field(column[token], plane)) << shift;
      }
      if (begin + per_word > dim) {  // half a word: bytes 2 and 3 move to the odd bits of bytes 0 and 1
        for (std::size_t token = 0; token < layout::tile_tokens; ++token)
          bytes::store(tile + 2 * token, static_cast<std::uint16_t>(words[token] | (words[token] >> 15)));
        tile += 32;
      } else {
        std::memcpy(tile, words, sizeof words);
        tile += 64;
      }
    }
  }
}

/// The same as pack_value_block for the 16 tokens of one tile, from columns; words are or-ed into the block.
inline void pack_value_columns(scalar, std::size_t dim, unsigned bits, std::size_t first_token,
                               const std::uint8_t* columns, std::byte* words) noexcept {
  for (const layout::Plane plane : layout::planes(bits)) {
    const std::size_t per_word = 32u / plane.bits;
    const std::uint32_t mask = ((1u << plane.bits) - 1u) * 0x01010101u;
    for (std::size_t t = 0; t < layout::tile_tokens; t += 4) {
      const std::size_t token = first_token + t;
      const unsigned offset = layout::slot_offset(static_cast<unsigned>(token % per_word / 4));
      std::byte* const row = words + token / per_word * dim * 4;
      for (std::size_t i = 0; i < dim; ++i) {
        std::uint32_t four;
        std::memcpy(&four, columns + i * layout::tile_tokens + t, 4);
        bytes::store(row + i * 4,
                     bytes::load<std::uint32_t>(row + i * 4) | (((four >> plane.shift) & mask) << offset));
      }
    }
    words += layout::value_plane_bytes(dim, plane.bits);
  }
}

/// Reading walks the lane words instead of asking for each place, several times faster than the inverse of
/// the above.
inline void unpack_key_tile(scalar, std::size_t dim, unsigned bits, const std::byte* tile,
                            std::uint8_t* codes) noexcept {
  std::fill_n(codes, layout::tile_tokens * dim, std::uint8_t{0});
  for (const layout::Plane plane : layout::planes(bits)) {
    const std::size_t per_word = 32u / plane.bits;
    const std::uint32_t mask = (1u << plane.bits) - 1u;
    for (std::size_t begin = 0; begin < dim; begin += per_word) {
      const bool half_word = begin + per_word > dim;
      for (std::size_t token = 0; token < layout::tile_tokens; ++token) {
        std::uint32_t word;
        if (half_word) {
          word = bytes::load<std::uint16_t>(tile + token * 2);
          word = (word | (word << 15)) & 0x55555555u;  // the odd bits held bytes 2 and 3
        } else {
          word = bytes::load<std::uint32_t>(tile + token * 4);
        }
        std::uint8_t* const row = codes + token * dim + begin;
        for (std::size_t i = 0; i < (std::min)(per_word, dim - begin); ++i)
          row[i] = static_cast<std::uint8_t>(
              row[i] | (((word >> (8 * (i % 4) + layout::slot_offset(static_cast<unsigned>(i / 4)))) & mask)
                        << plane.shift));
      }
      tile += half_word ? 32 : 64;
    }
  }
}

inline void unpack_value_block(scalar, std::size_t dim, unsigned bits, const std::byte* words,
                               std::uint8_t* codes) noexcept {
  std::fill_n(codes, layout::block_tokens * dim, std::uint8_t{0});
  for (const layout::Plane plane : layout::planes(bits)) {
    const std::size_t per_word = 32u / plane.bits;
    const std::uint32_t mask = (1u << plane.bits) - 1u;
    for (std::size_t token = 0; token < layout::block_tokens; token += per_word)
      for (std::size_t i = 0; i < dim; ++i, words += 4) {
        const auto word = bytes::load<std::uint32_t>(words);
        for (std::size_t k = 0; k < per_word; ++k) {
          std::uint8_t& code = codes[(token + k) * dim + i];
          code = static_cast<std::uint8_t>(
              code | (((word >> (8 * (k % 4) + layout::slot_offset(static_cast<unsigned>(k / 4)))) & mask)
                      << plane.shift));
        }
      }
  }
}

}  // namespace tightkv::inline TIGHTKV_ABI::kernel
