// What Arithmetic::integer computes: the same integers as a plain loop over codes and rounded query, and how
// far the rounding of query and weights may reach.
#include "compressor/reference.hpp"

#include "catch.hpp"

using namespace tightkv;
using namespace tightkv_test;

namespace {

/// The records of one block, opened by the public functions of storage/block.hpp.
template <class Cache>
BlockScratch opened_keys(const Cache& cache, std::size_t head, std::size_t b) {
  BlockScratch scratch;
  read_keys(cache.key_codec(), cache.block_layout(), cache.block(head, b).data(), scratch);
  return scratch;
}

template <unsigned Bits>
using Plain = PolarQuant<Identity, LloydMax<Bits>>;

CompressorOptions packed_at_once(std::size_t heads = 1) {
  CompressorOptions o;
  o.kv_heads = heads, o.sinks = 0, o.window = 0;
  return o;
}

}  // namespace

TEST_CASE("an integer score is scale times the integer sum, bit for bit", "[compressor]") {
  const std::size_t dim = 80;
  const Sequence s(64, 1, 1, dim, dim, 31);
  using Codec = PolarQuant<Hadamard, LloydMax<4>>;
  KVCompressor<Codec, Codec> cache(Codec(dim, 5), Codec(dim, 6), packed_at_once());
  fill(cache, s, 64);
  REQUIRE(cache.blocks() == 1);
  const BlockScratch block = opened_keys(cache, 0, 0);
  Workspace workspace;
  std::vector<float> logits(64);
  for (std::size_t row = 0; row < 8; ++row) {
    const std::span<const float> q(s.q.row(row, 0), dim);
    PreparedQuery prepared;
    cache.key_codec().prepare(q, prepared);
    REQUIRE(cache.try_score(0, q, logits, workspace).ok());
    for (std::size_t t = 0; t < 64; ++t) {
      std::int64_t total = 0;
      for (std::size_t i = 0; i < dim; ++i) total += block.levels[t * dim + i] * prepared.code.value(i);
      REQUIRE(std::abs(total) < 1 << 24);  // exact as a float
      const float expected = block.scales[t] * (static_cast<float>(total) * prepared.code.scale);
      CHECK(logits[t] == expected);
    }
  }
}

TEST_CASE("two planes of a wide query: within two roundings of the integer sum", "[compressor]") {
  const std::size_t dim = 128;
  const Sequence s(64, 1, 1, dim, dim, 32);
  using Codec = PolarQuant<Hadamard, Grid<8>>;
  KVCompressor<Codec, Codec> cache(Codec(dim, 5), Codec(dim, 6), packed_at_once());
  fill(cache, s, 64);
  const BlockScratch block = opened_keys(cache, 0, 0);
  Workspace workspace;
  std::vector<float> logits(64);
  const std::span<const float> q(s.q.row(1, 0), dim);
  PreparedQuery prepared;
  cache.key_codec().prepare(q, prepared);
  REQUIRE(prepared.code.wide);
  REQUIRE(cache.try_score(0, q, logits, workspace).ok());
  for (std::size_t t = 0; t < 64; ++t) {
    std::int64_t high = 0, low = 0;
    for (std::size_t i = 0; i < dim; ++i) {
      high += block.levels[t * dim + i] * prepared.code.high[i];
      low += block.levels[t * dim + i] * prepared.code.low[i];
    }
    const double unit = static_cast<double>(block.scales[t]) * static_cast<double>(prepared.code.scale);
    const double exact = unit * static_cast<double>(254 * high + low);
    // Roundings of 254 high and of the sum, then of two products.
    const double bound = 0x1p-24 * (2 * unit * static_cast<double>(std::abs(254 * high)) +
                                    unit * 127 * 127 * 128 + 3 * std::abs(exact));
    CHECK(std::abs(static_cast<double>(logits[t]) - exact) <= bound);
  }
}

TEST_CASE("an integer sum of values is the sum of rounded weights, bit for bit", "[compressor]") {
  const std::size_t dim = 48;
  const Sequence s(64, 1, 1, dim, dim, 33);
  KVCompressor<Plain<4>, Plain<3>> cache(Plain<4>(dim, 0), Plain<3>(dim, 0), packed_at_once());
  fill(cache, s, 64);
  BlockScratch block;
  read_values(cache.value_codec(), cache.block_layout(), cache.block(0, 0).data(), block);
  Workspace workspace;
  Rng rng(4);
  std::vector<float> weights(64), out(dim), scaled(64);
  for (float& w : weights) w = static_cast<float>(rng.uniform() < 0.2 ? 0 : rng.uniform());
  REQUIRE(cache.try_accumulate(0, weights, out, workspace).ok());
  float largest = 0;
  for (std::size_t t = 0; t < 64; ++t) {
    scaled[t] = weights[t] * block.scales[t];
    largest = std::max(largest, scaled[t]);
  }
  for (std::size_t i = 0; i < dim; ++i) {
    std::int64_t total = 0;
    for (std::size_t t = 0; t < 64; ++t)
      total += static_cast<std::int64_t>(scaled[t] * (65535.0f / largest) + 0.5f) * block.levels[t * dim + i];
    REQUIRE(std::abs(total) < std::int64_t{1} << 31);
    const float expected = largest / 65535.0f * static_cast<float>(total);
    CHECK(out[i] == expected);
  }
}

TEST_CASE("a rounded query is off by at most half a step, an integer score by no more", "[compressor]") {
  // |score - exact score| <= scale |levels|_1 step / 2: the bound of IntegerVector, times the record. Below 6
  // bits the step is max |R q| / 127, above max / 32385.
  for (const char* const name : {"turbo2", "turbo3", "turbo4", "k8v4"}) {
    const std::size_t dim = 96;
    const Sequence s(64, 1, 1, dim, dim, 34);
    Format format = preset(name, dim, dim);
    format.sinks = format.window = 0;
    AnyCompressor cache(format, 1, 3);
    fill(cache, s, 64);
    const BlockScratch block = opened_keys(cache, 0, 0);
    Workspace workspace;
    std::vector<float> integer(64), exact(64);
    double nearest = 0;
    for (std::size_t row = 0; row < 16; ++row) {
      const std::span<const float> q(s.q.row(row, 0), dim);
      PreparedQuery prepared;
      cache.key_codec().prepare(q, prepared);
      const double step = static_cast<double>(prepared.code.scale);
      for (std::size_t i = 0; i < dim; ++i)
        CHECK(std::abs(step * prepared.code.value(i) - static_cast<double>(prepared.rotated[i])) <=
              step * (0.5 + 0x1p-7));
      REQUIRE(cache.try_score(0, q, integer, workspace).ok());
      REQUIRE(cache.try_score(0, q, exact, workspace, Arithmetic::exact).ok());
      for (std::size_t t = 0; t < 64; ++t) {
        double l1 = 0;
        for (std::size_t i = 0; i < dim; ++i) l1 += std::abs(block.levels[t * dim + i]);
        const double scale = static_cast<double>(block.scales[t]);
        const double rounding = scale * l1 * step * (0.5 + 0x1p-7);
        // Float sums of the exact score, and the shared mean added to both.
        const double floats =
            (static_cast<double>(dim) + 8) * 0x1p-24 *
            (scale * l1 *
                 static_cast<double>(*std::max_element(prepared.rotated.begin(), prepared.rotated.end())) +
             2 * norm(q) * norm(Vector(s.k.row(t, 0), s.k.row(t, 0) + dim)));
        const double error = std::abs(static_cast<double>(integer[t]) - static_cast<double>(exact[t]));
        CHECK(error <= rounding + floats);
        nearest = std::max(nearest, error / rounding);
      }
    }
    CHECK(nearest > 0.01);  // the bound is not empty: integers are in use
  }
}

TEST_CASE("integer attention is within its rounding of exact attention for every preset", "[compressor]") {
  // Logits move by at most delta = scale * |k^|_1,codes * step / 2 <= 0.07 here (step of 8 bits, |q| = 8);
  // weights by e^(2 delta) - 1, plus 2^-17 of the largest of a block each.
  for (const auto& p : tightkv::detail::presets) {
    CAPTURE(p.name);
    const Sequence s(140, 1, 2, 64, 64, 35);
    Format format = preset(p.name, 64, 64);
    format.sinks = 1, format.window = 0;
    AnyCompressor cache(format, 1, 3);
    fill(cache, s, 140);
    AttendParams exact;
    exact.arithmetic = Arithmetic::exact;
    const auto a = attend(cache, s.q.view(138, 2)), b = attend(cache, s.q.view(138, 2), exact);
    CHECK(norm(sum(doubles(a), doubles(b), -1)) <= 0.03 * norm(b));
    // Raw on both sides: only the order of float sums may differ.
    if (format.key.kind == CodecKind::raw && format.value.kind == CodecKind::raw)
      CHECK(norm(sum(doubles(a), doubles(b), -1)) <= 0x1p-16 * norm(b));
  }
}
