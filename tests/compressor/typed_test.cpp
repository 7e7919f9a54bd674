// The typed face and AnyCompressor of the same Format: one code, the same bytes, the same bits.
#include "compressor/reference.hpp"

#include "catch.hpp"

using namespace tightkv;
using namespace tightkv_test;

namespace {

constexpr std::uint64_t seed = 77;
constexpr std::uint64_t value_seed = AnyCompressor::value_seed(seed);

template <class K, class V>
void check_equal(const Format& format, K key, V value) {
  CompressorOptions options;
  options.kv_heads = 2, options.sinks = format.sinks, options.window = format.window,
  options.tail = format.tail;
  options.key_conditioner = format.key.conditioner, options.value_conditioner = format.value.conditioner;
  KVCompressor<K, V> typed(std::move(key), std::move(value), options);
  AnyCompressor any(format, 2, seed);
  CHECK(typed.format() == any.format());
  CHECK(typed.key_codec().hash() == any.key_codec().hash());
  CHECK(typed.value_codec().hash() == any.value_codec().hash());
  const Sequence s(210, 2, 2, format.key_dim, format.value_dim, 901);
  fill(typed, s, 210), fill(any, s, 210);
  REQUIRE(typed.blocks() >= 2);
  CHECK(typed.blocks() == any.blocks());
  CHECK(same_blocks(typed, any, typed.blocks()));
  for (const Arithmetic arithmetic : {Arithmetic::integer, Arithmetic::exact}) {
    AttendParams p;
    p.arithmetic = arithmetic;
    CHECK(same_bits(attend(typed, s.q.view(200, 10), p), attend(any, s.q.view(200, 10), p)));
  }
  CHECK(typed.bytes().total() == any.bytes().total());
  CHECK(typed.report() == any.report());
  CHECK(worst_attention(typed, s.q, 2, decoded_heads(typed)) <= 1);
}

}  // namespace

TEST_CASE("TurboQuant keys, PolarQuant values: paper3", "[compressor]") {
  check_equal(preset("paper3", 64, 64), TurboQuant<Haar, LloydMax<2>, Gaussian>(64, seed),
              PolarQuant<Haar, LloydMax<3>, scale::Unit>(64, value_seed));
}

TEST_CASE("raw keys, coded values: turbo0v4", "[compressor]") {
  check_equal(preset("turbo0v4", 64, 80), Raw(64),
              PolarQuant<Hadamard, LloydMax<4>, scale::NormCorrected>(80, value_seed));
}

TEST_CASE("PolarQuant keys, grouped values: turboquant_k4v3_nc and groups of 32", "[compressor]") {
  Format format = preset("turboquant_k4v3_nc", 80, 64);
  using Key = PolarQuant<Hadamard, LloydMax<4>, scale::NormCorrected>;
  check_equal(format, Key(80, seed), GroupQuant(64, 3, 0));
  format.value.group = 32, format.value.bits = 8;
  check_equal(format, Key(80, seed), GroupQuant(64, 8, 32));
}

TEST_CASE("trellis with block means and five search points: k4v3", "[compressor]") {
  check_equal(preset("k4v3", 64, 64), PolarQuant<Hadamard, Trellis<4>>(64, seed, 5),
              PolarQuant<Hadamard, Trellis<3>>(64, value_seed, 5));
}

TEST_CASE("grid keys and Q8 values, in bf16", "[compressor]") {
  Format format = preset("turbo8/q8_0", 64, 80);
  format.tail = ElementType::bf16, format.key.conditioner = ConditionerKind::balanced;
  check_equal(format, PolarQuant<Hadamard, Grid<8>>(64, seed), Q8(80));
}

TEST_CASE("sketches of each kind, with fewer and more rows than dims", "[compressor]") {
  Format format = preset("f16", 64, 64);
  format.key = {};
  format.key.kind = CodecKind::qjl, format.key.bits = 1, format.key.rows = 48;
  format.key.projection = ProjectionKind::orthogonal;
  check_equal(format, QJL<Orthogonal>(64, seed, 48), Raw(64));
  format.key.projection = ProjectionKind::srht, format.key.rows = 128;
  check_equal(format, QJL<Srht>(64, seed, 128), Raw(64));
}

TEST_CASE("key and value of one token do not share randomness", "[compressor]") {
  Format format = preset("turbo4", 64, 64);
  format.sinks = format.window = 0;
  AnyCompressor cache(format, 1, seed);
  const Tokens k = random_tokens(64, 1, 64, 902);
  cache.append(k.view(), k.view());
  cache.commit();
  const History now = decoded(cache, 0);
  CHECK(norm(sum(now.keys[0], now.values[0], -1)) > 0.01 * norm(now.keys[0]));
}
