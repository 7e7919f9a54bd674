#include <tightkv/codebook/builtin.hpp>

#include <cmath>
#include <cstdint>
#include <set>
#include <tightkv/codebook/hash.hpp>
#include <tightkv/codebook/solver.hpp>
#include <vector>

#include "catch.hpp"

using tightkv::builtin::lloyd_max;
using tightkv::builtin::Table;
using tightkv::builtin::trellis8;

// Usable in constant expressions: kernels build their shuffle tables at compile time.
static_assert(lloyd_max(64, 2).levels[0] == -127 && lloyd_max(64, 2).levels[1] == -38);
static_assert(lloyd_max(128, 1).dim == 128 && lloyd_max(130, 1).dim == 0 && lloyd_max(0, 1).dim == 0);
static_assert(lloyd_max(128, 0).levels.empty() && lloyd_max(128, 9).levels.empty());
static_assert(trellis8(1).levels.empty() && trellis8(6).levels.empty());

namespace {

constexpr std::size_t dims[] = {64, 80, 96, 112, 128, 192, 256, 512, 576, 0};

std::size_t asymmetric(const Table& table) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < table.levels.size(); ++i)
    count += table.levels[i] != -table.levels[table.levels.size() - 1 - i];
  return count;
}

std::size_t repeated(const Table& table) {
  std::size_t count = 0;
  for (std::size_t i = 1; i < table.levels.size(); ++i) count += table.levels[i] <= table.levels[i - 1];
  return count;
}

std::vector<int> positive_half(const Table& table) {
  return {table.levels.begin() + static_cast<std::ptrdiff_t>(table.levels.size() / 2), table.levels.end()};
}

}  // namespace

TEST_CASE("built-in Lloyd-Max tables are the solver's, rounded", "[codebook][builtin]") {
  for (const std::size_t dim : dims)
    for (unsigned bits = 1; bits <= 8; ++bits) {
      CAPTURE(dim, bits);
      const Table table = lloyd_max(dim, bits);
      const std::vector<double> levels = tightkv::solve_lloyd_max(dim, bits).levels;
      REQUIRE(table.levels.size() == levels.size());
      CHECK(table.dim == dim);
      CHECK(table.bits == bits);
      const double gain = 127 / levels.back();
      CHECK(table.gain_q16 == std::lround(gain * 65536));
      std::size_t wrong = 0;
      for (std::size_t i = 0; i < levels.size(); ++i)
        wrong += table.levels[i] != std::lround(levels[i] * gain);
      CHECK(wrong == 0);
      CHECK(asymmetric(table) == 0);
      if (bits <= 6) CHECK(repeated(table) == 0);  // 7 and 8 bits cannot be strict in int8
    }
}

TEST_CASE("built-in trellis tables are the published ones", "[codebook][builtin]") {
  CHECK(positive_half(trellis8(2)) == std::vector{13, 41, 73, 127});
  CHECK(positive_half(trellis8(3)) == std::vector{6, 16, 27, 39, 53, 69, 92, 127});
  CHECK(positive_half(trellis8(4)) ==
        std::vector{2, 7, 11, 16, 21, 25, 31, 36, 42, 48, 55, 63, 73, 86, 103, 127});
  for (unsigned bits = 2; bits <= 5; ++bits) {
    CAPTURE(bits);
    const Table table = trellis8(bits);
    CHECK(table.levels.size() == std::size_t{2} << bits);
    CHECK(table.bits == bits);
    CHECK(asymmetric(table) == 0);
    CHECK(repeated(table) == 0);
  }
}

TEST_CASE("a dim without a table gets the Gaussian limit's", "[codebook][builtin]") {
  for (const std::size_t dim : {1u, 63u, 65u, 100u, 1024u, 65600u}) {  // 65600 = 64 mod 2^16
    const Table table = lloyd_max(dim, 4);
    CAPTURE(dim);
    CHECK(table.dim == 0);
    CHECK(table.gain_q16 == lloyd_max(0, 4).gain_q16);
    CHECK(table.levels.data() == lloyd_max(0, 4).levels.data());
  }
}

TEST_CASE("the hash is FNV-1a over the documented bytes and tells all tables apart", "[codebook][builtin]") {
  using tightkv::codebook_hash;
  using tightkv::TableKind;
  const std::vector<std::uint8_t> bytes = {1, 2, 0x80, 0x01, 0, 0, 0x78, 0x56, 0x34, 0x12, 0xff, 0x7f};
  std::uint64_t want = 14695981039346656037u;
  for (const std::uint8_t byte : bytes) want = (want ^ byte) * 1099511628211u;
  const std::vector<std::int8_t> levels = {-1, 127};
  CHECK(codebook_hash(TableKind::trellis8, 2, 384, 0x12345678, levels) == want);

  std::set<std::uint64_t> seen;
  for (const std::size_t dim : dims)
    for (unsigned bits = 1; bits <= 8; ++bits) {
      const Table t = lloyd_max(dim, bits);
      seen.insert(codebook_hash(TableKind::lloyd_max, t.bits, t.dim, t.gain_q16, t.levels));
    }
  for (unsigned bits = 2; bits <= 5; ++bits) {
    const Table t = trellis8(bits);
    seen.insert(codebook_hash(TableKind::trellis8, t.bits, t.dim, t.gain_q16, t.levels));
  }
  CHECK(seen.size() == 84);
}
