// What AttendParams and the absence of tokens do: scale, cap, sink logits, mask, window, emptiness, slack.
#include "compressor/reference.hpp"

#include "catch.hpp"

using namespace tightkv;
using namespace tightkv_test;

namespace {

Format small_format(const char* name) {
  Format f = preset(name, 32, 32);
  f.sinks = 3, f.window = 5;
  return f;
}

}  // namespace

TEST_CASE("scale, soft cap, sink logits, mask and window equal float64 attention", "[compressor]") {
  const Sequence s(170, 2, 3, 32, 32, 301);
  std::vector<std::uint8_t> mask(170);
  Rng rng(1);
  for (std::uint8_t& m : mask) m = rng.below(3) != 0;
  const std::vector<float> sinks = {-2, 0, 3, 30, 1, -40};
  for (const char* const name : {"k4v4", "paper4", "q8_0", "f16"}) {
    AnyCompressor cache(small_format(name), 2, 7);
    fill(cache, s, 170);
    const auto histories = decoded_heads(cache);
    for (int which = 0; which < 64; ++which) {
      AttendParams p;
      if (which & 1) p.scale = 0.4f;
      if (which & 2) p.soft_cap = 2;
      if (which & 4) p.sink_logits = sinks;
      if (which & 8) p.mask = mask;
      if (which & 16) p.window = 40;
      if (which & 32) p.window = 128;
      CAPTURE(name, which);
      CHECK(worst_attention(cache, s.q, 4, histories, p) <= 1);
    }
  }
}

TEST_CASE("a sliding window of any length, around the borders of blocks and tail", "[compressor]") {
  const Sequence s(170, 1, 1, 32, 32, 302);
  for (const char* const name : {"k4v4", "q8_0"}) {
    AnyCompressor cache(small_format(name), 1, 7);
    fill(cache, s, 170);
    const auto histories = decoded_heads(cache);
    for (const std::size_t window : {1u, 2u, 38u, 39u, 40u, 41u, 63u, 64u, 65u, 102u, 103u, 104u, 166u, 167u,
                                     168u, 169u, 170u, 171u, 5000u}) {
      AttendParams p;
      p.window = window;
      CAPTURE(name, window);
      CHECK(worst_attention(cache, s.q, 3, histories, p) <= 1);
    }
  }
}

TEST_CASE("a mask of one token gives that token's value", "[compressor]") {
  const Sequence s(170, 1, 1, 32, 32, 303);
  AnyCompressor cache(small_format("k4v4"), 1, 7);
  fill(cache, s, 170);
  Workspace workspace;
  for (const std::size_t only : {0u, 2u, 3u, 66u, 67u, 130u, 131u, 169u}) {
    std::vector<std::uint8_t> mask(170, 0);
    mask[only] = 1;
    AttendParams p;
    p.mask = mask, p.arithmetic = Arithmetic::exact;
    std::vector<float> value(32);
    REQUIRE(cache.try_decode_value(0, only, value, workspace).ok());
    CHECK(same_bits(attend(cache, s.q.view(169, 1), p), value));  // weight exp(0) = 1
  }
}

TEST_CASE("what a query cannot see gives zeros: empty cache, full mask, positions before the first",
          "[compressor]") {
  const Sequence s(170, 2, 2, 32, 32, 304);
  const std::vector<float> sinks = {1, 2, 3, 4}, zeros(4 * 32, 0.0f);
  for (const bool cap : {false, true})
    for (const bool sink : {false, true})
      for (const Arithmetic arithmetic : {Arithmetic::integer, Arithmetic::exact}) {
        AttendParams p;
        p.soft_cap = cap ? 30.0f : 0.0f, p.arithmetic = arithmetic;
        if (sink) p.sink_logits = sinks;
        AnyCompressor cache(small_format("k4v4"), 2, 7);
        CHECK(attend(cache, s.q.view(0, 1), p) == zeros);
        fill(cache, s, 170);
        const std::vector<std::uint8_t> mask(170, 0);
        p.mask = mask;
        CHECK(attend(cache, s.q.view(0, 1), p) == zeros);
        p.mask = {};
        cache.truncate(1);
        auto out = attend(cache, s.q.view(0, 2), p);  // positions -1 and 0
        out.resize(4 * 32);
        CHECK(out == zeros);
      }
}

TEST_CASE("1, 63, 64 and 65 tokens under a cap without a mask: padding is no token", "[compressor]") {
  for (const std::size_t n : {1u, 63u, 64u, 65u, 66u, 67u, 68u}) {
    const Sequence s(n, 1, 1, 32, 32, 305);
    for (const std::uint32_t sinks : {0u, 3u}) {
      Format format = small_format("k4v4");
      format.sinks = sinks, format.window = 0;
      AnyCompressor cache(format, 1, 7);
      fill(cache, s, n);
      AttendParams p;
      p.soft_cap = 1;  // all weights about equal: one token too many shows at once
      CAPTURE(n, sinks);
      CHECK(worst_attention(cache, s.q, 1, decoded_heads(cache), p) <= 1);
    }
  }
}

TEST_CASE("the slack of a block never changes a bit of a result", "[compressor]") {
  using K = TurboQuant<Hadamard, LloydMax<3>, Srht>;
  using V = PolarQuant<Hadamard, Trellis<3>>;
  const Sequence s(150, 2, 2, 66, 34, 306);
  CompressorOptions options;
  options.kv_heads = 2, options.window = 0;
  options.key_conditioner = options.value_conditioner = ConditionerKind::block_mean;
  TestPages source;
  KVCompressor<K, V, TestPages> cache(K(66, 1), V(34, 2, 3), options, &source);
  fill(cache, s, 150);
  REQUIRE(cache.blocks() == 2);
  Workspace workspace;
  std::vector<float> before(150), after(150);
  REQUIRE(cache.try_score(1, {s.q.row(0, 0), 66}, before, workspace).ok());
  const auto out = attend(cache, s.q.view(140, 10));
  const BlockLayout& b = cache.block_layout();
  const std::pair<std::size_t, std::size_t> parts[] = {
      {b.key_mean, 2 * b.key_mean_dims},         {b.value_mean, 2 * b.value_mean_dims},
      {b.key_codes, 4 * b.key.key_tile_bytes()}, {b.value_codes, b.value.value_block_bytes()},
      {b.key_scales, 128 * b.key.scales},        {b.value_scales, 128 * b.value.scales}};
  std::size_t poisoned = 0;
  for (const auto& [page, size] : source.pages) {
    std::vector<bool> used(size, false);
    std::fill(used.begin(), used.begin() + 10, true);  // the fields of the header
    for (const auto& [begin, bytes] : parts)
      std::fill_n(used.begin() + static_cast<std::ptrdiff_t>(begin), bytes, true);
    for (std::size_t i = 0; i < size; ++i)
      if (!used[i]) page[i] = std::byte{0xff}, ++poisoned;
  }
  REQUIRE(poisoned > 4 * 54);
  REQUIRE(cache.try_score(1, {s.q.row(0, 0), 66}, after, workspace).ok());
  CHECK(same_bits(before, after));
  CHECK(same_bits(out, attend(cache, s.q.view(140, 10))));
}

TEST_CASE("a workspace full of another cache's numbers changes nothing", "[compressor]") {
  const Sequence large(200, 2, 4, 64, 64, 307), small(150, 1, 1, 32, 32, 308);
  AnyCompressor a(preset("k4v4", 64, 64), 2, 7), b(small_format("paper3"), 1, 8);
  fill(a, large, 200), fill(b, small, 150);
  const auto expected = attend(b, small.q.view(149, 1));
  Workspace used;
  std::vector<float> out(10 * 8 * 64);
  a.attend(large.q.view(190, 10), out.data(), {}, used);
  out.resize(32);
  b.attend(small.q.view(149, 1), out.data(), {}, used);
  CHECK(same_bits(out, expected));
}
