// Appends cut in any way, from any element type, stride and alignment, give the same bytes and bits.
#include "compressor/reference.hpp"

#include <string>

#include "catch.hpp"

using namespace tightkv;
using namespace tightkv_test;

namespace {

Format small_format(const char* name, std::uint32_t sinks, std::uint32_t window) {
  Format f = preset(name, 32, 48);
  f.sinks = sinks, f.window = window;
  return f;
}

/// A copy of a tensor in another element type, with gaps between tokens and heads, at an odd address.
class Odd {
 public:
  Odd(const TensorView& from, ElementType type) : view_(from) {
    const std::size_t size = element_size(type);
    view_.type = type;
    view_.head_stride = static_cast<std::ptrdiff_t>(from.dim + 3);
    view_.token_stride = static_cast<std::ptrdiff_t>(from.heads * (from.dim + 3) + 5);
    data_.resize(1 + from.tokens * static_cast<std::size_t>(view_.token_stride) * size + size,
                 std::byte{0xff});
    view_.data = data_.data() + 1;
    for (std::size_t t = 0; t < from.tokens; ++t)
      for (std::size_t h = 0; h < from.heads; ++h)
        for (std::size_t i = 0; i < from.dim; ++i) {
          const float x = tightkv::detail::load_element(from.row(t, h), from.type, i);
          std::byte* const to = const_cast<std::byte*>(view_.row(t, h)) + i * size;
          if (type == ElementType::f32)
            bytes::store(to, x);
          else
            bytes::store(to, type == ElementType::f16 ? to_half(x).bits : float_to_bf16(x));
        }
  }
  TensorView view() const { return view_; }

 private:
  TensorView view_;
  std::vector<std::byte> data_;
};

}  // namespace

TEST_CASE("any cut of appends and commits gives the same blocks and the same output bits", "[compressor]") {
  Rng rng(41);
  for (const char* const name : {"k4v4", "k3v2", "paper3", "turbo0v4", "q8_0", "turboquant_4bit_nc"})
    for (const std::uint32_t window : {0u, 5u, 64u}) {
      CAPTURE(name, window);
      const Format format = small_format(name, 3, window);
      const Sequence s(260, 2, 2, 32, 48, window + 1);
      AnyCompressor token_by_token(format, 2, 9);
      std::vector<float> expected;
      for (std::size_t t = 0; t < s.size(); ++t) {
        REQUIRE(append(token_by_token, s, t, 1).ok());
        const auto out = attend(token_by_token, s.q.view(t, 1));
        expected.insert(expected.end(), out.begin(), out.end());
        token_by_token.commit();
      }
      for (int run = 0; run < 3; ++run) {
        AnyCompressor cache(format, 2, 9);
        std::vector<float> actual;
        for (std::size_t t = 0; t < s.size();) {
          const std::size_t most = run == 0 ? s.size() : run == 1 ? 5 : 150;
          const std::size_t count = std::min(s.size() - t, 1 + rng.below(most));
          REQUIRE(append(cache, s, t, count).ok());
          const auto out = attend(cache, s.q.view(t, count));
          actual.insert(actual.end(), out.begin(), out.end());
          t += count;
          // Some commits come late and in pieces: the view of a query does not depend on it.
          if (rng.below(3)) cache.commit(rng.below(cache.size() - cache.committed() + 1));
        }
        cache.commit();
        CHECK(cache.size() == s.size());
        CHECK(cache.committed() == s.size());
        CHECK(cache.blocks() == flushed_blocks(s.size(), 3, window));
        CHECK(same_blocks(cache, token_by_token, token_by_token.blocks()));
        CHECK(same_bits(actual, expected));
        CHECK(same_bits(attend(cache, s.q.view(250, 10)), attend(token_by_token, s.q.view(250, 10))));
      }
    }
}

TEST_CASE("element type, strides and alignment of the input do not show", "[compressor]") {
  for (const ElementType tail : {ElementType::f32, ElementType::f16, ElementType::bf16}) {
    Format format = small_format("k4v4", 2, 3);
    format.tail = tail;
    Sequence s(150, 2, 2, 32, 48, 43);
    // Values that all three types hold.
    for (Tokens* t : {&s.k, &s.v, &s.q})
      for (float& x : t->data) x = bf16_to_float(float_to_bf16(x));
    AnyCompressor expected(format, 2, 9);
    fill(expected, s, 150);
    const auto out = attend(expected, s.q.view(140, 10));
    for (const ElementType type : {ElementType::f32, ElementType::f16, ElementType::bf16}) {
      CAPTURE(name(tail), name(type));
      const Odd k(s.k.view(), type), v(s.v.view(), type), q(s.q.view(140, 10), type);
      AnyCompressor cache(format, 2, 9);
      REQUIRE(cache.try_append(k.view(), v.view()).ok());
      cache.commit();
      CHECK(same_blocks(cache, expected, expected.blocks()));
      CHECK(same_bits(attend(cache, q.view()), out));
    }
  }
}

TEST_CASE("a tail of another type rounds each element once, to nearest even", "[compressor]") {
  Rng rng(44);
  Tokens k{1, 16, {}};
  for (int i = 0; i < 160; ++i)
    k.data.push_back(static_cast<float>(rng.normal() * std::exp2(20 * rng.uniform() - 10)));
  for (const ElementType tail : {ElementType::f32, ElementType::f16, ElementType::bf16}) {
    Format format = preset("k4v4", 16, 16);
    format.tail = tail;
    AnyCompressor cache(format, 1, 1);
    cache.append(k.view(), k.view());
    Workspace workspace;
    std::vector<float> row(16);
    for (std::size_t t = 0; t < 10; ++t) {
      REQUIRE(cache.try_decode_key(0, t, row, workspace).ok());
      for (std::size_t i = 0; i < 16; ++i) {
        const float x = k.row(t, 0)[i];
        CHECK(row[i] == (tail == ElementType::f32   ? x
                         : tail == ElementType::f16 ? to_float(to_half(x))
                                                    : bf16_to_float(float_to_bf16(x))));
      }
    }
  }
}

TEST_CASE("an empty append and an empty commit change nothing", "[compressor]") {
  const Sequence s(100, 2, 1, 32, 48, 45);
  AnyCompressor cache(small_format("k4v4", 0, 0), 2, 9);
  fill(cache, s, 100);
  const auto before = attend(cache, s.q.view(99, 1));
  const auto bytes = block_bytes(cache, 1, 0);
  REQUIRE(append(cache, s, 0, 0).ok());
  cache.commit();
  cache.commit(0);
  CHECK(cache.size() == 100);
  CHECK(block_bytes(cache, 1, 0) == bytes);
  CHECK(same_bits(attend(cache, s.q.view(99, 1)), before));
}

TEST_CASE("seed, layer and side decide the bytes: equal ones agree, other ones do not", "[compressor]") {
  const Sequence s(64, 1, 1, 32, 48, 46);
  const auto bytes_of = [&](std::uint64_t seed) {
    AnyCompressor cache(small_format("k4v4", 0, 0), 1, seed);
    fill(cache, s, 64);
    return block_bytes(cache, 0, 0);
  };
  CHECK(bytes_of(1) == bytes_of(1));
  CHECK(bytes_of(1) != bytes_of(2));
  CHECK(bytes_of(0) != bytes_of(1));
}
