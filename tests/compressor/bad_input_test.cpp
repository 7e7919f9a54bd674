// Wrong shapes, impossible requests and numbers at the ends of the float range.
#include "compressor/reference.hpp"

#include "catch.hpp"

using namespace tightkv;
using namespace tightkv_test;

namespace {

Format plain_format() {
  Format f = preset("k4v4", 32, 48);
  f.sinks = 2, f.window = 0;
  return f;
}

}  // namespace

TEST_CASE("wrong shapes are refused by every call, in words, without a trace", "[compressor]") {
  const Sequence s(100, 2, 2, 32, 48, 501);
  AnyCompressor cache(plain_format(), 2, 3);
  fill(cache, s, 90);
  const auto before = attend(cache, s.q.view(89, 1));
  const auto bytes = block_bytes(cache, 0, 0);
  Workspace workspace;
  std::vector<float> out(10000);
  const TensorView k = s.k.view(90, 5), v = s.v.view(90, 5), q = s.q.view(90, 5);
  const auto with = [](TensorView t, auto member, auto value) {
    t.*member = value;
    return t;
  };
  const std::size_t zero = 0, three = 3, six = 6;
  const TensorView bad_keys[] = {
      with(k, &TensorView::heads, three),         with(k, &TensorView::heads, zero),
      with(k, &TensorView::dim, std::size_t{31}), with(k, &TensorView::dim, std::size_t{48}),
      with(k, &TensorView::tokens, six),          with(k, &TensorView::data, nullptr)};
  for (const TensorView& bad : bad_keys) {
    const Status status = cache.try_append(bad, v);
    CHECK(status.code() == ErrorCode::invalid_argument);
    CHECK(!status.message().empty());
  }
  const TensorView bad_values[] = {with(v, &TensorView::heads, six),
                                   with(v, &TensorView::dim, std::size_t{32}),
                                   with(v, &TensorView::tokens, three),
                                   with(v, &TensorView::data, nullptr),
                                   {}};
  for (const TensorView& bad : bad_values)
    CHECK(cache.try_append(k, bad).code() == ErrorCode::invalid_argument);
  const TensorView bad_queries[] = {with(q, &TensorView::heads, three), with(q, &TensorView::heads, zero),
                                    with(q, &TensorView::dim, std::size_t{16}),
                                    with(q, &TensorView::data, nullptr)};
  for (const TensorView& bad : bad_queries)
    CHECK(cache.try_attend(bad, out.data(), {}, workspace).code() == ErrorCode::invalid_argument);
  const Status group = cache.try_attend(bad_queries[0], out.data(), {}, workspace);
  CHECK(group.message().find("3 heads") != std::string::npos);

  AttendParams params;
  const std::vector<float> sinks(3);
  params.sink_logits = sinks;
  CHECK(cache.try_attend(q, out.data(), params, workspace).code() == ErrorCode::invalid_argument);
  params.sink_logits = {};
  const std::vector<std::uint8_t> mask(89);
  params.mask = mask;
  CHECK(cache.try_attend(q, out.data(), params, workspace).code() == ErrorCode::invalid_argument);

  std::vector<float> x(90), key(32), value(48);
  CHECK(!cache.try_score(2, key, x, workspace).ok());
  CHECK(!cache.try_score(0, value, x, workspace).ok());
  CHECK(!cache.try_score(0, key, std::span(x).first(89), workspace).ok());
  CHECK(!cache.try_accumulate(2, x, value, workspace).ok());
  CHECK(!cache.try_accumulate(0, x, key, workspace).ok());
  CHECK(!cache.try_accumulate(0, std::span(x).first(89), value, workspace).ok());
  CHECK(!cache.try_decode_key(2, 0, key, workspace).ok());
  CHECK(!cache.try_decode_key(0, 90, key, workspace).ok());
  CHECK(!cache.try_decode_key(0, 0, value, workspace).ok());
  CHECK(!cache.try_decode_value(2, 0, value, workspace).ok());
  CHECK(!cache.try_decode_value(0, 90, value, workspace).ok());
  CHECK(!cache.try_decode_value(0, 0, key, workspace).ok());

  CHECK(cache.size() == 90);
  CHECK(block_bytes(cache, 0, 0) == bytes);
  CHECK(same_bits(attend(cache, s.q.view(89, 1)), before));
}

TEST_CASE("queries for the balanced conditioner are checked like keys", "[compressor]") {
  Format format = plain_format();
  format.key.conditioner = ConditionerKind::balanced;
  const Sequence s(10, 2, 2, 32, 48, 502);
  AnyCompressor cache(format, 2, 3);
  TensorView q = s.q.view();
  q.tokens = 9;
  CHECK(cache.try_append(s.k.view(), s.v.view(), q).code() == ErrorCode::invalid_argument);
  q.tokens = 10, q.heads = 3;
  CHECK(cache.try_append(s.k.view(), s.v.view(), q).code() == ErrorCode::invalid_argument);
  CHECK(cache.size() == 0);
}

TEST_CASE("what cannot be built is refused with the limit in the sentence", "[compressor]") {
  std::optional<AnyCompressor> out;
  CHECK(AnyCompressor::try_make(plain_format(), 0, 1, out).code() == ErrorCode::invalid_argument);
  CHECK(AnyCompressor::try_make(plain_format(), 65537, 1, out).message().find("65536") != std::string::npos);
  Format f = plain_format();
  f.key_dim = 31;
  CHECK(AnyCompressor::try_make(f, 1, 1, out).message().find("31") != std::string::npos);
  f = plain_format();
  f.value.kind = CodecKind::turbo_quant;
  f.value.projection = ProjectionKind::gaussian, f.value.codebook = CodebookKind::lloyd_max;
  CHECK(AnyCompressor::try_make(f, 1, 1, out).code() == ErrorCode::unsupported);
  f = plain_format();
  f.value.conditioner = ConditionerKind::balanced;
  CHECK(AnyCompressor::try_make(f, 1, 1, out).code() == ErrorCode::unsupported);
  f = plain_format();
  f.key.rotation = RotationKind::matrix;  // needs a matrix, which a Format does not hold
  CHECK(!AnyCompressor::try_make(f, 1, 1, out).ok());
  f = plain_format();
  f.key.codebook = CodebookKind::table;
  CHECK(!AnyCompressor::try_make(f, 1, 1, out).ok());
  CHECK(!out.has_value());
}

TEST_CASE("a typed cache of zero kv heads refuses every tensor", "[compressor]") {
  CompressorOptions options;
  options.kv_heads = 0;
  KVCompressor<Raw, Raw> cache(Raw(16), Raw(16), options);
  const Sequence s(3, 1, 1, 16, 16, 503);
  Workspace workspace;
  std::vector<float> out(48);
  CHECK(cache.try_append(s.k.view(), s.v.view()).code() == ErrorCode::invalid_argument);
  TensorView none = s.k.view();
  none.heads = 0;
  CHECK(cache.try_append(none, none).code() == ErrorCode::invalid_argument);
  CHECK(cache.try_attend(s.q.view(), out.data(), {}, workspace).code() == ErrorCode::invalid_argument);
}

TEST_CASE("queries are not stored: they may exceed the range of an f16 tail", "[compressor]") {
  const Sequence s(80, 1, 1, 32, 48, 504);
  AnyCompressor cache(plain_format(), 1, 3);
  fill(cache, s, 80);
  std::vector<float> q(s.q.row(0, 0), s.q.row(0, 0) + 32);
  AttendParams params;
  params.scale = 1;
  const auto expected = attend(cache, contiguous(q.data(), 1, 1, 32), params);
  for (float& x : q) x *= 0x1p17f;
  params.scale = 0x1p-17f;
  CHECK(same_bits(attend(cache, contiguous(q.data(), 1, 1, 32), params), expected));
}

TEST_CASE("one outlier or a norm beyond f16's range: everything decodes finite and near", "[compressor]") {
  // Scales are halfs times a power of two of the block, so 65504 is no border.
  Rng rng(5);
  for (const double outlier : {6.5e4, 6.6e4, 1.25e5, 1e30})
    for (const char* const name : {"k4v4", "turbo4", "paper4", "q8_0", "turboquant_4bit_nc"}) {
      CAPTURE(outlier, name);
      Tokens t{1, 64, {}};
      for (std::size_t i = 0; i < 64 * 64; ++i) t.data.push_back(static_cast<float>(5 * rng.uniform() - 1));
      for (std::size_t token = 0; token < 64; token += 3)
        t.data[token * 64 + token] = static_cast<float>(outlier);
      Format format = preset(name, 64, 64);
      format.tail = ElementType::f32, format.sinks = format.window = 0;
      AnyCompressor cache(format, 1, 3);
      cache.append(t.view(), t.view());
      cache.commit();
      const History now = decoded(cache, 0);
      for (std::size_t token = 0; token < 64; token += 3) {
        const Vector before(t.row(token, 0), t.row(token, 0) + 64);
        // A sketch of a residual is a vector for inner products only; the others are near.
        if (format.key.kind != CodecKind::turbo_quant)
          CHECK(norm(sum(now.keys[token], before, -1)) < 0.25 * norm(before));
        CHECK(norm(sum(now.values[token], before, -1)) < 0.25 * norm(before));
        CHECK(std::isfinite(norm(now.keys[token])));
      }
      // Query 62 has no outlier: |q| |k| must stay inside the float range.
      for (const float x : attend(cache, t.view(62, 1))) CHECK(std::isfinite(x));
    }
}

TEST_CASE("norms at both ends of the float range", "[compressor]") {
  // A float rotation sums before it divides: keys up to 2^128 / sqrt(dim). Values up to 2^128 / tokens: the
  // sums of attention are not divided before the end.
  for (const ElementType tail : {ElementType::f32, ElementType::bf16})
    for (const double size : {1e-38, 1e-30, 1e30, 1e37}) {
      CAPTURE(size);
      Rng rng(6);
      Tokens k{1, 64, {}}, v{1, 64, {}};
      for (int t = 0; t < 80; ++t) {
        const Vector a = scaled(unit(rng.normals(64)), size),
                     b = scaled(unit(rng.normals(64)), std::min(size, 1e35));
        k.data.insert(k.data.end(), a.begin(), a.end());
        v.data.insert(v.data.end(), b.begin(), b.end());
      }
      for (Tokens* t : {&k, &v})
        for (float& x : t->data)
          if (tail == ElementType::bf16) x = bf16_to_float(float_to_bf16(x));
      Format format = preset("k4v4", 64, 64);
      format.tail = tail, format.sinks = 0, format.window = 0;
      AnyCompressor cache(format, 1, 3);
      cache.append(k.view(), v.view());
      cache.commit();
      REQUIRE(cache.blocks() == 1);
      const History now = decoded(cache, 0);
      for (std::size_t t = 0; t < 80; ++t) {
        CHECK(norm(sum(now.keys[t], Vector(k.row(t, 0), k.row(t, 0) + 64), -1)) < 0.2 * norm(now.keys[t]));
        CHECK(norm(sum(now.values[t], Vector(v.row(t, 0), v.row(t, 0) + 64), -1)) <
              0.2 * norm(now.values[t]));
      }
      const std::vector<float> q = floats(unit(rng.normals(64)));
      AttendParams params;
      params.scale = static_cast<float>(2 / size), params.arithmetic = Arithmetic::exact;
      const Vector expected = attention(now, q.data(), 0, 79, params);
      const auto out = attend(cache, contiguous(q.data(), 1, 1, 64), params);
      // Subnormal intermediate results have few bits: 1e-38 / 45 / 8 is 2^14 of the smallest float.
      CHECK(norm(sum(doubles(out), expected, -1)) < 0x1p-10 * norm(expected));
    }
}
