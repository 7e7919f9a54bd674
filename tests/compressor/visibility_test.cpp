// What a query sees: against an oracle that commits token by token and keeps lists of positions.
#include "compressor/reference.hpp"

#include <deque>

#include "catch.hpp"

using namespace tightkv;
using namespace tightkv_test;

namespace {

/// packed[p][t]: does the query at p read token t from a block? Design decision 5, one token at a time.
std::vector<std::vector<bool>> oracle(std::size_t tokens, std::size_t sinks, std::size_t window) {
  std::vector<std::vector<bool>> packed;
  std::deque<std::size_t> tail;
  std::vector<bool> in_block(tokens, false);
  for (std::size_t p = 0; p < tokens; ++p) {
    packed.push_back(in_block);  // the query at p comes before p is committed
    if (p >= sinks) tail.push_back(p);
    while (tail.size() >= window + 64)
      for (int i = 0; i < 64; ++i) in_block[tail.front()] = true, tail.pop_front();
  }
  return packed;
}

/// Decoded rows of tokens in blocks: of a cache without a window that packs every block it can.
History packed_rows(Format format, const Sequence& s, std::size_t head) {
  format.window = 0;
  AnyCompressor all(format, s.k.heads, 3);
  fill(all, s, s.size());
  return decoded(all, head);
}

}  // namespace

TEST_CASE("a query at p reads packed what token-by-token commits would have flushed by p", "[compressor]") {
  Rng rng(1);
  for (const std::uint32_t sinks : {0u, 1u, 4u, 70u})
    for (const std::uint32_t window : {0u, 1u, 63u, 64u, 65u, 200u}) {
      CAPTURE(sinks, window);
      Format format =
          preset("k3v2", 16, 16);  // coarse: packed and raw rows differ by far more than the bound
      format.sinks = sinks, format.window = window;
      const std::size_t tokens = sinks + window + 64 + 70 + rng.below(64);
      const Sequence s(tokens, 1, 1, 16, 16, 200 + sinks + window);
      const History packed = packed_rows(format, s, 0), raw = original(s, 0, tokens);
      const auto views = oracle(tokens, sinks, window);
      AnyCompressor cache(format, 1, 3);
      std::size_t wrong = 0, seen_packed = 0;
      for (std::size_t t = 0; t < tokens;) {
        const std::size_t count = std::min(tokens - t, 1 + rng.below(rng.below(2) ? 8 : 250));
        REQUIRE(append(cache, s, t, count).ok());
        AttendParams params;
        params.arithmetic = Arithmetic::exact;
        const auto out = attend(cache, s.q.view(t, count), params);
        for (std::size_t p = t; p < t + count; ++p) {
          History view = raw;
          for (std::size_t i = 0; i < p; ++i)
            if (views[p][i]) view.keys[i] = packed.keys[i], view.values[i] = packed.values[i], ++seen_packed;
          const Vector expected = attention(view, s.q.row(p, 0), 0, p);
          Vector error = expected;
          for (std::size_t i = 0; i < 16; ++i) error[i] -= static_cast<double>(out[(p - t) * 16 + i]);
          wrong += !(norm(error) <=
                     attention_bound(format, tokens, norm(Vector(s.q.row(p, 0), s.q.row(p, 0) + 16)), view));
        }
        t += count;
        if (rng.below(4))
          cache.commit(rng.below(2) ? cache.size() - cache.committed()
                                    : rng.below(cache.size() - cache.committed() + 1));
      }
      CHECK(wrong == 0);
      CHECK(seen_packed > 0);
    }
}

TEST_CASE("sinks stay raw for good, the tail holds window to window + 63 tokens", "[compressor]") {
  for (const std::uint32_t sinks : {0u, 1u, 4u, 70u})
    for (const std::uint32_t window : {0u, 1u, 63u, 64u, 65u, 200u}) {
      Format format = preset("k4v4", 16, 16);
      format.sinks = sinks, format.window = window;
      const Sequence s(480, 1, 1, 16, 16, 3);
      AnyCompressor cache(format, 1, 3);
      for (std::size_t t = 0; t < s.size(); ++t) {
        REQUIRE(append(cache, s, t, 1).ok());
        cache.commit();
        const CacheBytes b = cache.bytes();
        const std::size_t in_sinks = std::min<std::size_t>(t + 1, sinks), after = t + 1 - in_sinks;
        const std::size_t tail = b.tail / (2 * 32);
        const bool right =
            b.sinks == in_sinks * 2 * 32 && b.packed_tokens + tail == after &&
            (b.packed_tokens == 0 ? tail < window + 64 : tail >= window && tail <= window + 63) &&
            b.packed_tokens == 64 * flushed_blocks(t + 1, sinks, window);
        if (!right) FAIL("sinks " << sinks << ", window " << window << ", token " << t);
      }
    }
}

TEST_CASE("queries of old positions see no later token", "[compressor]") {
  Format format = preset("k4v4", 16, 16);
  format.sinks = 4, format.window = 10;
  const Sequence s(200, 1, 2, 16, 16, 4);
  AnyCompressor cache(format, 1, 3);
  fill(cache, s, 200);
  // Their raw rows may be gone, then they read the blocks that there are; but never past themselves.
  CHECK(worst_attention(cache, s.q, 200, decoded_heads(cache)) <= 1);
}
