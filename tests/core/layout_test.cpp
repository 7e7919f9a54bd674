#include <tightkv/core/layout.hpp>

#include <algorithm>
#include <vector>

#include "catch.hpp"

using namespace tightkv;

TEST_CASE("planes cut a code into 4, 2 and 1 bits from the top, 8 bits into one", "[core]") {
  for (unsigned bits = 1; bits <= 8; ++bits) {
    CAPTURE(bits);
    unsigned covered = 0, previous = 16;
    for (const layout::Plane& p : layout::planes(bits)) {
      CHECK((p.bits == 8 || p.bits == 4 || p.bits == 2 || p.bits == 1));
      CHECK(p.bits < previous);
      previous = p.bits;
      const unsigned mask = ((1u << p.bits) - 1) << p.shift;
      CHECK((covered & mask) == 0);
      covered |= mask;
    }
    CHECK(covered == (1u << bits) - 1);
  }
  CHECK(layout::planes(8).count == 1);
  CHECK(layout::planes(7).count == 3);
}

TEST_CASE("the bit offset of a slot is its number with the three bits reversed", "[core]") {
  const unsigned want[8] = {0, 4, 2, 6, 1, 5, 3, 7};
  for (unsigned m = 0; m < 8; ++m) CHECK(layout::slot_offset(m) == want[m]);
}

TEST_CASE("the words of a narrow plane are two interleaved words of the next wider one", "[core]") {
  // Slot m of a 1-bit plane and slot m / 2 of a 2-bit plane start in the same pair of bits, and so on up.
  for (unsigned m = 0; m < 8; ++m) CHECK(layout::slot_offset(m) / 2 * 2 == layout::slot_offset(m % 4));
  for (unsigned m = 0; m < 4; ++m) CHECK(layout::slot_offset(m) / 4 * 4 == layout::slot_offset(m % 2));
}

TEST_CASE("every code has bits of its own and every bit of a plane belongs to a code", "[core]") {
  for (std::size_t dim = 16; dim <= 576; dim += 16)
    for (const unsigned p : {1u, 2u, 4u, 8u}) {
      std::vector<unsigned> key(layout::key_plane_bytes(dim, p)), value(layout::value_plane_bytes(dim, p));
      std::size_t outside = 0, overlaps = 0;
      const auto take = [&](std::vector<unsigned>& plane, layout::Place place) {
        const unsigned mask = ((1u << p) - 1) << place.shift;
        if (place.byte >= plane.size() || mask > 255) {
          ++outside;
          return;
        }
        overlaps += (plane[place.byte] & mask) != 0;
        plane[place.byte] |= mask;
      };
      for (std::size_t i = 0; i < dim; ++i) {
        for (std::size_t t = 0; t < layout::tile_tokens; ++t) take(key, layout::key_place(dim, p, t, i));
        for (std::size_t t = 0; t < layout::block_tokens; ++t) take(value, layout::value_place(dim, p, t, i));
      }
      const std::size_t gaps = static_cast<std::size_t>(std::count_if(key.begin(), key.end(),
                                                                      [](unsigned b) { return b != 255; })) +
                               static_cast<std::size_t>(std::count_if(value.begin(), value.end(),
                                                                      [](unsigned b) { return b != 255; }));
      if (outside + overlaps + gaps != 0) FAIL("dim " << dim << ", " << p << " bits");
    }
}

TEST_CASE("the planes of a code fill exactly the bytes of a tile and of a block", "[core]") {
  for (std::size_t dim = 16; dim <= 576; dim += 16)
    for (unsigned bits = 1; bits <= 8; ++bits) {
      std::size_t key = 0, value = 0;
      for (const layout::Plane& p : layout::planes(bits))
        key += layout::key_plane_bytes(dim, p.bits), value += layout::value_plane_bytes(dim, p.bits);
      if (key != layout::key_tile_bytes(dim, bits) || key * 8 != dim * bits * layout::tile_tokens ||
          value != layout::value_block_bytes(dim, bits) || value * 8 != dim * bits * layout::block_tokens)
        FAIL("dim " << dim << ", " << bits << " bits");
    }
}

TEST_CASE("a lane of a key word is a token, a lane of a value word is a dim", "[core]") {
  const std::size_t dim = 128;
  for (const unsigned p : {1u, 2u, 4u, 8u})
    for (std::size_t t = 0; t < layout::tile_tokens; ++t)
      for (std::size_t i = 0; i < dim; ++i) {
        if (layout::key_place(dim, p, t, i).byte % 64 / 4 != t) FAIL("key " << t << ", " << i);
        if (layout::value_place(dim, p, t, i).byte % 64 / 4 != i % 16) FAIL("value " << t << ", " << i);
      }
}

TEST_CASE("a half word of a 1-bit key plane is the full word with bytes 2 and 3 moved up by one bit",
          "[core]") {
  const std::size_t dim = 80, word = 2;  // dims 64..79
  for (std::size_t t = 0; t < layout::tile_tokens; ++t)
    for (std::size_t i = 64; i < 80; ++i) {
      const layout::Place half = layout::key_place(dim, 1, t, i), full = layout::key_place(96, 1, t, i);
      const std::size_t lane_byte = full.byte % 4;
      CHECK(full.byte == word * 64 + t * 4 + lane_byte);
      CHECK(half.byte == word * 64 + t * 2 + lane_byte % 2);
      CHECK(half.shift == full.shift + lane_byte / 2);
    }
}

TEST_CASE("head dims are padded to 16", "[core]") {
  CHECK(layout::padded(2) == 16);
  CHECK(layout::padded(16) == 16);
  CHECK(layout::padded(576) == 576);
  CHECK(layout::padded(578) == 592);
}
