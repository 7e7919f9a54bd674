#include <tightkv/core/format.hpp>

#include <functional>
#include <string>
#include <vector>

#include "catch.hpp"

using namespace tightkv;

namespace {

Format good_format() {
  Format f;
  f.key.kind = CodecKind::polar_quant, f.key.bits = 4, f.key.rotation = RotationKind::hadamard;
  f.key.codebook = CodebookKind::trellis, f.key.search_points = 9;
  f.key.conditioner = ConditionerKind::balanced;
  f.value.kind = CodecKind::group_quant, f.value.bits = 3, f.value.group = 64;
  f.key_dim = 192, f.value_dim = 128;
  f.sinks = 4, f.window = 64, f.tail = ElementType::bf16;
  return f;
}

std::array<std::byte, format_bytes> with_hash(std::array<std::byte, format_bytes> data) {
  bytes::store(data.data() + 56, bytes::Hash{}.add_bytes({data.data(), 56}).value());
  return data;
}

}  // namespace

TEST_CASE("a format survives its written form, for every codec", "[core]") {
  std::vector<Format> formats(6, good_format());
  formats[1].key = {};
  formats[1].key.element = ElementType::f32;
  formats[2].key.kind = CodecKind::turbo_quant, formats[2].key.codebook = CodebookKind::lloyd_max;
  formats[2].key.projection = ProjectionKind::srht, formats[2].key.rows = 128;
  formats[2].key.scale = ScaleKind::unit;
  formats[3].key.kind = CodecKind::qjl, formats[3].key.projection = ProjectionKind::gaussian;
  formats[4].key.kind = CodecKind::q8, formats[4].key.bits = 8, formats[4].key.group = 32;
  formats[5].key.raw_dims = 64, formats[5].shared = true, formats[5].window = 1u << 20;
  for (const Format& f : formats) {
    CHECK(validate(f).message() == "");
    Format read;
    CHECK(from_bytes(to_bytes(f), read).message() == "");
    CHECK(read == f);
  }
}

TEST_CASE("every single-byte corruption of a format is refused and leaves the object alone", "[core]") {
  const auto data = to_bytes(good_format());
  Format untouched;
  untouched.sinks = 77;
  for (std::size_t i = 0; i < data.size(); ++i)
    for (unsigned flip = 1; flip < 256; ++flip) {
      auto broken = data;
      broken[i] ^= static_cast<std::byte>(flip);
      Format read = untouched;
      const Status status = from_bytes(broken, read);
      if (status.ok() || !(read == untouched) || status.message().empty())
        FAIL("byte " << i << " ^ " << flip << " was accepted");
    }
  for (std::size_t size = 0; size < data.size(); ++size) {
    Format read = untouched;
    if (from_bytes(std::span(data).first(size), read).ok()) FAIL("accepted " << size << " bytes");
  }
}

TEST_CASE("with a right checksum every byte is still checked: refused, or it reads back as written",
          "[core]") {
  const auto data = to_bytes(good_format());
  for (std::size_t i = 0; i < 56; ++i)
    for (unsigned value = 0; value < 256; ++value) {
      auto changed = data;
      changed[i] = static_cast<std::byte>(value);
      changed = with_hash(changed);
      Format read;
      const Status status = from_bytes(changed, read);
      if (status.ok() && to_bytes(read) != changed) FAIL("byte " << i << " = " << value);
      if (status.ok() && changed != data && read == good_format()) FAIL("byte " << i << " is not read");
      if (!status.ok() && status.code() == ErrorCode::ok) FAIL("no code");
    }
}

TEST_CASE("the other byte order and other versions are refused by name", "[core]") {
  auto data = to_bytes(good_format());
  std::swap(data[0], data[3]), std::swap(data[1], data[2]);
  Format f;
  CHECK(from_bytes(with_hash(data), f).message() == "format does not begin with TGKV");
  data = to_bytes(good_format());
  bytes::store(data.data() + 4, std::uint16_t{7});
  CHECK(from_bytes(with_hash(data), f).message() == "format version is 7; this build reads 0");
}

TEST_CASE("a field outside its limits is refused with field, value and limit", "[core]") {
  struct Case {
    std::function<void(Format&)> change;
    std::string message;
  };
  const Case cases[] = {
      {[](Format& f) { f.key_dim = 0; }, "key_dim is 0; it must be even and 2 to 1024"},
      {[](Format& f) { f.key_dim = 63; }, "key_dim is 63; it must be even and 2 to 1024"},
      {[](Format& f) { f.value_dim = 1026; }, "value_dim is 1026; it must be even and 2 to 1024"},
      {[](Format& f) { f.key.bits = 6; }, "key bits is 6; it must be 2 to 5 with the trellis"},
      {[](Format& f) { f.key.bits = 9, f.key.codebook = CodebookKind::grid; },
       "key bits is 9; it must be 1 to 8"},
      {[](Format& f) { f.key.codebook = CodebookKind::none; },
       "key codebook is 0; it must be one of lloyd_max, uniform, grid, trellis, table"},
      {[](Format& f) { f.key.search_points = 4; }, "key search_points is 4; it must be 1, 3, 5 or 9"},
      {[](Format& f) { f.key.scale = ScaleKind{4}; }, "key scale is 4; it must be a known scale policy"},
      {[](Format& f) { f.key.kind = CodecKind{6}; }, "key codec is 6; it must be a known codec"},
      {[](Format& f) { f.key.raw_dims = 192; },
       "key raw_dims is 192; it must be even and below the head dim"},
      {[](Format& f) { f.key.kind = CodecKind::turbo_quant; },
       "key projection is 0; it must be gaussian, orthogonal or srht"},
      {[](Format& f) { f.value.bits = 5; }, "value bits is 5; it must be 2, 3, 4 or 8 for groups"},
      {[](Format& f) { f.value.group = 40; },
       "value group is 40; it must be a multiple of 32, or 0 for the whole vector"},
      {[](Format& f) { f.tail = ElementType{3}; }, "tail is 3; it must be f32, f16 or bf16"},
      {[](Format& f) { f.window = (1u << 20) + 1; }, "window is 1048577; the limit is 1048576"},
      {[](Format& f) { f.sinks = 65537; }, "sinks is 65537; the limit is 65536"},
  };
  for (const Case& c : cases) {
    Format f = good_format();
    c.change(f);
    CHECK(validate(f).message() == c.message);
  }
}

TEST_CASE("values take no sketch and no balanced conditioner", "[core]") {
  Format f = good_format();
  f.value.kind = CodecKind::qjl, f.value.projection = ProjectionKind::gaussian, f.value.group = 0;
  CHECK(validate(f).code() == ErrorCode::unsupported);
  f = good_format();
  f.value.conditioner = ConditionerKind::balanced;
  CHECK(validate(f).code() == ErrorCode::unsupported);
}
