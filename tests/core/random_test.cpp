#include <tightkv/core/random.hpp>

#include <set>
#include <vector>

#include "catch.hpp"
#include "support/stats.hpp"

using namespace tightkv;

namespace {

/// First numbers under (seed, stream). They decide rotations and sketches, so bytes of caches that exist: if
/// this goes red, the written format has changed.
struct Known {
  std::uint64_t seed, stream, words[2];
};
const Known known_words[] = {
    {0, 0, {0x33fe8bd4f9c57863u, 0xfa9ff4220e01b28du}},
    {0, 1, {0x6246a58789053b93u, 0x7dbbde384c5d2f3eu}},
    {42, 1, {0xcef34101c7b3d61au, 0xdae9e7c2a517cd1u}},
    {42, 2, {0x94fa24d3b5db3110u, 0xec432ccba48fced9u}},
    {~std::uint64_t{0}, 5, {0xc530b265ddcaa755u, 0xb2842ee4ab4f31aau}},
};

}  // namespace

TEST_CASE("the random words of a seed and stream are fixed for ever", "[core][golden]") {
  for (const Known& k : known_words) {
    CAPTURE(k.seed, k.stream);
    const Random random(k.seed, k.stream);
    CHECK(random.bits(0) == k.words[0]);
    CHECK(random.bits(1000000007) == k.words[1]);
  }
  IntegerNormal normal(42, RandomStream::haar);
  std::vector<std::int32_t> first;
  for (int i = 0; i < 6; ++i) first.push_back(normal.next());
  CHECK(first == std::vector<std::int32_t>{114561, -110795, 54956, -42845, -11152, -6210});
}

TEST_CASE("seeds and streams give different words; 0 is a seed like others", "[core]") {
  std::set<std::uint64_t> seen;
  for (std::uint64_t seed = 0; seed < 64; ++seed)
    for (std::uint64_t stream = 0; stream < 8; ++stream)
      for (std::uint64_t i = 0; i < 16; ++i) seen.insert(Random(seed, stream).bits(i));
  CHECK(seen.size() == 64 * 8 * 16);
  CHECK(seen.count(0) == 0);
}

TEST_CASE("bits of words are fair and neighbouring counters do not agree", "[core]") {
  const Random random(0, 1);
  const int words = 100000;
  std::vector<double> ones(64), same(64);
  for (int i = 0; i < words; ++i) {
    const std::uint64_t w = random.bits(static_cast<std::uint64_t>(i)),
                        next = random.bits(static_cast<std::uint64_t>(i) + 1);
    for (unsigned b = 0; b < 64; ++b) {
      ones[b] += static_cast<double>((w >> b) & 1);
      same[b] += static_cast<double>((~(w ^ next) >> b) & 1);
    }
  }
  for (unsigned b = 0; b < 64; ++b) {  // 128 z values: 4.5 is exceeded once in 1,150 runs of fair bits
    CHECK(std::abs(tightkv_test::binomial_z(ones[b], words, 0.5)) < 4.5);
    CHECK(std::abs(tightkv_test::binomial_z(same[b], words, 0.5)) < 4.5);
  }
}

TEST_CASE("integer normals have the moments and the distribution of N(0, 1)", "[core]") {
  for (const std::uint64_t seed : {0u, 1u, 42u}) {
    CAPTURE(seed);
    IntegerNormal normal(seed, RandomStream::gaussian_sketch);
    tightkv_test::Moments first, second, third, fourth, lag;
    std::vector<double> sample;
    double previous = 0;
    for (int i = 0; i < 400000; ++i) {
      const double x = normal.next() * 0x1p-16;
      sample.push_back(x);
      first.add(x), second.add(x * x), third.add(x * x * x), fourth.add(x * x * x * x);
      if (i > 0) lag.add(x * previous);
      previous = x;
    }
    CHECK(std::abs(first.z(0)) < 4);
    CHECK(std::abs(second.z(1)) < 4);
    CHECK(std::abs(third.z(0)) < 4);
    CHECK(std::abs(fourth.z(3)) < 4);
    CHECK(std::abs(lag.z(0)) < 4);
    // 1.95 is exceeded by one sample in 1,000; the grid adds at most sqrt(n) 2^-17 / sqrt(2 pi) = 0.002.
    CHECK(tightkv_test::kolmogorov(sample) < 1.95 + 0.002);
  }
}
