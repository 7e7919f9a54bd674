// Taking tokens back. Tentative ones leave no trace; committed ones are cut where they lie.
#include "compressor/reference.hpp"

#include "catch.hpp"

using namespace tightkv;
using namespace tightkv_test;

namespace {

/// Everything that a reader can see: sizes, flushed blocks, scores, decoded rows, outputs.
template <class Cache>
void check_same(const Cache& a, const Cache& b, const Sequence& s, std::size_t flushed) {
  REQUIRE(a.size() == b.size());
  CHECK(a.committed() == b.committed());
  CHECK(same_blocks(a, b, flushed));
  CHECK(same_blocks(a, b, std::min(a.blocks(), b.blocks())));
  const std::size_t n = a.size(), rows = std::min<std::size_t>(n, 5);
  CHECK(same_bits(attend(a, s.q.view(s.size() - rows, rows)), attend(b, s.q.view(s.size() - rows, rows))));
  Workspace workspace;
  for (std::size_t h = 0; h < a.kv_heads(); ++h) {
    std::vector<float> x(n), y(n);
    REQUIRE(a.try_score(h, {s.q.row(1, h), s.q.dim}, x, workspace).ok());
    REQUIRE(b.try_score(h, {s.q.row(1, h), s.q.dim}, y, workspace).ok());
    CHECK(same_bits(x, y));
    if (n == 0) continue;
    std::vector<float> v(a.value_dim()), w(a.value_dim());
    REQUIRE(a.try_decode_value(h, n - 1, v, workspace).ok());
    REQUIRE(b.try_decode_value(h, n - 1, w, workspace).ok());
    CHECK(same_bits(v, w));
  }
  const CacheBytes x = a.bytes(), y = b.bytes();
  CHECK(x.sinks == y.sinks);
  // A block that waits for its commit may exist on one side only: its raw rows are there as well.
  CHECK(x.tail == y.tail);
  if (a.blocks() == b.blocks()) {
    CHECK(x.packed_tokens == y.packed_tokens);
    CHECK(x.codes + x.scales == y.codes + y.scales);
  }
}

Format small_format(const char* name, std::uint32_t sinks, std::uint32_t window, ConditionerKind key) {
  Format f = preset(name, 16, 32);
  f.sinks = sinks, f.window = window;
  f.key.conditioner = key;
  return f;
}

/// A random sequence of appends, truncations of tentative tokens, commits and reads, replayed at the end into
/// a fresh cache that never took anything back.
void random_history(const Format& format, std::uint64_t seed) {
  Rng rng(seed);
  const Sequence pool(900, 2, 2, 16, 32, seed);  // tokens to draw from
  Sequence kept(0, 2, 2, 16, 32, seed);          // the tokens that stay
  AnyCompressor cache(format, 2, 5);
  std::size_t drawn = 0;
  const auto keep = [](Tokens& t, const Tokens& from, std::size_t first, std::size_t count) {
    const std::size_t row = t.heads * t.dim;
    t.data.insert(t.data.end(), from.data.begin() + static_cast<std::ptrdiff_t>(first * row),
                  from.data.begin() + static_cast<std::ptrdiff_t>((first + count) * row));
  };
  const auto cut = [](Tokens& t, std::size_t count) { t.data.resize(count * t.heads * t.dim); };
  while (drawn < 700) {
    const std::size_t count =
        std::min<std::size_t>(rng.below(4) ? 1 + rng.below(9) : 1 + rng.below(180), 900 - drawn);
    REQUIRE(append(cache, pool, drawn, count).ok());
    keep(kept.k, pool.k, drawn, count), keep(kept.v, pool.v, drawn, count),
        keep(kept.q, pool.q, drawn, count);
    drawn += count;
    if (rng.below(2)) attend(cache, pool.q.view(0, std::min<std::size_t>(cache.size(), 3)));
    if (rng.below(2)) {
      const std::size_t n = cache.committed() + rng.below(cache.size() - cache.committed() + 1);
      cache.truncate(n);
      cut(kept.k, n), cut(kept.v, n), cut(kept.q, n);
    }
    if (rng.below(2)) cache.commit(rng.below(cache.size() - cache.committed() + 1));
  }
  AnyCompressor fresh(format, 2, 5);
  REQUIRE(append(fresh, kept, 0, cache.committed()).ok());
  fresh.commit();
  REQUIRE(append(fresh, kept, cache.committed(), cache.size() - cache.committed()).ok());
  check_same(cache, fresh, pool, flushed_blocks(cache.committed(), format.sinks, format.window));
}

}  // namespace

TEST_CASE("appends, truncations and commits in any order equal a fresh cache of the same tokens",
          "[compressor]") {
  std::uint64_t seed = 100;
  for (const ConditionerKind key : {ConditionerKind::none, ConditionerKind::frozen_mean,
                                    ConditionerKind::balanced, ConditionerKind::block_mean})
    for (const std::uint32_t window : {0u, 1u, 64u})
      for (const std::uint32_t sinks : {0u, 4u, 70u}) {
        CAPTURE(name(key), window, sinks);
        random_history(small_format("k4v4", sinks, window, key), ++seed);
      }
  random_history(small_format("paper2", 4, 10, ConditionerKind::none), 77);
  random_history(small_format("turbo0v4", 4, 10, ConditionerKind::none), 78);
}

TEST_CASE("queries with some appends and not with others are taken back exactly too", "[compressor]") {
  const Format format = small_format("k4v4", 2, 0, ConditionerKind::balanced);
  const Sequence s(120, 2, 3, 16, 32, 51);
  const auto feed = [&](AnyCompressor& cache, std::size_t first, std::size_t count, bool queries) {
    REQUIRE(cache
                .try_append(s.k.view(first, count), s.v.view(first, count),
                            queries ? s.q.view(first, count) : TensorView{})
                .ok());
  };
  AnyCompressor a(format, 2, 5), b(format, 2, 5);
  feed(a, 0, 12, false);
  feed(a, 12, 40, true);
  a.truncate(20);
  feed(a, 20, 60, true);
  a.commit();
  feed(b, 0, 12, false);
  feed(b, 12, 68, true);
  b.commit();
  REQUIRE(a.blocks() == 1);
  CHECK(a.key_condition(0).channel_scale == b.key_condition(0).channel_scale);
  CHECK(same_blocks(a, b, 1));
}

TEST_CASE("speculative decoding: drafts that are refused leave no trace at any step", "[compressor]") {
  Format format = small_format("k3v3", 4, 8, ConditionerKind::block_mean);
  const Sequence s(300, 2, 2, 16, 32, 61), drafts(300, 2, 2, 16, 32, 62);
  AnyCompressor plain(format, 2, 5), speculating(format, 2, 5);
  Rng rng(6);
  for (std::size_t t = 0; t < 290; ++t) {
    REQUIRE(append(speculating, drafts, t, 1 + rng.below(9)).ok());
    attend(speculating, drafts.q.view(t, 1));
    speculating.truncate(t);
    REQUIRE(append(speculating, s, t, 1).ok());
    REQUIRE(append(plain, s, t, 1).ok());
    if (!same_bits(attend(speculating, s.q.view(t, 1)), attend(plain, s.q.view(t, 1)))) FAIL("token " << t);
    speculating.commit(), plain.commit();
  }
  CHECK(same_blocks(speculating, plain, plain.blocks()));
}

TEST_CASE("cutting committed tokens: exact in the tail, the rest of a block stays as it was",
          "[compressor]") {
  for (const std::uint32_t sinks : {0u, 4u, 70u}) {
    const Format format = small_format("k4v4", sinks, 10, ConditionerKind::block_mean);
    const Sequence s(300, 1, 1, 16, 32, 71);
    AnyCompressor whole(format, 1, 5);
    fill(whole, s, 300);
    const std::size_t packed = sinks + 64 * flushed_blocks(300, sinks, 10);
    for (const std::size_t n : {299u, 263u, 262u, 261u, 260u, 256u, 200u, 197u, 196u, 195u, 133u, 132u,
                                131u, 70u,  69u,  68u,  67u,  64u,  5u,   4u,   3u,   1u,   0u}) {
      CAPTURE(sinks, n);
      AnyCompressor cache(format, 1, 5);
      fill(cache, s, 300);
      cache.truncate(n);
      CHECK(cache.size() == n);
      CHECK(cache.committed() == n);
      // The first n tokens decode and score as before.
      Workspace workspace;
      std::vector<float> before(300), after(n), x(16), y(16);
      REQUIRE(whole.try_score(0, {s.q.row(0, 0), 16}, before, workspace).ok());
      REQUIRE(cache.try_score(0, {s.q.row(0, 0), 16}, after, workspace).ok());
      before.resize(n);
      CHECK(same_bits(before, after));
      if (n) {
        REQUIRE(whole.try_decode_key(0, n - 1, x, workspace).ok());
        REQUIRE(cache.try_decode_key(0, n - 1, y, workspace).ok());
        CHECK(same_bits(x, y));
      }
      const std::size_t live = std::min(n, packed) - std::min<std::size_t>(n, sinks);
      CHECK(cache.bytes().packed_tokens == live);
      CHECK(cache.blocks() == (live + 63) / 64);
      if (n % 4 != 1) continue;  // And the cache works on: attention against what it holds.
      REQUIRE(append(cache, s, 0, 90).ok());
      cache.commit();
      CHECK(cache.size() == n + 90);
      CHECK(worst_attention(cache, s.q, 1, decoded_heads(cache)) <= 1);
    }
  }
}

TEST_CASE("a window of 8, 12 tokens, back to 10, one more", "[compressor]") {
  // The report of a ring cache that could not be trimmed once it had wrapped.
  const Format format = small_format("k4v4", 0, 8, ConditionerKind::none);
  const Sequence s(13, 1, 1, 16, 32, 72);
  AnyCompressor cache(format, 1, 5), fresh(format, 1, 5);
  REQUIRE(append(cache, s, 0, 12).ok());
  cache.commit();
  cache.truncate(10);
  REQUIRE(append(cache, s, 12, 1).ok());
  fill(fresh, s, 10);
  REQUIRE(append(fresh, s, 12, 1).ok());
  check_same(cache, fresh, s, 0);
}

TEST_CASE("clear forgets tokens and what was learned from them", "[compressor]") {
  for (const ConditionerKind key :
       {ConditionerKind::none, ConditionerKind::frozen_mean, ConditionerKind::balanced}) {
    const Format format = small_format("k4v4", 4, 0, key);
    const Sequence first(200, 2, 2, 16, 32, 81), second(200, 2, 2, 16, 32, 82);
    AnyCompressor cache(format, 2, 5), fresh(format, 2, 5);
    fill(cache, first, 200);
    cache.clear();
    CHECK(cache.size() == 0);
    CHECK(cache.committed() == 0);
    CHECK(cache.blocks() == 0);
    CHECK(cache.bytes().total() - cache.bytes().slack == 0);
    CHECK(attend(cache, second.q.view(0, 1)) == std::vector<float>(4 * 32, 0.0f));
    fill(cache, second, 200);
    fill(fresh, second, 200);
    check_same(cache, fresh, second, fresh.blocks());
  }
}

TEST_CASE("commit takes at most the tentative tokens", "[compressor]") {
  const Sequence s(90, 1, 1, 16, 32, 91);
  AnyCompressor cache(small_format("k4v4", 0, 0, ConditionerKind::none), 1, 5);
  REQUIRE(append(cache, s, 0, 90).ok());
  CHECK(cache.try_commit(91).code() == ErrorCode::invalid_argument);
  CHECK(cache.committed() == 0);
  cache.commit(63);
  CHECK(cache.bytes().tail == 90 * 2 * (16 + 32));
  cache.commit(1);  // the 64th: now the block's rows go
  CHECK(cache.bytes().tail == 26 * 2 * (16 + 32));
  cache.commit();
  CHECK(cache.committed() == 90);
  CHECK(cache.try_truncate(91).code() == ErrorCode::invalid_argument);
  CHECK(cache.size() == 90);
}
