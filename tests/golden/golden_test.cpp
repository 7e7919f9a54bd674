// golden_test.cpp: one block of format version 0 byte by byte, in every build that runs the unit tests. All
// other cases are in v0.txt; run_flags.sh says when they may change.
#include <tightkv/tightkv.hpp>

#include "catch.hpp"

#include <string>

using namespace tightkv;

namespace {

std::string hex(std::span<const std::byte> data) {
  std::string text;
  for (const std::byte b : data)
    for (const unsigned digit : {static_cast<unsigned>(b) >> 4, static_cast<unsigned>(b) & 15u})
      text += "0123456789abcdef"[digit];
  return text;
}

}  // namespace

TEST_CASE("a 4-bit trellis block of dim 16 has the bytes of format version 0", "[golden]") {
  static_assert(format_version == 0, "a new version gets golden bytes of its own");
  constexpr std::size_t dim = 16;
  std::vector<float> rows(layout::block_tokens * dim);
  for (std::size_t i = 0; i < rows.size(); ++i)
    rows[i] = static_cast<float>(static_cast<int>(i * i * 37 % 101) - 50);  // exact in every type
  Format format = preset("k4v4", dim, dim);
  format.sinks = format.window = 0;
  AnyCompressor cache(format, 1, 7);
  const TensorView view = contiguous(rows.data(), layout::block_tokens, 1, dim);
  cache.append(view, view);
  cache.commit();
  REQUIRE(cache.blocks() == 1);
  const auto block = cache.block(0, 0);
  const BlockLayout& at = cache.block_layout();
  CHECK(hex(block.first(10)) == "f0fff0fff4ff00004000");
  CHECK(hex(block.subspan(at.key_mean, 2 * dim)) ==
        "e0e90478e0e9b8f2b0eda0f11875206f90f200e9c0f13071bc7488f1c0eb00f1");
  CHECK(hex(block.subspan(at.key_codes, 64)) ==
        "9d39ae305836678a5ad58acc8c8c98a4c8b7d491f6cd7c185fb89981b4ae05b9"
        "c72a633916167b308cc2db472bdc7b7d52cc8477f96a944bbbccf96991c59d62");
  CHECK(hex(block.subspan(at.value_codes, 64)) ==
        "fc5ab8565b6a9a5a0a9e96d142662bb3bb5262ddc3cc61d9ddbdc6e6a982f49c"
        "a04d57658dd48227166227226c8b6220dfeccdb29a1cecbb45a06a76ae872369");
  CHECK(hex(block.subspan(at.key_scales, 32)) ==
        "81787479267a757b787a1b79bf788678687a05792979de79b9789678e479d379");
  CHECK(hex(block.subspan(at.value_scales, 32)) ==
        "7f783179fd79f879667918790b792579957a7d79117aa0787b78af78217b4f79");
  CHECK(bytes::Hash{}.add_bytes(block).value() == 0x688e7ea3bec25e0du);
}
