// A page source that runs dry at any allocation: the call fails, the cache is as it was, and works on later.
#include "compressor/reference.hpp"

#include "catch.hpp"

using namespace tightkv;
using namespace tightkv_test;

namespace {

using Key = PolarQuant<Hadamard, LloydMax<4>>;
using Cache = KVCompressor<Key, Key, TestPages>;

Cache make(TestPages& source, std::uint32_t window, ConditionerKind conditioner) {
  CompressorOptions options;
  options.kv_heads = 2, options.sinks = 3, options.window = window;
  options.key_conditioner = conditioner;
  options.value_conditioner = ConditionerKind::frozen_mean;
  return Cache(Key(16, 1), Key(16, 2), options, &source);
}

/// All that can be seen of a cache but its spare room.
struct Picture {
  std::size_t size, committed, blocks, held;
  std::vector<std::vector<std::byte>> bytes;
  std::vector<float> out;
  Buffer<Half> scale;
  CacheBytes parts;

  Picture(const Cache& cache, const TestPages& source, const Sequence& s)
      : size(cache.size()),
        committed(cache.committed()),
        blocks(cache.blocks()),
        held(source.held),
        out(attend(cache, s.q.view(0, std::min<std::size_t>(cache.size(), 4)))),
        scale(cache.key_condition(1).channel_scale),
        parts(cache.bytes()) {
    for (std::size_t h = 0; h < 2; ++h)
      for (std::size_t b = 0; b < blocks; ++b) bytes.push_back(block_bytes(cache, h, b));
  }
  bool operator==(const Picture& o) const {
    return size == o.size && committed == o.committed && blocks == o.blocks && held == o.held &&
           bytes == o.bytes && same_bits(out, o.out) && scale == o.scale && parts.codes == o.parts.codes &&
           parts.scales == o.parts.scales && parts.sinks == o.parts.sinks && parts.tail == o.parts.tail &&
           parts.packed_tokens == o.parts.packed_tokens;
  }
};

}  // namespace

TEST_CASE("no page at any allocation: nothing changes, and the same call succeeds later", "[compressor]") {
  const Sequence s(420, 2, 2, 16, 16, 601);
  for (const ConditionerKind conditioner : {ConditionerKind::balanced, ConditionerKind::block_mean})
    for (const std::uint32_t window : {0u, 40u, 100u}) {
      std::size_t failed_appends = 0, failed_commits = 0;
      TestPages unlimited;
      Cache expected = make(unlimited, window, conditioner);
      fill(expected, s, 420);
      for (std::size_t limit = 0; limit <= 2 * expected.blocks(); ++limit) {
        CAPTURE(window, limit);
        TestPages source;
        Cache cache = make(source, window, conditioner);
        source.left = limit;
        std::size_t t = 0;
        // Blocks become due at an append, or exactly at the commit of token 3 + window + 64.
        for (const std::size_t chunk : {30u, 37u, 40u, 188u, 1u, 124u}) {
          const Picture before(cache, source, s);
          if (const Status status = append(cache, s, t, chunk); !status.ok()) {
            ++failed_appends;
            CHECK(status.code() == ErrorCode::out_of_memory);
            CHECK(Picture(cache, source, s) == before);
            source.left = ~std::size_t{0};
            REQUIRE(append(cache, s, t, chunk).ok());
          }
          t += chunk;
          const Picture appended(cache, source, s);
          if (const Status status = cache.try_commit(); !status.ok()) {
            ++failed_commits;
            CHECK(status.code() == ErrorCode::out_of_memory);
            CHECK(Picture(cache, source, s) == appended);
            source.left = ~std::size_t{0};
            REQUIRE(cache.try_commit().ok());
          }
        }
        CHECK(same_blocks(cache, expected, expected.blocks()));
        CHECK(same_bits(attend(cache, s.q.view(410, 10)), attend(expected, s.q.view(410, 10))));
      }
      CHECK(failed_appends > 2);
      CHECK(failed_commits > 0);
    }
}

TEST_CASE("pages come back when blocks, tokens or the cache go, and never twice", "[compressor]") {
  const Sequence s(300, 2, 1, 16, 16, 602);
  TestPages source;
  {
    Cache cache = make(source, 0, ConditionerKind::none);
    fill(cache, s, 300);
    const std::size_t block = cache.block_layout().bytes;
    CHECK(source.held == 2 * 4 * block);
    cache.truncate(3 + 64 + 1);
    CHECK(source.held == 2 * 2 * block);
    Cache moved = std::move(cache);
    CHECK(source.held == 2 * 2 * block);
    CHECK(worst_attention(moved, s.q, 1, decoded_heads(moved)) <= 1);
    moved.clear();
    CHECK(source.held == 0);
    fill(moved, s, 300);
  }
  CHECK(source.held == 0);
  CHECK(source.pages.empty());
}
