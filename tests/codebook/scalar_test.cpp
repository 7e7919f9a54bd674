#include <tightkv/codebook/any.hpp>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <vector>

#include "catch.hpp"
#include "support/vectors.hpp"

using namespace tightkv;

namespace {

/// Every w within reach of the levels at which something can change: each midpoint, its neighbours, and the
/// levels themselves; and values far outside.
std::vector<std::int32_t> critical_values(std::span<const std::int8_t> levels) {
  std::vector<std::int32_t> w = {0, -(1 << 30), 1 << 30};
  for (std::size_t i = 0; i < levels.size(); ++i)
    for (std::int32_t step = -1; step <= 1; ++step) {
      w.push_back(levels[i] * 256 + step);
      if (i > 0) w.push_back((levels[i - 1] + levels[i]) * 128 + step);
    }
  while (w.size() % 16 != 0) w.push_back(0);
  return w;
}

/// Nearest level by comparing all of them. At a tie the larger level is nearest; of equal levels any is
/// right.
template <class C>
void check_nearest(const C& c) {
  const auto levels = c.levels();
  const auto w = critical_values(levels);
  std::vector<std::uint8_t> codes(w.size());
  std::vector<std::int8_t> out(w.size());
  c.encode(w, codes);
  c.decode(codes, out);
  for (std::size_t i = 0; i < w.size(); ++i) {
    std::int64_t best = std::numeric_limits<std::int64_t>::max();
    int want = 0;
    for (const std::int8_t level : levels) {
      const std::int64_t miss = std::abs(std::int64_t{w[i]} - level * 256);
      if (miss <= best) best = miss, want = level;
    }
    if (codes[i] >= levels.size() || out[i] != levels[codes[i]] || out[i] != want)
      FAIL("w = " << w[i] << " gave level " << static_cast<int>(out[i]) << ", not " << want);
  }
}

template <class C>
void check_table(const C& c) {
  CHECK(std::is_sorted(c.levels().begin(), c.levels().end()));
  for (std::size_t i = 0; i < c.levels().size(); ++i) CHECK(std::abs(static_cast<int>(c.levels()[i])) <= 127);
  check_nearest(c);
}

template <unsigned Bits>
void check_width() {
  CAPTURE(Bits);
  for (const std::size_t dim : {64u, 66u, 80u, 128u, 192u, 576u}) {
    check_table(LloydMax<Bits>(dim));
    CHECK(LloydMax<Bits>(dim).levels().size() == std::size_t{1} << Bits);
    const LloydMax<Bits> book(dim);
    const auto levels = book.levels();
    for (std::size_t i = 0; i < levels.size(); ++i) CHECK(levels[i] == -levels[levels.size() - 1 - i]);
  }
  check_table(Uniform<Bits>(128));
  // 8 bits: -127 to 127, code 255 is never written.
  CHECK(Uniform<Bits>(128).levels().size() == (Bits == 8 ? 255 : std::size_t{1} << Bits));
}

template <class C>
void check_any(const C& typed, CodebookKind kind, unsigned bits) {
  AnyCodebook any = Uniform<1>(16);
  REQUIRE(AnyCodebook::try_make(kind, 128, bits, any).ok());
  tightkv_test::Rng rng(bits);
  std::vector<std::int32_t> w(128);
  for (auto& v : w) v = static_cast<std::int32_t>(rng.normal() * typed.gain_q16() / 256);
  std::vector<std::uint8_t> a(128), b(128);
  std::vector<std::int8_t> la(128), lb(128);
  any.encode(w, a), typed.encode(w, b);
  any.decode(a, la), typed.decode(b, lb);
  CHECK(a == b);
  CHECK(la == lb);
  CHECK(any.hash() == typed.hash());
  CHECK(any.which() == kind);
  CHECK(AnyCodebook(typed).hash() == typed.hash());
}

}  // namespace

TEST_CASE("scalar codebooks code to the nearest level, ties to the larger one, at every width",
          "[codebook]") {
  check_width<1>(), check_width<2>(), check_width<3>(), check_width<4>();
  check_width<5>(), check_width<6>(), check_width<7>(), check_width<8>();
}

TEST_CASE("8-bit Lloyd-Max levels repeat in int8, and a repeated level is still coded right", "[codebook]") {
  const LloydMax<8> c(128);
  CHECK(std::adjacent_find(c.levels().begin(), c.levels().end()) != c.levels().end());
  check_nearest(c);
}

TEST_CASE("the error of Lloyd-Max falls by 3.2 to 4 times a bit up to 6 bits", "[codebook]") {
  double previous = 0;
  for (unsigned bits = 1; bits <= 6; ++bits) {
    AnyCodebook c = Uniform<1>(16);
    REQUIRE(AnyCodebook::try_make(CodebookKind::lloyd_max, 128, bits, c).ok());
    tightkv_test::Rng rng(2);
    std::vector<std::int32_t> w(1 << 16);
    for (auto& v : w) v = static_cast<std::int32_t>(std::lround(rng.normal() * c.gain_q16() / 256));
    std::vector<std::uint8_t> codes(w.size());
    std::vector<std::int8_t> levels(w.size());
    c.encode(w, codes), c.decode(codes, levels);
    double error = 0;
    for (std::size_t i = 0; i < w.size(); ++i)
      error += std::pow((w[i] / 256.0 - levels[i]) * 65536 / c.gain_q16(), 2);
    if (bits > 1) {
      CHECK(previous / error > 3.0);  // 3.1 from 1 to 2 bits (the bound of algorithms 3.1), then rising to 4
      CHECK(previous / error < 4.1);
    }
    previous = error;
  }
}

TEST_CASE("Grid stretches each vector to its largest coordinate", "[codebook]") {
  const Grid<8> c(128);
  std::vector<std::uint8_t> codes(16);
  std::vector<std::int8_t> levels(16);
  for (const std::int32_t largest : {1, 100, 32 * 256, 1 << 28}) {
    std::vector<std::int32_t> w(16, 0);
    w[3] = largest, w[4] = -largest, w[5] = largest / 2;
    c.encode(w, codes), c.decode(codes, levels);
    CHECK(levels[3] == 127);
    CHECK(levels[4] == -127);
    CHECK(levels[0] == 0);
    CHECK(std::abs(levels[5] - 127.0 * (largest / 2) / largest) <= 0.6);
  }
  c.encode(std::vector<std::int32_t>(16, 0), codes), c.decode(codes, levels);
  CHECK(levels == std::vector<std::int8_t>(16, 0));
}

TEST_CASE("a table from outside is checked and coded like any other", "[codebook]") {
  Table t;
  const std::vector<std::int8_t> good = {-100, -7, 0, 127};
  REQUIRE(Table::try_make(2, 40u << 16, good, t).ok());
  check_table(t);
  const std::uint64_t hash = t.hash();
  const auto refused = [&](unsigned bits, std::uint32_t gain, std::vector<std::int8_t> levels) {
    const Status s = Table::try_make(bits, gain, levels, t);
    CHECK(s.code() == ErrorCode::invalid_argument);
    CHECK(t.hash() == hash);
    return s.message();
  };
  CHECK(refused(0, 40u << 16, {}) == "table has 0 bits; it must have 1 to 8");
  CHECK(refused(9, 40u << 16, good) == "table has 9 bits; it must have 1 to 8");
  CHECK(refused(3, 40u << 16, good) == "table has 4 levels; 3 bits need 8");
  CHECK(refused(2, 0, good) == "table gain is 0; it must be 65536 to 16777216");
  CHECK(refused(2, 0xffffffffu, good) == "table gain is 4294967295; it must be 65536 to 16777216");
  CHECK(refused(2, 40u << 16, {-128, 0, 1, 2}) ==
        "table level 0 is -128; levels must ascend within -127 to 127");
  CHECK(refused(2, 40u << 16, {-3, 5, 4, 9}) == "table level 2 is 4; levels must ascend within -127 to 127");
  std::vector<std::int8_t> flat(4, 9);  // repeats are allowed, even all of them
  REQUIRE(Table::try_make(2, 40u << 16, flat, t).ok());
  check_nearest(t);
}

TEST_CASE("a codebook chosen at run time is the one it names", "[codebook]") {
  check_any(LloydMax<1>(128), CodebookKind::lloyd_max, 1);
  check_any(LloydMax<8>(128), CodebookKind::lloyd_max, 8);
  check_any(Uniform<4>(128), CodebookKind::uniform, 4);
  check_any(Grid<6>(128), CodebookKind::grid, 6);
  check_any(Trellis<2>(128), CodebookKind::trellis, 2);
  check_any(Trellis<5>(128), CodebookKind::trellis, 5);
  AnyCodebook any = Uniform<3>(16);
  CHECK(AnyCodebook::try_make(CodebookKind::trellis, 128, 6, any).code() == ErrorCode::unsupported);
  CHECK(AnyCodebook::try_make(CodebookKind::trellis, 128, 1, any).code() == ErrorCode::unsupported);
  CHECK(AnyCodebook::try_make(CodebookKind::lloyd_max, 128, 9, any).code() == ErrorCode::unsupported);
  CHECK(AnyCodebook::try_make(CodebookKind::table, 128, 4, any).code() == ErrorCode::unsupported);
  CHECK(any.hash() == Uniform<3>(16).hash());
}
