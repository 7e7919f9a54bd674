#include <tightkv/storage/block.hpp>

#include <algorithm>
#include <utility>
#include <vector>

#include "catch.hpp"

using namespace tightkv;

namespace {

/// The parts of a block as (begin, bytes), in the order in which they must lie.
std::vector<std::pair<std::size_t, std::size_t>> parts(const BlockLayout& b) {
  return {{0, BlockLayout::header_bytes},        {b.key_mean, 2 * b.key_mean_dims},
          {b.value_mean, 2 * b.value_mean_dims}, {b.key_codes, 4 * b.key.key_tile_bytes()},
          {b.key_raw, 64 * b.key.raw_bytes},     {b.value_codes, b.value.value_block_bytes()},
          {b.value_raw, 64 * b.value.raw_bytes}, {b.key_scales, 128 * b.key.scales},
          {b.value_scales, 128 * b.value.scales}};
}

}  // namespace

TEST_CASE("the parts of a block are aligned, apart, and add up", "[storage]") {
  std::vector<RecordShape> shapes = {{}};
  for (const std::size_t dim : {16u, 48u, 64u, 80u, 128u, 192u, 576u})
    for (unsigned bits = 1; bits <= 8; ++bits) {
      shapes.push_back({dim, bits, 0, 1, 0});
      shapes.push_back({dim, bits, dim, 2, 0});
      shapes.push_back({dim, bits, 0, 8, 128});
    }
  for (const std::size_t dim : {2u, 66u, 128u}) shapes.push_back({layout::padded(dim), 0, 0, 0, 2 * dim});
  for (const RecordShape& key : shapes)
    for (const RecordShape& value : shapes) {
      RecordShape v = value;
      v.sign_rows = 0;
      for (const bool means : {false, true}) {
        const BlockLayout b = BlockLayout::make(key, v, means ? key.dim : 0, means ? v.dim : 0);
        std::size_t end = 0, sum = 0, bad = 0;
        for (const auto& [begin, size] : parts(b)) {
          bad += begin % 64 != 0 || begin < end;
          end = begin + size;
          sum += size;
        }
        bad += b.bytes % 64 != 0 || b.bytes < end || b.bytes >= end + 64;
        bad += b.code_bytes() + b.scale_bytes() + b.header_part_bytes() != sum;
        if (bad) FAIL("key " << key.dim << " x " << key.bits << ", value " << v.dim << " x " << v.bits);
      }
    }
}

TEST_CASE("known layout: 4 bits both ways at dim 128", "[storage]") {
  const RecordShape side{128, 4, 0, 1, 0};
  const BlockLayout plain = BlockLayout::make(side, side, 0, 0);
  CHECK(plain.key_codes == 64);
  CHECK(plain.value_codes == 64 + 4096);
  CHECK(plain.key_scales == 64 + 8192);
  CHECK(plain.value_scales == 64 + 8192 + 128);
  CHECK(plain.bytes == 64 + 8192 + 256);
  const BlockLayout with_mean = BlockLayout::make(side, side, 128, 0);
  CHECK(with_mean.key_codes == 64 + 256);
  CHECK(with_mean.bytes == plain.bytes + 256);
}

TEST_CASE("header fields do not overlap and keep their sign", "[storage]") {
  std::byte header[64] = {};
  const std::pair<HeaderField, int> fields[] = {{HeaderField::key_exponent, -190},
                                                {HeaderField::value_exponent, 127},
                                                {HeaderField::key_mean_exponent, -1},
                                                {HeaderField::value_mean_exponent, 300},
                                                {HeaderField::tokens, 64}};
  for (const auto& [field, value] : fields) write_header(header, field, value);
  for (const auto& [field, value] : fields) CHECK(read_header(header, field) == value);
  CHECK(std::all_of(header + 10, header + 64, [](std::byte b) { return b == std::byte{0}; }));
}
