// NaN and infinity are refused, decided on the bits: this file is built with -ffast-math, where the compiler
// may assume that there are none. So all numbers here are written as bits.
#include <tightkv/tightkv.hpp>

#include <vector>

#include "catch.hpp"

using namespace tightkv;

namespace {

struct Bits {
  std::vector<std::uint32_t> wide;
  std::vector<std::uint16_t> narrow;
  ElementType type;
  std::size_t heads, dim;

  Bits(ElementType t, std::size_t tokens, std::size_t head_count, std::size_t d)
      : type(t), heads(head_count), dim(d) {
    const std::size_t n = tokens * heads * dim;
    if (type == ElementType::f32)
      wide.assign(n, 0x3f800000u);
    else
      narrow.assign(n, type == ElementType::f16 ? 0x3c00 : 0x3f80);  // ones
  }
  void set(std::size_t i, std::uint32_t bits) {
    if (type == ElementType::f32)
      wide[i] = bits;
    else
      narrow[i] = static_cast<std::uint16_t>(bits);
  }
  TensorView view() const {
    const bool f32 = type == ElementType::f32;
    const std::size_t n = (f32 ? wide.size() : narrow.size()) / heads / dim;
    return {f32 ? static_cast<const void*>(wide.data()) : narrow.data(),
            type,
            n,
            heads,
            dim,
            static_cast<std::ptrdiff_t>(heads * dim),
            static_cast<std::ptrdiff_t>(dim)};
  }
};

std::vector<std::uint32_t> non_finite(ElementType type) {
  if (type == ElementType::f32) return {0x7f800000u, 0xff800000u, 0x7fc00000u, 0x7f800001u, 0xffffffffu};
  if (type == ElementType::f16) return {0x7c00, 0xfc00, 0x7e00, 0x7c01, 0xffff};
  return {0x7f80, 0xff80, 0x7fc0, 0x7f81, 0xffff};
}

}  // namespace

TEST_CASE("NaN and infinity are refused anywhere in k, v and q, and leave no trace", "[compressor]") {
  for (const ElementType type : {ElementType::f32, ElementType::f16, ElementType::bf16}) {
    Format format;
    REQUIRE(try_preset("k4v4", 16, 32, format).ok());
    format.key.conditioner = ConditionerKind::balanced;
    std::optional<AnyCompressor> cache;
    REQUIRE(AnyCompressor::try_make(format, 2, 1, cache).ok());
    Bits k(type, 3, 2, 16), v(type, 3, 2, 32), q(type, 3, 4, 16);
    REQUIRE(cache->try_append(k.view(), v.view(), q.view()).ok());
    Workspace workspace;
    std::vector<float> out(3 * 4 * 32);
    const auto refused = [&](Bits& tensor, std::size_t at, std::uint32_t bits) {
      const Bits before = tensor;
      tensor.set(at, bits);
      const Status appended = cache->try_append(k.view(), v.view(), q.view());
      const bool named = appended.message().find("not finite at token 3") != std::string::npos ||
                         appended.message().find("not finite at token") != std::string::npos;
      bool ok = appended.code() == ErrorCode::non_finite && named && cache->size() == 3;
      if (&tensor == &q)
        ok = ok && cache->try_attend(q.view(), out.data(), {}, workspace).code() == ErrorCode::non_finite;
      tensor = before;
      return ok;
    };
    for (const std::uint32_t bits : non_finite(type)) {
      for (const std::size_t at : {std::size_t{0}, std::size_t{16}, std::size_t{95}})
        CHECK(refused(k, at, bits));
      for (const std::size_t at : {std::size_t{0}, std::size_t{33}, std::size_t{191}})
        CHECK(refused(v, at, bits));
      for (const std::size_t at : {std::size_t{0}, std::size_t{17}, std::size_t{191}})
        CHECK(refused(q, at, bits));
    }
    CHECK(cache->try_append(k.view(), v.view(), q.view()).ok());
    CHECK(cache->size() == 6);
  }
}

TEST_CASE("finite numbers that become infinite on their way are refused", "[compressor]") {
  const struct {
    ElementType tail;
    std::uint32_t last_good, first_bad;                        // f32 bits
  } cases[] = {{ElementType::f16, 0x477fefffu, 0x477ff000u},   // 65519.996 and 65520
               {ElementType::bf16, 0x7f7f7fffu, 0x7f7f8000u},  // half way from the largest bf16 to 2^128
               {ElementType::f32, 0x7f7fffffu, 0x7f800000u}};
  for (const auto& c : cases)
    for (const std::uint32_t sign : {0u, 0x80000000u}) {
      Format format;
      REQUIRE(try_preset("k4v4", 16, 16, format).ok());
      format.tail = c.tail;
      std::optional<AnyCompressor> cache;
      REQUIRE(AnyCompressor::try_make(format, 1, 1, cache).ok());
      Bits k(ElementType::f32, 1, 1, 16), v(ElementType::f32, 1, 1, 16);
      for (Bits* tensor : {&k, &v}) {
        tensor->set(7, c.first_bad | sign);
        CHECK(!cache->try_append(k.view(), v.view()).ok());
        tensor->set(7, c.last_good | sign);
        CHECK(cache->try_append(k.view(), v.view()).ok());
        tensor->set(7, 0);
      }
    }
}

TEST_CASE("a raw f16 codec behind a wider tail does not turn large numbers into infinity", "[compressor]") {
  for (const ElementType tail : {ElementType::f32, ElementType::bf16}) {
    Format format;
    REQUIRE(try_preset("turbo0v4", 16, 16, format).ok());
    format.tail = tail, format.sinks = format.window = 0;
    std::optional<AnyCompressor> cache;
    REQUIRE(AnyCompressor::try_make(format, 1, 1, cache).ok());
    Bits k(ElementType::f32, 64, 1, 16), v(ElementType::f32, 64, 1, 16);
    v.set(3, 0x47c35000u);  // 1e5 in the values, which are coded: fine
    k.set(5, 0x477fef00u);  // 65519, which bf16 makes 65536
    CHECK(cache->try_append(k.view(), v.view()).ok() == (tail == ElementType::f32));
    k.set(5, 0x47c35000u);
    const Status status = cache->try_append(k.view(), v.view());
    CHECK(status.code() == ErrorCode::invalid_argument);
    CHECK(status.message().find("f16 codec") != std::string::npos);
    cache->clear();
    k.set(5, 0x477f0000u);  // 65280
    REQUIRE(cache->try_append(k.view(), v.view()).ok());
    REQUIRE(cache->try_commit().ok());
    REQUIRE(cache->blocks() == 1);
    Workspace workspace;
    std::vector<float> row(16);
    REQUIRE(cache->try_decode_key(0, 0, row, workspace).ok());
    CHECK(row[5] == 65280.0f);
    REQUIRE(cache->try_decode_value(0, 0, row, workspace).ok());
    CHECK(row[3] > 8e4f);
    CHECK(row[3] < 1.2e5f);
  }
}
