// core/layout.hpp: where a code's bits lie in a block. The written format of docs/format.md, as functions.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "bytes.hpp"

// A code of b bits is cut into planes of 4, 2 and 1 bits (high bits first; 8 bits are one plane). A plane of
// p bits is a sequence of 32-bit lane words; a lane word holds 32/p codes, as 8/p slots of 4 codes, one code
// in each byte:
//
//      byte t (0..3) of the word, slot m:   bits [offset(m), offset(m) + p)   with offset(m) = reverse of the
//      3 bits of m
//
// so the words of a narrow plane are two interleaved words of the next wider one, and planes combine by shift
// and mask. Sixteen lanes make a 64-byte word: one SIMD register. After the unpack each byte is one code,
// four codes of a lane feed one u8 x s8 dot product, and lanes are never summed across:
//
//      keys     lane = token (16 tokens a tile), slots run along the dims of the vector
//      values   lane = dim (16 dims a word),     slots run along the tokens of the block
namespace tightkv::inline TIGHTKV_ABI::layout {

inline constexpr std::size_t block_tokens = 64;  ///< tokens of a block
inline constexpr std::size_t tile_tokens = 16;   ///< tokens of a key tile
inline constexpr std::size_t lanes = 16;         ///< 32-bit lanes of a 64-byte word
inline constexpr std::size_t dim_unit = 16;      ///< dims are padded to this in a block

/// Head dim as stored.
constexpr std::size_t padded(std::size_t dim) noexcept { return bytes::round_up(dim, dim_unit); }

struct Plane {
  std::uint8_t bits = 0;   ///< 8, 4, 2 or 1
  std::uint8_t shift = 0;  ///< the plane holds (code >> shift) & (2^bits - 1)
};

/// The planes of a code, widest first. `count` is 1 to 3.
struct Planes {
  std::array<Plane, 3> plane{};
  std::size_t count = 0;
  constexpr const Plane* begin() const noexcept { return plane.data(); }
  constexpr const Plane* end() const noexcept { return plane.data() + count; }
};

constexpr Planes planes(unsigned bits) noexcept {
  Planes result;
  unsigned rest = bits;
  for (const unsigned width : {8u, 4u, 2u, 1u})
    if (rest >= width) {
      rest -= width;
      result.plane[result.count++] = {static_cast<std::uint8_t>(width), static_cast<std::uint8_t>(rest)};
    }
  return result;
}

/// Bit offset of slot m in its byte.
constexpr unsigned slot_offset(unsigned m) noexcept { return ((m & 1u) << 2) | (m & 2u) | ((m & 4u) >> 2); }

/// Bytes of the codes of one key tile; of the values of one block.
constexpr std::size_t key_tile_bytes(std::size_t padded_dim, unsigned bits) noexcept {
  return 2 * padded_dim * bits;
}
constexpr std::size_t value_block_bytes(std::size_t padded_dim, unsigned bits) noexcept {
  return 8 * padded_dim * bits;
}

/// One code's place in a plane.
struct Place {
  std::size_t byte = 0;
  unsigned shift = 0;
};

/// Key tile, plane of `p` bits: token 0..15, dim < padded_dim; relative to the plane's first byte.
/// Where a 1-bit plane ends in half a word (padded_dim % 32 == 16), its 16 dims take 32 bytes, 2 a lane: the
/// bytes 2 and 3 of the full word are moved to the odd bits of bytes 0 and 1.
constexpr Place key_place(std::size_t padded_dim, unsigned p, std::size_t token, std::size_t dim) noexcept {
  const std::size_t per_word = 32 / p, word = dim / per_word, within = dim % per_word, t = within % 4;
  const unsigned offset = slot_offset(static_cast<unsigned>(within / 4));
  if ((word + 1) * per_word > padded_dim)
    return {word * 64 + token * 2 + t % 2, offset + static_cast<unsigned>(t / 2)};
  return {word * 64 + token * 4 + t, offset};
}

/// Value block, plane of `p` bits: token 0..63, dim < padded_dim; relative to the plane's first byte.
/// Words are ordered token group first, then dims: a group of 32/p tokens is contiguous.
constexpr Place value_place(std::size_t padded_dim, unsigned p, std::size_t token, std::size_t dim) noexcept {
  const std::size_t per_word = 32 / p, group = token / per_word, within = token % per_word;
  const std::size_t word = group * (padded_dim / lanes) + dim / lanes;
  return {word * 64 + dim % lanes * 4 + within % 4, slot_offset(static_cast<unsigned>(within / 4))};
}

constexpr std::size_t key_plane_bytes(std::size_t padded_dim, unsigned p) noexcept {
  return 2 * padded_dim * p;
}
constexpr std::size_t value_plane_bytes(std::size_t padded_dim, unsigned p) noexcept {
  return 8 * padded_dim * p;
}

}  // namespace tightkv::inline TIGHTKV_ABI::layout
