// Conditioners inside a cache: real keys that are a constant plus a little, channel scales, exact cases.
#include "compressor/reference.hpp"

#include <string>

#include "catch.hpp"
#include "support/npy.hpp"

using namespace tightkv;
using namespace tightkv_test;

namespace {

Npy data_file(const std::string& layer, char kind) {
  return read_npy(
      tightkv::detail::join(TIGHTKV_TEST_DATA_DIR, "/", layer, "_", std::string(1, kind), ".npy"));
}

Tokens from_file(const std::string& layer, char kind) {
  const Npy file = data_file(layer, kind);
  return {1, file.dim(), file.values};
}

/// The queries of two heads, (2, 32, d) in the file, as 32 tokens of 2 heads.
Tokens queries_from_file(const std::string& layer) {
  const Npy file = data_file(layer, 'q');
  Tokens q{2, file.dim(), {}};
  for (std::size_t t = 0; t < 32; ++t)
    for (std::size_t h = 0; h < 2; ++h)
      q.data.insert(q.data.end(), file.row(h * 32 + t), file.row(h * 32 + t + 1));
  return q;
}

/// Relative L2 error of the attention output of the last 32 queries with all 384 tokens packed (6 blocks),
/// 4-bit keys, raw values: what the conditioner does for keys, and nothing else.
struct RealResult {
  double error;
  std::string report;
};
RealResult real_layer(const std::string& layer, ConditionerKind conditioner, bool with_queries = false) {
  const Tokens k = from_file(layer, 'k'), v = from_file(layer, 'v'), q = queries_from_file(layer);
  CompressorOptions options;
  options.sinks = 0, options.window = 0, options.key_conditioner = conditioner;
  using Key = PolarQuant<Hadamard, LloydMax<4>>;
  KVCompressor<Key, Raw> cache(Key(128, 1), Raw(128), options);
  TensorView first_queries = q.view();
  for (std::size_t t = 0; t < 384;
       t += 32) {  // the file has queries of 32 positions: good enough for a power
    cache.append(k.view(t, 32), v.view(t, 32), with_queries ? first_queries : TensorView{});
    cache.commit();
  }
  REQUIRE(cache.blocks() == 6);
  const auto out = attend(cache, q.view());
  History exact;
  for (std::size_t t = 0; t < 384; ++t) {
    exact.keys.emplace_back(k.row(t, 0), k.row(t, 0) + 128);
    exact.values.emplace_back(v.row(t, 0), v.row(t, 0) + 128);
  }
  double error = 0, size = 0;
  for (std::size_t i = 0; i < 32; ++i)
    for (std::size_t h = 0; h < 2; ++h) {
      const Vector expected = attention(exact, q.row(i, h), h, 352 + i);
      for (std::size_t d = 0; d < 128; ++d) {
        error += std::pow(static_cast<double>(out[(i * 2 + h) * 128 + d]) - expected[d], 2);
        size += expected[d] * expected[d];
      }
    }
  return {std::sqrt(error / size), cache.report()};
}

bool warns(const std::string& report) { return report.find("warning: kv head 0") != std::string::npos; }

}  // namespace

TEST_CASE("real layer 0: 4-bit keys are useless without a mean and good with one", "[compressor]") {
  const RealResult none = real_layer("layer00", ConditionerKind::none);
  const RealResult frozen = real_layer("layer00", ConditionerKind::frozen_mean);
  const RealResult block = real_layer("layer00", ConditionerKind::block_mean);
  const RealResult balanced = real_layer("layer00", ConditionerKind::balanced);
  const RealResult with_q = real_layer("layer00", ConditionerKind::balanced, true);
  INFO("none " << none.error << ", frozen mean " << frozen.error << ", block mean " << block.error
               << ", balanced " << balanced.error << ", with queries " << with_q.error);
  CHECK(none.error > 0.5);
  CHECK(frozen.error < 0.07);
  CHECK(block.error < 0.07);
  CHECK(balanced.error < 0.07);
  CHECK(with_q.error < 0.07);
  CHECK(warns(none.report));
  CHECK(none.report.find("use frozen_mean or block_mean") != std::string::npos);
  for (const RealResult* r : {&frozen, &block, &balanced, &with_q}) CHECK(!warns(r->report));
}

TEST_CASE("real layer 14: no warning, and 4-bit keys are good either way", "[compressor]") {
  const RealResult none = real_layer("layer14", ConditionerKind::none);
  const RealResult frozen = real_layer("layer14", ConditionerKind::frozen_mean);
  INFO("none " << none.error << ", frozen mean " << frozen.error);
  CHECK(none.error < 0.2);
  CHECK(frozen.error < 0.2);
  CHECK(!warns(none.report));
}

TEST_CASE("attention with each conditioner equals float64 on the decoded tokens", "[compressor]") {
  const Sequence s(140, 2, 2, 64, 64, 401);
  for (const ConditionerKind key : {ConditionerKind::none, ConditionerKind::frozen_mean,
                                    ConditionerKind::balanced, ConditionerKind::block_mean})
    for (const ConditionerKind value :
         {ConditionerKind::none, ConditionerKind::frozen_mean, ConditionerKind::block_mean}) {
      CAPTURE(name(key), name(value));
      Format format = preset("k4v4", 64, 64);
      format.key.conditioner = key, format.value.conditioner = value, format.window = 0;
      AnyCompressor cache(format, 2, 3);
      fill(cache, s, 140);
      REQUIRE(cache.blocks() == 2);
      const auto now = decoded_heads(cache);
      CHECK(worst_attention(cache, s.q, 3, now) <= 1);
      // And the decoded tokens are near the appended ones: a mean or scale lost on one path only would show.
      for (std::size_t h = 0; h < 2; ++h) {
        const History before = original(s, h, 140);
        for (std::size_t t = 0; t < 140; t += 3) {
          CHECK(norm(sum(now[h].keys[t], before.keys[t], -1)) < 0.2 * norm(before.keys[t]));
          CHECK(norm(sum(now[h].values[t], before.values[t], -1)) < 0.2 * norm(before.values[t]));
        }
      }
    }
}

TEST_CASE("balanced: the queries of the first block decide the scale, without them the keys alone",
          "[compressor]") {
  Sequence s(64, 1, 2, 32, 32, 402);
  for (std::size_t t = 0; t < 64; ++t) {
    s.k.data[t * 32 + 5] *= 8;
    for (std::size_t h = 0; h < 2; ++h) s.q.data[(t * 2 + h) * 32 + 9] *= 8;
  }
  Format format = preset("k4v4", 32, 32);
  format.key.conditioner = ConditionerKind::balanced, format.sinks = format.window = 0;
  AnyCompressor with(format, 1, 3), without(format, 1, 3), other(format, 1, 3);
  fill(with, s, 64);
  without.append(s.k.view(), s.v.view());
  without.commit();
  const auto& a = with.key_condition(0);
  const auto& b = without.key_condition(0);
  REQUIRE(a.channel_scale.size() == 32);
  const RowsView keys{reinterpret_cast<const std::byte*>(s.k.data.data()), 64, 32, 128, ElementType::f32};
  const RowsView queries{reinterpret_cast<const std::byte*>(s.q.data.data()), 128, 32, 128, ElementType::f32};
  const HalfVector mean = mean_of_rows(keys);
  CHECK(a.channel_scale == balanced_scale(keys, mean, queries));
  CHECK(b.channel_scale == balanced_scale(keys, mean, {}));
  CHECK(a.mean.values == mean.values);
  CHECK(a.channel_scale != b.channel_scale);
  // Later queries do not count.
  other.append(s.k.view(), s.v.view(), s.q.view());
  Sequence later(10, 1, 2, 32, 32, 403);
  REQUIRE(append(other, later, 0, 10).ok());
  other.commit();
  CHECK(other.key_condition(0).channel_scale == a.channel_scale);
}

TEST_CASE("a condition that was set is used instead of a learned one, and survives clear", "[compressor]") {
  const Sequence s(90, 2, 1, 32, 32, 404);
  Format format = preset("k4v4", 32, 32);
  format.key.conditioner = ConditionerKind::balanced, format.value.conditioner = ConditionerKind::frozen_mean;
  format.sinks = 0, format.window = 0;
  AnyCompressor learned(format, 2, 3), set(format, 2, 3);
  fill(learned, s, 90);
  Condition key = learned.key_condition(1), value;
  value.mean.values.assign(32, to_half(0.5f));
  for (std::size_t h = 0; h < 2; ++h) REQUIRE(set.try_set_condition(h, key, value).ok());
  for (int round = 0; round < 2; ++round) {
    fill(set, s, 90);
    CHECK(set.key_condition(0).channel_scale == key.channel_scale);
    CHECK(set.key_condition(0).mean.values == key.mean.values);
    CHECK(worst_attention(set, s.q, 1, decoded_heads(set)) <= 1);
    CHECK(set.try_set_condition(0, key, value).code() == ErrorCode::invalid_argument);  // there are blocks
    set.clear();
  }
}

TEST_CASE("conditions of a wrong shape or with impossible numbers are refused", "[compressor]") {
  Format format = preset("k4v4", 32, 32);
  AnyCompressor cache(format, 2, 3);
  const Half one = to_half(1.0f);
  const auto refused = [&](const Condition& key, const Condition& value, std::size_t head = 0) {
    return !cache.try_set_condition(head, key, value).ok();
  };
  const HalfVector good{Buffer<Half>(32, one), 0};
  CHECK(refused({}, {}, 2));
  CHECK(refused({{Buffer<Half>(31, one), 0}, {}}, {}));
  CHECK(refused({good, Buffer<Half>(33, one)}, {}));
  CHECK(refused({}, {{Buffer<Half>(64, one), 0}, {}}));
  CHECK(refused({}, {good, Buffer<Half>(32, one)}));  // values have no channel scale
  for (const float g : {0.0f, 0.124f, 8.01f, -1.0f}) CHECK(refused({good, Buffer<Half>(32, to_half(g))}, {}));
  for (const unsigned bits : {0x7c00u, 0xfc00u, 0x7e00u})
    CHECK(refused({{Buffer<Half>(32, Half{static_cast<std::uint16_t>(bits)}), 0}, {}}, {}));
  CHECK(refused({{Buffer<Half>(32, one), 130}, {}}, {}));  // 2^130 is no float
  CHECK(refused({}, {{Buffer<Half>(32, one), 1 << 30}, {}}));
  CHECK(cache.try_set_condition(0, {good, Buffer<Half>(32, to_half(8.0f))}, {good, {}}).ok());
}

TEST_CASE("constant keys and values decode exactly where a mean takes them off", "[compressor]") {
  Tokens constant{1, 32, {}};
  for (int t = 0; t < 64; ++t)
    for (int i = 0; i < 32; ++i) constant.data.push_back(static_cast<float>(i - 16) * 4.25f);
  for (const ConditionerKind kind : {ConditionerKind::frozen_mean, ConditionerKind::block_mean}) {
    Format format = preset("k4v4", 32, 32);
    format.key.conditioner = format.value.conditioner = kind, format.sinks = format.window = 0;
    AnyCompressor cache(format, 1, 3);
    cache.append(constant.view(), constant.view());
    cache.commit();
    REQUIRE(cache.blocks() == 1);
    Workspace workspace;
    std::vector<float> row(32);
    REQUIRE(cache.try_decode_key(0, 40, row, workspace).ok());
    CHECK(same_bits(row, {constant.row(40, 0), constant.row(40, 0) + 32}));
    REQUIRE(cache.try_decode_value(0, 40, row, workspace).ok());
    CHECK(same_bits(row, {constant.row(40, 0), constant.row(40, 0) + 32}));
  }
}

TEST_CASE("zero vectors are tokens: they decode to zeros and score exactly 0", "[compressor]") {
  for (const auto& p : tightkv::detail::presets) {
    CAPTURE(p.name);
    Format format = preset(p.name, 64, 64);
    format.key.conditioner = ConditionerKind::none, format.sinks = 0, format.window = 0;
    Sequence s(70, 1, 1, 64, 64, 405);
    for (Tokens* t : {&s.k, &s.v})
      for (std::size_t i = 0; i < 10 * 64; ++i) t->data[5 * 64 + i] = i % 2 ? 0.0f : -0.0f;
    AnyCompressor cache(format, 1, 3);
    fill(cache, s, 70);
    CHECK(cache.size() == 70);
    Workspace workspace;
    std::vector<float> logits(70), row(64);
    for (const Arithmetic arithmetic : {Arithmetic::integer, Arithmetic::exact}) {
      REQUIRE(cache.try_score(0, {s.q.row(0, 0), 64}, logits, workspace, arithmetic).ok());
      for (std::size_t t = 5; t < 15; ++t) CHECK(logits[t] == 0.0f);
    }
    REQUIRE(cache.try_decode_key(0, 7, row, workspace).ok());
    CHECK(row == std::vector<float>(64, 0.0f));
    REQUIRE(cache.try_decode_value(0, 7, row, workspace).ok());
    CHECK(row == std::vector<float>(64, 0.0f));
    // Zero queries: all logits 0, the output is the mean of the values.
    const std::vector<float> zero(64, 0.0f);
    REQUIRE(cache.try_score(0, zero, logits, workspace).ok());
    CHECK(logits == std::vector<float>(70, 0.0f));
    CHECK(std::isfinite(norm(attend(cache, contiguous(zero.data(), 1, 1, 64)))));
  }
}
