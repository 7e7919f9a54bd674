#include <tightkv/kernel/pack.hpp>

#include <algorithm>
#include <array>
#include <vector>

#include "catch.hpp"
#include "support/vectors.hpp"

using namespace tightkv;
using tightkv_test::Rng;

namespace {

std::vector<std::uint8_t> random_codes(std::size_t count, unsigned bits, Rng& rng) {
  std::vector<std::uint8_t> codes(count);
  for (std::uint8_t& c : codes) c = static_cast<std::uint8_t>(rng.bits() & ((1u << bits) - 1));
  return codes;
}

unsigned bits_at(std::span<const std::byte> bytes, std::size_t plane_begin, layout::Place place, unsigned p) {
  return (std::to_integer<unsigned>(bytes[plane_begin + place.byte]) >> place.shift) & ((1u << p) - 1);
}

/// The code of one key, read by the written definition: plane after plane, each bit at key_place.
unsigned key_by_place(std::span<const std::byte> tile, std::size_t dim, unsigned bits, std::size_t token,
                      std::size_t i) {
  unsigned code = 0;
  std::size_t begin = 0;
  for (const layout::Plane& plane : layout::planes(bits)) {
    code |= bits_at(tile, begin, layout::key_place(dim, plane.bits, token, i), plane.bits) << plane.shift;
    begin += layout::key_plane_bytes(dim, plane.bits);
  }
  return code;
}

unsigned value_by_place(std::span<const std::byte> words, std::size_t dim, unsigned bits, std::size_t token,
                        std::size_t i) {
  unsigned code = 0;
  std::size_t begin = 0;
  for (const layout::Plane& plane : layout::planes(bits)) {
    code |= bits_at(words, begin, layout::value_place(dim, plane.bits, token, i), plane.bits) << plane.shift;
    begin += layout::value_plane_bytes(dim, plane.bits);
  }
  return code;
}

constexpr std::byte guard{0xa5};

/// Storage of exactly `size` zeroed bytes between two guards: a write outside shows.
struct Guarded {
  static constexpr std::size_t margin = 64;
  std::vector<std::byte> all;
  explicit Guarded(std::size_t size) : all(size + 2 * margin, guard) {
    std::fill(data(), data() + size, std::byte{0});
  }
  std::byte* data() { return all.data() + margin; }
  std::span<const std::byte> bytes() const { return std::span(all).subspan(margin, all.size() - 2 * margin); }
  bool intact() const {
    const auto is_guard = [](std::byte b) { return b == guard; };
    return std::all_of(all.begin(), all.begin() + margin, is_guard) &&
           std::all_of(all.end() - margin, all.end(), is_guard);
  }
};

}  // namespace

TEST_CASE("keys survive packing at every width and dim, with a sign plane and without", "[kernel]") {
  Rng rng(1);
  for (std::size_t dim = 16; dim <= 576; dim += 16)
    for (unsigned bits = 0; bits <= 8; ++bits)
      for (const std::size_t sign_rows : {std::size_t{0}, dim, std::size_t{48}}) {
        if (bits == 0 && sign_rows == 0) continue;
        const RecordShape shape{dim, bits, sign_rows, 1, 0};
        const auto codes = random_codes(64 * (bits ? dim : 0), bits, rng);
        const auto signs = random_codes(64 * sign_rows, 1, rng);
        Guarded tiles(4 * shape.key_tile_bytes());
        kernel::pack_keys(shape, codes, signs, tiles.data());
        std::vector<std::uint8_t> codes_back(codes.size(), 0xee), signs_back(signs.size(), 0xee);
        kernel::unpack_keys(shape, tiles.data(), codes_back, signs_back);
        if (codes_back != codes || signs_back != signs || !tiles.intact())
          FAIL("dim " << dim << ", " << bits << " bits, " << sign_rows << " sign rows");
      }
}

TEST_CASE("values survive packing at every width and dim", "[kernel]") {
  Rng rng(2);
  for (std::size_t dim = 16; dim <= 576; dim += 16)
    for (unsigned bits = 1; bits <= 8; ++bits) {
      const RecordShape shape{dim, bits, 0, 1, 0};
      const auto codes = random_codes(64 * dim, bits, rng);
      Guarded words(shape.value_block_bytes());
      kernel::pack_values(shape, codes, words.data());
      std::vector<std::uint8_t> back(codes.size(), 0xee);
      kernel::unpack_values(shape, words.data(), back);
      if (back != codes || !words.intact()) FAIL("dim " << dim << ", " << bits << " bits");
    }
}

TEST_CASE("unpacking random bytes reads each bit where the layout places it", "[kernel]") {
  Rng rng(3);
  for (std::size_t dim = 16; dim <= 576; dim += 16)
    for (unsigned bits = 1; bits <= 8; ++bits) {
      std::size_t wrong = 0;
      std::vector<std::byte> tile(layout::key_tile_bytes(dim, bits)),
          words(layout::value_block_bytes(dim, bits));
      for (auto* bytes : {&tile, &words})
        for (std::byte& b : *bytes) b = static_cast<std::byte>(rng.bits() & 255);
      std::vector<std::uint8_t> codes(64 * dim);
      kernel::unpack_key_tile(kernel::scalar{}, dim, bits, tile.data(), codes.data());
      for (std::size_t t = 0; t < 16; ++t)
        for (std::size_t i = 0; i < dim; ++i)
          wrong += codes[t * dim + i] != key_by_place(tile, dim, bits, t, i);
      kernel::unpack_value_block(kernel::scalar{}, dim, bits, words.data(), codes.data());
      for (std::size_t t = 0; t < 64; ++t)
        for (std::size_t i = 0; i < dim; ++i)
          wrong += codes[t * dim + i] != value_by_place(words, dim, bits, t, i);
      if (wrong) FAIL("dim " << dim << ", " << bits << " bits: " << wrong << " codes");
    }
}

TEST_CASE("one code of all ones sets its own bits and no other", "[kernel]") {
  const auto ones = [](std::span<const std::byte> bytes) {
    unsigned count = 0;
    for (const std::byte b : bytes)
      count += static_cast<unsigned>(std::popcount(std::to_integer<unsigned>(b)));
    return count;
  };
  for (const std::size_t dim : {std::size_t{16}, std::size_t{48}, std::size_t{80}})
    for (unsigned bits = 1; bits <= 8; ++bits) {
      CAPTURE(dim, bits);
      const RecordShape shape{dim, bits, dim, 1, 0};
      std::size_t wrong = 0;
      for (std::size_t at = 0; at < 64 * dim; at += 7) {
        std::vector<std::uint8_t> codes(64 * dim), signs(64 * dim);
        codes[at] = static_cast<std::uint8_t>((1u << bits) - 1);
        std::vector<std::byte> tiles(4 * shape.key_tile_bytes()), words(shape.value_block_bytes());
        kernel::pack_keys(shape, codes, signs, tiles.data());
        kernel::pack_values(shape, codes, words.data());
        wrong += ones(tiles) != bits || ones(words) != bits;
        // Each of four tiles: its codes, then its signs.
        const std::size_t tile = at / (16 * dim) * shape.key_tile_bytes(), token = at / dim % 16;
        wrong += key_by_place(std::span(tiles).subspan(tile), dim, bits, token, at % dim) != codes[at];
        signs[at] = 1, codes[at] = 0;
        std::fill(tiles.begin(), tiles.end(), std::byte{0});
        kernel::pack_keys(shape, codes, signs, tiles.data());
        wrong += ones(tiles) != 1 ||
                 key_by_place(std::span(tiles).subspan(tile + layout::key_tile_bytes(dim, bits)), dim, 1,
                              token, at % dim) != 1;
      }
      CHECK(wrong == 0);
    }
}

TEST_CASE("known bytes: the first codes of a 4-bit key tile and of a 2-bit value block", "[kernel]") {
  std::vector<std::uint8_t> codes(64 * 16, 0);
  std::array<std::byte, 4 * 2 * 16 * 4> tiles{};
  codes[0] = 0xf, codes[4] = 0xa, codes[16 + 1] = 0x3;  // token 0: dims 0 and 4; token 1: dim 1
  kernel::pack_keys({16, 4, 0, 1, 0}, codes, {}, tiles.data());
  CHECK(std::to_integer<int>(tiles[0]) == 0xaf);  // slot 0 is the low nibble, slot 1 (dims 4..7) the high one
  CHECK(std::to_integer<int>(tiles[4 + 1]) == 0x03);

  std::fill(codes.begin(), codes.end(), std::uint8_t{0});
  std::array<std::byte, 8 * 16 * 2> words{};
  codes[0] = 3, codes[4 * 16] = 2, codes[8 * 16] = 1;  // dim 0 of tokens 0, 4 and 8: slots 0, 1, 2
  kernel::pack_values({16, 2, 0, 1, 0}, codes, words.data());
  CHECK(std::to_integer<int>(words[0]) == (3 | 2 << 4 | 1 << 2));
}
