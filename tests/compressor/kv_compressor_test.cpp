// attend() with Arithmetic::exact is float64 attention on the keys and values that the cache says it holds,
// for every preset, head shape and group of query heads.
#include "compressor/reference.hpp"

#include "catch.hpp"

using namespace tightkv;
using namespace tightkv_test;

namespace {

/// Sinks, a block, and a tail. Three kv heads, each around a direction of its own: a query head that reads a
/// neighbour's kv head is off by more than the values' norm.
void check_shape(std::string_view name, std::size_t key_dim, std::size_t value_dim, std::size_t heads,
                 std::initializer_list<std::size_t> groups) {
  CAPTURE(name, key_dim, value_dim);
  Format format = preset(name, key_dim, value_dim);
  format.sinks = 2, format.window = 1;
  const std::size_t tokens = 2 + 64 + 20;
  const Sequence s(tokens, heads, 1, key_dim, value_dim, key_dim + value_dim);
  AnyCompressor cache(format, heads, 42);
  fill(cache, s, tokens);
  REQUIRE(cache.blocks() == 1);
  const std::vector<History> histories = decoded_heads(cache);
  for (const std::size_t group : groups) {
    CAPTURE(group);
    const Tokens q = random_tokens(3, heads * group, key_dim, group, 0.5);
    CHECK(worst_attention(cache, q, 3, histories) <= 1);
  }
}

}  // namespace

TEST_CASE("exact attention equals float64 attention on the decoded tokens: every preset", "[compressor]") {
  for (const auto& p : tightkv::detail::presets) check_shape(p.name, 64, 64, 2, {2});
}

TEST_CASE("exact attention at other head dims, and with values narrower or wider than keys", "[compressor]") {
  for (const char* const name : {"k4v4", "k8v4", "paper3", "turbo3", "q8_0", "turboquant_k3v4_nc"}) {
    for (const std::size_t dim : {std::size_t{80}, std::size_t{128}, std::size_t{192}})
      check_shape(name, dim, dim, 1, {2});
    check_shape(name, 192, 128, 1, {3});
    check_shape(name, 64, 80, 1, {3});
    check_shape(name, 66, 34, 1, {1});  // padded to 80 and 48
  }
}

TEST_CASE("query head h reads kv head h / group", "[compressor]") {
  for (const char* const name : {"k3v2", "turbo4", "f16"})
    check_shape(name, 64, 64, 3, {1, 2, 3, 4, 7, 8, 24});
  check_shape("k4v4", 64, 64, 1, {1, 7, 24});
}

TEST_CASE("the test's own premise: a neighbour's kv head is far out of bounds", "[compressor]") {
  const Sequence s(86, 3, 1, 64, 64, 1);
  AnyCompressor cache(preset("k4v4", 64, 64), 3, 42);
  fill(cache, s, 86);
  std::vector<History> histories = decoded_heads(cache);
  std::rotate(histories.begin(), histories.begin() + 1, histories.end());
  CHECK(worst_attention(cache, random_tokens(1, 6, 64, 5), 1, histories) > 100);
}

TEST_CASE("several blocks: long histories stay within the bound", "[compressor]") {
  for (const char* const name : {"k4v4", "k8v4", "k3v2", "paper4", "turbo0v4", "turboquant_3bit_nc"}) {
    CAPTURE(name);
    const Sequence s(64 * 4 + 70, 1, 1, 64, 64, 9);
    AnyCompressor cache(preset(name, 64, 64), 1, 7);
    for (std::size_t t = 0; t < s.size(); t += 65) {
      REQUIRE(append(cache, s, t, std::min<std::size_t>(65, s.size() - t)).ok());
      cache.commit();
    }
    REQUIRE(cache.blocks() >= 3);
    CHECK(worst_attention(cache, random_tokens(4, 2, 64, 3), 4, decoded_heads(cache)) <= 1);
  }
}

TEST_CASE("what is decoded is what was appended, as near as the width allows", "[compressor]") {
  // Relative error of one vector: 8 bits about 0.01, 4 bits 0.1, 2 bits 0.34 (codebooks/); raw rows none.
  const struct {
    const char* name;
    double key, value;
  } cases[] = {
      {"k8v4", 0.02, 0.13}, {"k4v4", 0.13, 0.13}, {"k3v2", 0.25, 0.45}, {"q8_0", 0.01, 0.01}, {"f16", 0, 0}};
  for (const auto& c : cases) {
    CAPTURE(c.name);
    const Sequence s(140, 2, 1, 128, 128, 17);
    AnyCompressor cache(preset(c.name, 128, 128), 2, 1);
    fill(cache, s, 140);
    for (std::size_t h = 0; h < 2; ++h) {
      const History now = decoded(cache, h), before = original(s, h, 140);
      double key = 0, value = 0, packed = 0;
      for (std::size_t t = 0; t < 140; ++t) {
        const double k = norm(sum(now.keys[t], before.keys[t], -1)) / norm(before.keys[t]);
        const double v = norm(sum(now.values[t], before.values[t], -1)) / norm(before.values[t]);
        key = std::max(key, k), value = std::max(value, v);
        packed += v > 0;
      }
      CHECK(key <= 1.6 * c.key);  // the worst of 64 vectors
      CHECK(value <= 1.6 * c.value);
      if (c.value > 0) CHECK(packed == (cache.block_layout().key_mean_dims ? 64 : 128));
    }
  }
}

TEST_CASE("try_score and try_accumulate are the two halves of attention", "[compressor]") {
  const Sequence s(150, 2, 1, 64, 80, 23);
  AnyCompressor cache(preset("k4v3", 64, 80), 2, 11);
  fill(cache, s, 150);
  Workspace workspace;
  for (std::size_t h = 0; h < 2; ++h) {
    const History history = decoded(cache, h);
    const std::span<const float> q(s.q.row(3, h), 64);
    std::vector<float> logits(150), weights(150), out(80);
    REQUIRE(cache.try_score(h, q, logits, workspace, Arithmetic::exact).ok());
    const double q_norm = norm(q), reach = q_norm * 6 * largest_norm(history.keys);
    const double bound = (2 * rotation_error(RotationKind::hadamard, 64) + 136 * 0x1p-24) * reach;
    Vector expected(80, 0.0);
    for (std::size_t t = 0; t < 150; ++t) {
      CHECK(std::abs(static_cast<double>(logits[t]) - dot(q, history.keys[t])) <= bound);
      weights[t] = static_cast<float>(t % 5);
      expected = sum(expected, history.values[t], static_cast<double>(weights[t]));
    }
    REQUIRE(cache.try_accumulate(h, weights, out, workspace, Arithmetic::exact).ok());
    double mass = 0;
    for (const float w : weights) mass += static_cast<double>(w);
    CHECK(norm(sum(doubles(out), expected, -1)) <=
          (2 * rotation_error(RotationKind::hadamard, 80) + 160 * 0x1p-24) * mass * 3 *
              largest_norm(history.values));
  }
}
