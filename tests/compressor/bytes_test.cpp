// bytes(): what a preset's name promises, and that the parts are all there is.
#include "compressor/reference.hpp"

#include <string>

#include "catch.hpp"

using namespace tightkv;
using namespace tightkv_test;

namespace {

/// Codes and scales per token and kv head, out of bytes().
double per_token(const Format& format, std::size_t heads) {
  Format f = format;
  f.sinks = 0, f.window = 0;
  AnyCompressor cache(f, heads, 1);
  const Sequence s(130, heads, 1, f.key_dim, f.value_dim, 5);
  fill(cache, s, 130);
  const CacheBytes b = cache.bytes();
  CHECK(b.packed_tokens == 128);
  return static_cast<double>(b.codes + b.scales) / static_cast<double>(b.packed_tokens * heads);
}

}  // namespace

TEST_CASE("codes and scales per token and kv head are what the presets promise", "[compressor]") {
  const std::pair<const char*, double> table[] = {
      {"k8v4", 196},
      {"k5v4", 148},
      {"k4v4", 132},
      {"k5v3", 132},
      {"k4v3", 116},
      {"k3v3", 100},
      {"k3v2", 84},
      {"f16", 512},
      {"bf16", 512},
      {"f32", 1024},
      {"q8_0", 272},
      {"turbo4", 132},
      {"turbo3", 100},
      {"turbo2", 68},
      {"turbo8v4", 196},
      {"turbo4v2", 100},
      {"turbo0v4", 322},
      {"paper4", 68 + 66},
      {"paper3", 52 + 50},
      {"paper2", 36 + 34},
      // vLLM's keys of 4 and 3 bits and its values are stored as ours: the same bytes. Its 8-bit keys are fp8
      // without a scale (128 bytes, here 130).
      {"turboquant_4bit_nc", 134},
      {"turboquant_k4v3_nc", 118},
      {"turboquant_k3v4_nc", 118},
      {"turboquant_3bit_nc", 102},
      {"turboquant_k8v4", 130 + 68},
      {"turboquant_k8v3", 130 + 52}};
  for (const auto& [name, bytes] : table) {
    CAPTURE(name);
    CHECK(per_token(preset(name, 128, 128), 1) == bytes);
  }
  CHECK(per_token(preset("k4v4", 128, 128), 3) == 132);
  CHECK(per_token(preset("k4v4", 64, 64), 2) == 68);
  CHECK(per_token(preset("k4v4", 66, 34), 1) == 40 + 2 + 24 + 2);  // padded to 80 and 48, and said so
}

TEST_CASE("the parts add up to the pages, the raw rows and what is frozen", "[compressor]") {
  using Key = PolarQuant<Hadamard, LloydMax<3>>;
  const std::size_t key_dim = 48, value_dim = 80, heads = 3;
  const Sequence s(333, heads, 2, key_dim, value_dim, 6);
  for (const ConditionerKind kind :
       {ConditionerKind::none, ConditionerKind::frozen_mean, ConditionerKind::block_mean}) {
    CompressorOptions options;
    options.kv_heads = heads, options.sinks = 5, options.window = 20;
    options.key_conditioner = options.value_conditioner = kind;
    TestPages source;
    KVCompressor<Key, Key, TestPages> cache(Key(key_dim, 1), Key(value_dim, 2), options, &source);
    CHECK(cache.bytes().total() == 0);
    for (std::size_t t = 0; t < 333; t += 37) {
      REQUIRE(append(cache, s, t, 37).ok());
      const CacheBytes b = cache.bytes();
      const BlockLayout& where = cache.block_layout();
      const std::size_t blocks = heads * cache.blocks(), row = 2 * (key_dim + value_dim);
      CHECK(source.held == blocks * where.bytes);
      CHECK(b.codes == blocks * where.code_bytes());
      CHECK(b.scales == blocks * 64 * 4);
      const bool frozen = kind == ConditionerKind::frozen_mean && blocks != 0;
      CHECK(b.headers ==
            blocks * (64 + (kind == ConditionerKind::block_mean ? row : 0)) + (frozen ? heads * row : 0));
      const std::size_t sinks = std::min<std::size_t>(cache.size(), 5);
      CHECK(b.sinks == heads * sinks * row);
      // Rows of blocks that wait for their commit are held twice, raw and packed.
      const std::size_t flushed = flushed_blocks(cache.committed(), 5, 20);
      CHECK(b.tail == heads * (cache.size() - sinks - 64 * flushed) * row);
      CHECK(b.packed_tokens == 64 * cache.blocks());
      const std::size_t block_slack =
          source.held - b.codes - b.scales - blocks * (b.headers ? where.header_part_bytes() : 0);
      CHECK(b.slack >= block_slack);
      // Spare room of the raw rows: never more than half of what they held at most, before blocks took it.
      CHECK(b.slack - block_slack <= heads * row * (20 + 64 + 37 + 5) * 3 / 2);
      if (t % 3 != 1) cache.commit();
    }
  }
}

TEST_CASE("report() gives the same numbers as bytes()", "[compressor]") {
  const Sequence s(200, 2, 1, 128, 128, 7);
  AnyCompressor cache(preset("k4v4", 128, 128), 2, 1);
  fill(cache, s, 200);
  const std::string report = cache.report();
  const CacheBytes b = cache.bytes();
  CHECK(b.total() == b.codes + b.scales + b.headers + b.sinks + b.tail + b.slack);
  for (const std::string& piece :
       {std::string("codes + scales: 132 bytes a token and kv head (f16: 512)"),
        "held: " + std::to_string(b.total()) + " bytes", "codes " + std::to_string(b.codes),
        "packed " + std::to_string(b.packed_tokens), std::string("trellis"),
        std::string("sinks 4, window 64")}) {
    CAPTURE(report, piece);
    CHECK(report.find(piece) != std::string::npos);
  }
}
