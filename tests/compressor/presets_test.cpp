// Preset names: each builds, comes back by name, and what is unknown is refused with a list of what is known.
#include <tightkv/tightkv.hpp>

#include <set>
#include <string>

#include "catch.hpp"

using namespace tightkv;

TEST_CASE("every preset builds, validates and comes back by its name", "[compressor]") {
  std::set<std::string_view> names;
  for (const auto& p : tightkv::detail::presets) {
    CAPTURE(p.name);
    CHECK(names.insert(p.name).second);
    for (const std::size_t dim : {std::size_t{64}, std::size_t{128}}) {
      const Format f = preset(p.name, dim, dim);
      CHECK(validate(f).ok());
      CHECK(f.key_dim == dim);
      CHECK(f.value_dim == dim);
      const std::string_view back = preset_name(f);
      CHECK(preset(back, dim, dim) == f);
      if (p.name != "auto") CHECK(back == p.name);  // auto is f16
      AnyCompressor cache(f, 2, 1);
      CHECK(preset_name(cache.format()) == back);
      CHECK(cache.report().find(describe(f.key)) != std::string::npos);
      Format again;
      REQUIRE(from_bytes(to_bytes(cache.format()), again).ok());
      CHECK(again == cache.format());
    }
  }
  Format other = preset("k4v4", 64, 64);
  other.window = 65;
  CHECK(preset_name(other).empty());
}

TEST_CASE("the presets of the design, field by field where it says so", "[compressor]") {
  const Format own = preset("k4v4", 128, 64);
  CHECK(own.key.kind == CodecKind::polar_quant);
  CHECK(own.key.bits == 4);
  CHECK(own.key.scale == ScaleKind::unbiased);
  CHECK(own.key.conditioner == ConditionerKind::block_mean);
  CHECK(own.value.conditioner == ConditionerKind::none);
  CHECK(own.sinks == 4);
  CHECK(own.window == 64);
  CHECK(own.value_dim == 64);
  const Format paper = preset("paper3", 128, 128);
  CHECK(paper.key.kind == CodecKind::turbo_quant);
  CHECK(paper.key.bits == 3);
  CHECK(paper.key.rotation == RotationKind::haar);
  CHECK(paper.key.projection == ProjectionKind::gaussian);
  CHECK(paper.value.kind == CodecKind::polar_quant);
  CHECK(paper.value.bits == 3);
  const Format turbo = preset("turbo4v2", 128, 128);
  CHECK(turbo.key.bits == 4);
  CHECK(turbo.value.bits == 2);
  CHECK(turbo.key.scale == ScaleKind::norm_corrected);
  CHECK(turbo.key.codebook == CodebookKind::lloyd_max);
  CHECK(preset("turbo0v4", 128, 128).key.kind == CodecKind::raw);
  CHECK(preset("bf16", 128, 128).tail == ElementType::bf16);
  CHECK(preset("f32", 128, 128).tail == ElementType::f32);
  CHECK(preset("k4v4", 128, 128).tail == ElementType::f16);
}

TEST_CASE("pairs in both string forms", "[compressor]") {
  const auto& sides = tightkv::detail::sides;
  for (const auto& k : sides)
    for (const auto& v : sides) {
      const std::string key(k.name), value(v.name);
      const Format slash = preset(key + "/" + value, 128, 128),
                   flags = preset("ctk=" + key + ",ctv=" + value, 128, 128);
      CHECK(slash == flags);
      CHECK(slash.key == k.codec);
      CHECK(slash.value == v.codec);
      CHECK(AnyCompressor(slash, 1, 1).size() == 0);
    }
  CHECK(preset("q8_0/turbo4", 128, 128).key == preset("q8_0", 128, 128).key);
  CHECK(preset("q8_0/turbo4", 128, 128).value == preset("turbo4", 128, 128).value);
  CHECK(preset("ctk=turbo4,ctv=turbo3", 64, 64).value == preset("turbo3", 64, 64).value);
  CHECK(preset("turbo4/turbo4", 64, 64) == preset("turbo4", 64, 64));
  CHECK(preset("turbo8/turbo4", 64, 64) == preset("turbo8v4", 64, 64));
}

TEST_CASE("vLLM's names: keys and values of the width that they say", "[compressor]") {
  const struct {
    const char* name;
    unsigned key, value;
  } table[] = {{"turboquant_k8v4", 8, 4},    {"turboquant_k8v3", 8, 3},    {"turboquant_4bit_nc", 4, 4},
               {"turboquant_k4v3_nc", 4, 3}, {"turboquant_k3v4_nc", 3, 4}, {"turboquant_3bit_nc", 3, 3}};
  for (const auto& row : table) {
    CAPTURE(row.name);
    const Format f = preset(row.name, 128, 128);
    CHECK(f.key.bits == row.key);
    CHECK(f.value.bits == row.value);
    CHECK(f.value.kind == CodecKind::group_quant);
    CHECK(f.value.group == 0);
    if (row.key < 8) CHECK(f.key.scale == ScaleKind::norm_corrected);  // _nc
  }
}

TEST_CASE("an unknown preset or pair is refused, and the sentence lists the known ones", "[compressor]") {
  const std::string very_long(100000, 'x');
  for (const std::string& name :
       {std::string(), std::string("k4v5"), std::string("K4V4"), std::string("k4v4 "), std::string("turbo5"),
        std::string("q8_0/"), std::string("/turbo4"), std::string("q8_0/turbo9"),
        std::string("q8_0/turbo4/turbo4"), std::string("ctk=turbo4"), std::string("ctv=turbo4,ctk=turbo4"),
        std::string("ctk=turbo4,ctv="), std::string("ctk=turbo4, ctv=turbo4"), std::string("turboquant_k8v2"),
        std::string("k4v4/turbo4"), very_long, std::string("k4v4\0", 5)}) {
    CAPTURE(name.substr(0, 40));
    Format f = preset("k4v4", 64, 64);
    const Format before = f;
    const Status status = try_preset(name, 128, 128, f);
    CHECK(status.code() == ErrorCode::unsupported);
    CHECK(f == before);
    CHECK(status.message().find(known_presets()) != std::string::npos);
    CHECK(status.message().size() < 2000);
  }
  for (const auto& p : tightkv::detail::presets) CHECK(known_presets().find(p.name) != std::string::npos);
  for (const auto& s : tightkv::detail::sides) CHECK(known_presets().find(s.name) != std::string::npos);
}

TEST_CASE("a preset for an impossible head dim is refused", "[compressor]") {
  Format f;
  for (const std::size_t dim : {std::size_t{0}, std::size_t{1}, std::size_t{63}, std::size_t{1026},
                                std::size_t{65536 + 128}, ~std::size_t{0}}) {
    CHECK(try_preset("k4v4", dim, 128, f).code() == ErrorCode::invalid_argument);
    CHECK(try_preset("k4v4", 128, dim, f).code() == ErrorCode::invalid_argument);
  }
  CHECK(f == Format{});
  CHECK_THROWS_AS(preset("nothing", 64, 64), Error);
}
