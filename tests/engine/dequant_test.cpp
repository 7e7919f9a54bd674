#include "../../examples/engine/dequant.hpp"

#include <cmath>
#include <limits>
#include <numeric>
#include <tightkv/core/types.hpp>
#include <vector>

#include "contains.hpp"

using engine::TensorType;

namespace {

std::vector<float> dequantize(TensorType type, const std::vector<std::byte>& in) {
  const auto& layout = engine::tensor_layout(type);
  std::vector<float> out(in.size() / layout.block_bytes * layout.block_values);
  engine::dequantize(type, in, out.data());
  return out;
}

/// A block whose first bytes are given and whose byte i is else `next(i)`.
template <class Next>
std::vector<std::byte> block(TensorType type, std::vector<unsigned> head, Next next) {
  std::vector<std::byte> out;
  for (const unsigned b : head) out.push_back(static_cast<std::byte>(b));
  while (out.size() < engine::tensor_layout(type).block_bytes)
    out.push_back(static_cast<std::byte>(next(out.size()) & 255u));
  return out;
}

constexpr unsigned half_high = 0x38, two_high = 0x40;  // 0x3800 = 0.5, 0x4000 = 2, little-endian: low byte 0

unsigned pattern(std::size_t i) { return static_cast<unsigned>(i) * 37u + 11u; }

}  // namespace

TEST_CASE("all 65536 halves become the float that the library's own conversion gives", "[engine][dequant]") {
  for (unsigned bits = 0; bits < 65536; ++bits) {
    const float got = engine::half_to_float(static_cast<std::uint16_t>(bits));
    const float want = tightkv::to_float(tightkv::Half{static_cast<std::uint16_t>(bits)});
    if (std::bit_cast<std::uint32_t>(got) != std::bit_cast<std::uint32_t>(want)) FAIL("half " << bits);
  }
}

TEST_CASE("F32, F16 and BF16 are taken as they are", "[engine][dequant]") {
  CHECK(dequantize(TensorType::f32, block(TensorType::f32, {0, 0, 0x80, 0xbf}, pattern)) ==
        std::vector{-1.0f});
  CHECK(dequantize(TensorType::f16, block(TensorType::f16, {0, 0xc0}, pattern)) == std::vector{-2.0f});
  CHECK(dequantize(TensorType::bf16, block(TensorType::bf16, {0x80, 0xbf}, pattern)) == std::vector{-1.0f});
}

TEST_CASE("Q4_0: value j is the low nibble of byte j less 8, value j + 16 the high one",
          "[engine][dequant]") {
  const auto x =
      dequantize(TensorType::q4_0, block(TensorType::q4_0, {0, half_high}, [](std::size_t i) {
                   return static_cast<unsigned>((i - 2) | (15 - (i - 2)) << 4);  // low = j, high = 15 - j
                 }));
  for (std::size_t j = 0; j < 16; ++j) {
    CHECK(x[j] == 0.5f * (static_cast<float>(j) - 8));
    CHECK(x[j + 16] == 0.5f * (7 - static_cast<float>(j)));
  }
}

TEST_CASE("Q4_1: the codes are unsigned and a minimum is added", "[engine][dequant]") {
  const auto x =
      dequantize(TensorType::q4_1, block(TensorType::q4_1, {0, half_high, 0, two_high}, [](std::size_t i) {
                   return static_cast<unsigned>((i - 4) | (15 - (i - 4)) << 4);
                 }));
  for (std::size_t j = 0; j < 16; ++j) {
    CHECK(x[j] == 0.5f * static_cast<float>(j) + 2);
    CHECK(x[j + 16] == 0.5f * static_cast<float>(15 - j) + 2);
  }
}

TEST_CASE("Q5_0: the fifth bit of value i is bit i of the word after the scale", "[engine][dequant]") {
  // Word 0x80000001: only values 0 and 31 have their top bit.
  const auto x = dequantize(TensorType::q5_0, block(TensorType::q5_0, {0, half_high, 1, 0, 0, 0x80},
                                                    [](std::size_t) { return 0x53u; }));
  CHECK(x[0] == 0.5f * (16 + 3 - 16));
  CHECK(x[1] == 0.5f * (3 - 16));
  CHECK(x[30] == 0.5f * (5 - 16));
  CHECK(x[31] == 0.5f * (16 + 5 - 16));
}

TEST_CASE("Q8_0: signed bytes", "[engine][dequant]") {
  const auto x = dequantize(TensorType::q8_0, block(TensorType::q8_0, {0, half_high, 0x80, 0x7f},
                                                    [](std::size_t) { return 0xffu; }));
  CHECK(x[0] == -64);
  CHECK(x[1] == 63.5f);
  CHECK(x[31] == -0.5f);
}

TEST_CASE("Q4_K and Q6_K match values computed by another implementation", "[engine][dequant]") {
  // Byte i is i * 37 + 11, apart from the scales 0.5 and 0.25; expected: dequantize() of the Python package
  // gguf 0.19.
  const std::size_t picked[] = {0, 1, 31, 37, 100, 128, 191, 255};
  const auto check = [&](const std::vector<float>& x, const float(&want)[8], double sum) {
    for (std::size_t i = 0; i < 8; ++i) CHECK(x[picked[i]] == want[i]);
    CHECK(std::accumulate(x.begin(), x.end(), 0.0) == sum);
  };
  check(dequantize(TensorType::q4_k, block(TensorType::q4_k, {0, half_high, 0, 0x34}, pattern)),
        {157.75f, -12.75f, 80.25f, -4.0f, 47.5f, 211.5f, 22.5f, 24.25f}, 27220.0);
  auto six = block(TensorType::q6_k, {}, pattern);
  six[208] = std::byte{0}, six[209] = std::byte{half_high};
  check(dequantize(TensorType::q6_k, six),
        {-715.5f, 848.0f, -48.0f, -126.0f, 1261.5f, -175.5f, -490.0f, -30.0f}, 2306.0);
}

TEST_CASE("half a block is refused", "[engine][dequant]") {
  float out[32];
  const std::vector<std::byte> bytes(17);
  CHECK_THROWS_WITH(engine::dequantize(TensorType::q4_0, bytes, out), engine_test::contains("17 bytes"));
}
