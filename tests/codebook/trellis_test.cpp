#include <tightkv/codebook/trellis.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "catch.hpp"
#include "support/stats.hpp"
#include "support/vectors.hpp"
#include "tightkv/codebook/any.hpp"
#include "tightkv/codebook/lloyd_max.hpp"

using namespace tightkv;
using tightkv_test::Rng;

namespace {

std::vector<std::int32_t> gaussian_w(std::size_t n, std::uint32_t gain_q16, Rng& rng) {
  std::vector<std::int32_t> w;
  for (std::size_t i = 0; i < n; ++i)
    w.push_back(static_cast<std::int32_t>(std::lround(rng.normal() * gain_q16 / 256.0)));
  return w;
}

/// Levels along the trellis by its definition: one state, one step at a time, as a decoder of a stream would.
template <class C>
std::vector<std::int8_t> decode_serially(const C& c, const std::vector<std::uint8_t>& codes) {
  std::vector<std::int8_t> out(codes.size());
  unsigned u1 = 0, u2 = 0, u3 = 0;  // u_{i-1}, u_{i-2}, u_{i-3}
  for (std::size_t j = 0; j < 16; ++j)
    for (std::size_t word = 0; word < codes.size() / 16; ++word) {  // step = lane * words + word
      const std::size_t dim = 16 * word + j;
      const unsigned u = codes[dim] & 1u, high = codes[dim] >> 1u;
      out[dim] = c.levels()[4 * high + 2 * (u ^ u1 ^ u3) + u2];
      u3 = u2, u2 = u1, u1 = u;
    }
  return out;
}

/// What the encoder minimises: squared distances in 1/16 level units.
template <class C>
std::int64_t path_cost(const C& c, const std::vector<std::int32_t>& w,
                       const std::vector<std::uint8_t>& codes) {
  const auto levels = decode_serially(c, codes);
  std::int64_t cost = 0;
  for (std::size_t i = 0; i < w.size(); ++i) {
    const std::int64_t miss = fixed::shift_round(std::clamp(w[i], -254 * 256, 254 * 256), 4) - levels[i] * 16;
    cost += miss * miss;
  }
  return cost;
}

/// The least cost over all 2^16 sequences of coded bits at n = 16; given these, each step's high bits are
/// free.
template <class C>
std::int64_t exhaustive_cost(const C& c, const std::vector<std::int32_t>& w) {
  const std::size_t subset_size = c.levels().size() / 4;
  std::int64_t distance[16][4];
  for (std::size_t i = 0; i < 16; ++i)
    for (std::size_t s = 0; s < 4; ++s) {
      distance[i][s] = std::numeric_limits<std::int64_t>::max();
      for (std::size_t h = 0; h < subset_size; ++h) {
        const std::int64_t miss =
            fixed::shift_round(std::clamp(w[i], -254 * 256, 254 * 256), 4) - c.levels()[4 * h + s] * 16;
        distance[i][s] = std::min(distance[i][s], miss * miss);
      }
    }
  std::int64_t best = std::numeric_limits<std::int64_t>::max();
  for (unsigned path = 0; path < 0x10000u; ++path) {
    std::int64_t cost = 0;
    const auto u = [&](std::size_t i, std::size_t back) { return i < back ? 0u : (path >> (i - back)) & 1u; };
    for (std::size_t i = 0; i < 16; ++i) cost += distance[i][2 * (u(i, 0) ^ u(i, 1) ^ u(i, 3)) + u(i, 2)];
    best = std::min(best, cost);
  }
  return best;
}

/// E |z - c|^2 of Gaussian coordinates in z units, with the codebook's own gain.
template <class C>
double distortion(const C& c, std::size_t n, int vectors) {
  Rng rng(1);
  const double gain = c.gain_q16() / 65536.0;
  std::vector<std::uint8_t> codes(n);
  std::vector<std::int8_t> levels(n);
  tightkv_test::Moments error;
  for (int v = 0; v < vectors; ++v) {
    const auto w = gaussian_w(n, c.gain_q16(), rng);
    c.encode(w, codes);
    c.decode(codes, levels);
    for (std::size_t i = 0; i < n; ++i) error.add(std::pow((w[i] / 256.0 - levels[i]) / gain, 2));
  }
  return error.mean();
}

template <unsigned Bits>
void check_trellis() {
  CAPTURE(Bits);
  const Trellis<Bits> c(128);
  CHECK(c.bits() == Bits);
  CHECK(c.levels().size() == (std::size_t{2} << Bits));
  Rng rng(Bits);
  for (const std::size_t n : {16u, 32u, 64u, 80u, 128u, 192u, 576u, 1024u})
    for (int v = 0; v < 20; ++v) {
      const auto w = gaussian_w(n, c.gain_q16(), rng);
      std::vector<std::uint8_t> codes(n);
      std::vector<std::int8_t> levels(n);
      c.encode(w, codes);
      c.decode(codes, levels);
      if (levels != decode_serially(c, codes)) FAIL("parallel decode differs at n = " << n);
      if (*std::max_element(codes.begin(), codes.end()) >> Bits) FAIL("code above " << Bits << " bits");
      for (int change = 0; change < 8 && n == 128; ++change) {  // no single changed code is better
        auto other = codes;
        other[rng.below(n)] = static_cast<std::uint8_t>(rng.below(std::size_t{1} << Bits));
        if (path_cost(c, w, other) < path_cost(c, w, codes)) FAIL("a better path exists");
      }
      for (std::uint8_t& code : codes) code = static_cast<std::uint8_t>(rng.below(std::size_t{1} << Bits));
      c.decode(codes, levels);  // any codes, not only those of an encoder
      if (levels != decode_serially(c, codes)) FAIL("parallel decode of random codes differs at n = " << n);
    }
  for (int v = 0; v < 12; ++v) {
    auto w = gaussian_w(16, c.gain_q16(), rng);
    if (v == 0) std::fill(w.begin(), w.end(), 0);
    if (v == 1) std::fill(w.begin(), w.end(), 0), w[5] = 1 << 20;
    if (v == 2) std::fill(w.begin(), w.end(), -(1 << 24));
    std::vector<std::uint8_t> codes(16);
    c.encode(w, codes);
    CHECK(path_cost(c, w, codes) == exhaustive_cost(c, w));
  }
}

}  // namespace

TEST_CASE("known trellis codes: flat, one-hot and zero vectors", "[codebook]") {
  const Trellis<2> c(128);  // levels -127 -73 -41 -13 13 41 73 127
  const std::size_t n = 32;
  std::vector<std::uint8_t> codes(n);
  std::vector<std::int8_t> levels(n);
  // All zero codes walk subset 0 only: the lowest level everywhere.
  c.decode(codes, levels);
  CHECK(levels == std::vector<std::int8_t>(n, -127));
  // A flat vector at a level of subset 0 is met exactly from start to end: +13 has index 4.
  c.encode(std::vector<std::int32_t>(n, 13 * 256), codes);
  c.decode(codes, levels);
  CHECK(levels == std::vector<std::int8_t>(n, 13));
  CHECK(codes == std::vector<std::uint8_t>(n, 2));
  // Zero lies between -13 and +13: the path can stay next to it except where the trellis forbids, and n
  // misses of 13 are the least.
  c.encode(std::vector<std::int32_t>(n, 0), codes);
  c.decode(codes, levels);
  for (const std::int8_t level : levels) CHECK(std::abs(level) == 13);
  // One-hot: the largest level at the hot place.
  std::vector<std::int32_t> hot(n, 0);
  hot[17] = 127 * 256;
  c.encode(hot, codes);
  c.decode(codes, levels);
  CHECK(levels[17] == 127);
}

TEST_CASE("steps walk a lane's words before the next lane", "[codebook]") {
  CHECK(trellis_dim(0, 128) == 0);
  CHECK(trellis_dim(1, 128) == 16);
  CHECK(trellis_dim(7, 128) == 112);
  CHECK(trellis_dim(8, 128) == 1);
  CHECK(trellis_dim(127, 128) == 127);
  CHECK(trellis_dim(5, 16) == 5);
}

TEST_CASE("the trellis encoder is optimal and the parallel decoder walks its path", "[codebook]") {
  check_trellis<2>();
  check_trellis<3>();
  check_trellis<4>();
  check_trellis<5>();
}

TEST_CASE("the trellis has less than .75 of Lloyd-Max's distortion at 2 to 5 bits", "[codebook][law]") {
  // Equal to plain nearest-level coding if every level were allowed in every state.
  const std::size_t n = 128;
  const double two = distortion(Trellis<2>(n), n, 1500) / distortion(LloydMax<2>(0), n, 1500);
  const double three = distortion(Trellis<3>(n), n, 1500) / distortion(LloydMax<3>(0), n, 1500);
  const double four = distortion(Trellis<4>(n), n, 1500) / distortion(LloydMax<4>(0), n, 1500);
  const double five = distortion(Trellis<5>(n), n, 1500) / distortion(LloydMax<5>(0), n, 1500);
  CAPTURE(two, three, four, five);
  CHECK(two < .75);
  CHECK(three < .75);
  CHECK(four < .75);
  CHECK(five < .75);
}
