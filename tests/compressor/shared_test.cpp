// One store read by both sides: MLA's latent of 512 coded and 64 raw dims.
#include "compressor/reference.hpp"

#include "catch.hpp"

using namespace tightkv;
using namespace tightkv_test;

namespace {

using Latent = Split<PolarQuant<Hadamard, LloydMax<4>>>;

SharedKV<Latent> make(std::size_t coded, std::size_t raw, const CompressorOptions& options) {
  return {Latent(PolarQuant<Hadamard, LloydMax<4>>(coded, 9), Raw(raw)), SharedValue{}, options};
}

Format shared_format(std::size_t coded, std::size_t raw, const CompressorOptions& options) {
  Format f;
  f.key.kind = CodecKind::polar_quant, f.key.bits = 4;
  f.key.rotation = RotationKind::hadamard, f.key.codebook = CodebookKind::lloyd_max;
  f.key.raw_dims = static_cast<std::uint16_t>(raw);
  f.key.conditioner = options.key_conditioner;
  f.value = f.key;
  f.value.conditioner = ConditionerKind::none;
  f.key_dim = static_cast<std::uint16_t>(coded + raw), f.value_dim = static_cast<std::uint16_t>(coded);
  f.sinks = options.sinks, f.window = options.window, f.tail = options.tail, f.shared = true;
  return f;
}

/// Keys as given; values are never read.
template <class Cache>
void fill_shared(Cache& cache, const Tokens& k) {
  cache.append(k.view(), {});
  cache.commit();
}

}  // namespace

TEST_CASE("a shared latent: attention equals float64 on its decoded keys, values their first dims",
          "[compressor]") {
  for (const ConditionerKind conditioner :
       {ConditionerKind::none, ConditionerKind::frozen_mean, ConditionerKind::block_mean}) {
    CAPTURE(name(conditioner));
    CompressorOptions options;
    options.sinks = 1, options.window = 2, options.key_conditioner = conditioner;
    const Tokens k = random_tokens(90, 1, 576, 801), q = random_tokens(2, 5, 576, 802, 0);
    SharedKV<Latent> cache = make(512, 64, options);
    CHECK(cache.key_dim() == 576);
    CHECK(cache.value_dim() == 512);
    fill_shared(cache, k);
    REQUIRE(cache.blocks() == 1);
    std::vector<History> now = decoded_heads(cache);
    for (std::size_t t = 0; t < 90; ++t) {
      const Vector before(k.row(t, 0), k.row(t, 0) + 576);
      CHECK(norm(sum(now[0].keys[t], before, -1)) < 0.15 * norm(before));
      for (std::size_t i = 512; i < 576; ++i) CHECK(now[0].keys[t][i] == before[i]);  // the raw part
      // The value is the key's first dims: decoded on another path, so up to the two rotations' rounding.
      const Vector key_part(now[0].keys[t].begin(), now[0].keys[t].begin() + 512);
      CHECK(norm(sum(now[0].values[t], key_part, -1)) <
            (2 * rotation_error(RotationKind::hadamard, 512) + 0x1p-20) * 3 * norm(before));
    }
    CHECK(worst_attention(cache, q, 2, now) <= 1);
  }
}

TEST_CASE("a shared latent is stored and counted once", "[compressor]") {
  CompressorOptions options;
  options.sinks = 0, options.window = 0, options.kv_heads = 2;
  SharedKV<Latent> cache = make(512, 64, options);
  fill_shared(cache, random_tokens(70, 2, 576, 803));
  const CacheBytes b = cache.bytes();
  CHECK(b.codes == 2 * 64 * (512 / 2 + 64 * 2));
  CHECK(b.scales == 2 * 64 * 2);
  CHECK(b.headers == 2 * 64);
  CHECK(b.tail == 2 * 6 * 576 * 2);
  CHECK(cache.block_layout().value == RecordShape{});
  CHECK(cache.report().find("shared with key") != std::string::npos);
}

TEST_CASE("AnyCompressor of a shared Format gives the bytes and bits of the typed face", "[compressor]") {
  for (const ConditionerKind conditioner : {ConditionerKind::none, ConditionerKind::block_mean}) {
    CompressorOptions options;
    options.sinks = 4, options.window = 0, options.kv_heads = 2, options.key_conditioner = conditioner;
    options.tail = ElementType::bf16;
    const Tokens k = random_tokens(200, 2, 96, 804), q = random_tokens(3, 6, 96, 805, 0);
    SharedKV<Latent> typed = make(64, 32, options);
    AnyCompressor any(shared_format(64, 32, options), 2, 9);
    fill_shared(typed, k), fill_shared(any, k);
    CHECK(any.format() == typed.format());
    CHECK(any.format() == shared_format(64, 32, options));
    REQUIRE(typed.blocks() == 3);
    CHECK(any.blocks() == 3);
    CHECK(same_blocks(typed, any, 3));
    CHECK(same_bits(attend(typed, q.view()), attend(any, q.view())));
    CHECK(any.bytes().total() == typed.bytes().total());
  }
}

TEST_CASE("shared stores that cannot be are refused", "[compressor]") {
  CompressorOptions options;
  std::optional<AnyCompressor> out;
  Format f = shared_format(64, 32, options);
  f.value_dim = 96;
  CHECK(AnyCompressor::try_make(f, 1, 1, out).code() == ErrorCode::unsupported);
  f = shared_format(64, 32, options);
  f.key.conditioner = ConditionerKind::balanced;
  CHECK(AnyCompressor::try_make(f, 1, 1, out).code() == ErrorCode::unsupported);
  f = shared_format(64, 32, options);
  f.key.kind = CodecKind::turbo_quant, f.key.projection = ProjectionKind::srht, f.key.raw_dims = 0;
  f.value_dim = 96;
  CHECK(AnyCompressor::try_make(f, 1, 1, out).code() == ErrorCode::unsupported);
  SharedKV<Latent> cache = make(64, 32, options);
  const HalfVector mean{Buffer<Half>(64, to_half(1.0f)), 0};
  CHECK(!cache.try_set_condition(0, {mean, Buffer<Half>(64, to_half(1.0f))}, {}).ok());
  CHECK(cache.try_set_condition(0, {mean, {}}, {}).ok());
}
