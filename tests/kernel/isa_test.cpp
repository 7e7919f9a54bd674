#include <tightkv/kernel/dispatch.hpp>

#include <numeric>

#include "catch.hpp"
#include "kernel/plans.hpp"
#include "support/guarded.hpp"

using namespace tightkv_test;
using kernel::Kernels;
using kernel::QueryCode;
using kernel::WeightCode;

namespace {

constexpr std::size_t most = 8, tokens = layout::block_tokens;
constexpr const Kernels& definition = kernel::on_scalar::table;

/// Eight queries of `dim` values in [-127, 127].
struct Queries {
  std::vector<std::vector<std::int8_t>> values;
  std::vector<QueryCode> codes;

  Queries(std::size_t dim, Rng& rng) : values(most, std::vector<std::int8_t>(dim)), codes(most) {
    for (auto& q : values)
      for (std::int8_t& v : q) v = static_cast<std::int8_t>(static_cast<int>(rng.below(255)) - 127);
    set_range(0, dim);
  }
  void set_range(std::size_t begin, std::size_t end) {
    for (std::size_t k = 0; k < most; ++k) {
      const std::int8_t* const v = values[k].data();
      codes[k] = {v, std::accumulate(v + begin, v + end, std::int32_t{0})};
    }
  }
};

/// Sums of n queries over dims [begin, end) by a table, and a canary behind them.
std::vector<std::int32_t> scores(const Kernels& on, const LevelPlan& plan, const std::byte* tiles,
                                 std::size_t tile_bytes, std::size_t begin, std::size_t end, const Queries& q,
                                 std::size_t n) {
  std::vector<std::int32_t> sums(most * tokens, 0x5a5a5a5a);
  on.score(plan, tiles, tile_bytes, begin, end, q.codes.data(), n, sums.data());
  return sums;
}

/// The first n queries of `all`, and the canary behind them.
template <class T>
bool same_for(std::vector<T> all, std::size_t n, std::size_t each, T canary, const std::vector<T>& got) {
  std::fill(all.begin() + static_cast<std::ptrdiff_t>(n * each), all.end(), canary);
  return all == got;
}

/// Weights of eight queries; sums start at 3, so that what is added shows.
struct Weights {
  std::vector<std::uint8_t> high, low;
  Weights() : high(most * tokens), low(most * tokens) {}

  void fill(Rng& rng) {
    for (auto& w : high) w = static_cast<std::uint8_t>(rng.bits());
    for (auto& w : low) w = static_cast<std::uint8_t>(rng.bits());
  }
  std::vector<float> sums(const Kernels& on, const LevelPlan& plan, const std::byte* words, std::size_t begin,
                          std::size_t end, std::size_t n, float unit = 1) const {
    std::vector<float> sum(most * plan.dim, 3);
    std::vector<WeightCode> codes;
    for (std::size_t k = 0; k < n; ++k)
      codes.push_back({high.data() + k * tokens, low.data() + k * tokens, unit, sum.data() + k * plan.dim});
    on.accumulate(plan, words, begin, end, codes.data(), n);
    return sum;
  }
};

}  // namespace

TEST_CASE("Every instruction set gives the scalar scores, integer for integer", "[kernel][isa]") {
  Rng rng(1);
  for (const Width& width : widths)
    for (const std::size_t dim : kernel_dims) {
      const LevelPlan plan = random_plan(width, dim, rng);
      const std::size_t gap = rng.below(3) * 32;  // a sign plane may stand behind the codes
      const std::size_t tile_bytes = layout::key_tile_bytes(dim, width.bits) + gap;
      Guarded<std::byte> tiles(4 * tile_bytes - gap, rng.below(2) ? Guard::behind : Guard::before,
                               rng.below(4));
      fill_codes(tiles, width, rng);
      Queries q(dim, rng);
      const auto want = scores(definition, plan, tiles.bytes(), tile_bytes, 0, dim, q, most);
      for (const Kernels* on : tables_under_test())
        for (std::size_t n = 1; n <= most; ++n) {
          CAPTURE(on->name, name_of(width), dim, n);
          CHECK(same_for(want, n, tokens, 0x5a5a5a5a,
                         scores(*on, plan, tiles.bytes(), tile_bytes, 0, dim, q, n)));
        }
    }
}

TEST_CASE("Scores over a range of dims", "[kernel][isa]") {
  Rng rng(2);
  for (const Width& width : widths) {
    if (width.decode == Decode::trellis) continue;  // always all dims
    for (const std::size_t dim : {64u, 80u, 112u, 128u}) {
      const LevelPlan plan = random_plan(width, dim, rng);
      const std::size_t tile_bytes = layout::key_tile_bytes(dim, width.bits);
      Guarded<std::byte> tiles(4 * tile_bytes);
      fill_codes(tiles, width, rng);
      Queries q(dim, rng);
      for (std::size_t begin = 0; begin < dim; begin += 32)
        for (std::size_t end = begin + 32; end < dim + 32; end += 32) {
          const std::size_t last = std::min(end, dim), n = 1 + rng.below(most);
          q.set_range(begin, last);
          const auto want = scores(definition, plan, tiles.bytes(), tile_bytes, begin, last, q, n);
          for (const Kernels* on : tables_under_test()) {
            CAPTURE(on->name, name_of(width), dim, begin, last, n);
            CHECK(want == scores(*on, plan, tiles.bytes(), tile_bytes, begin, last, q, n));
          }
        }
    }
  }
}

TEST_CASE("Every instruction set gives the scalar weighted sums", "[kernel][isa]") {
  Rng rng(3);
  for (const Width& width : widths)
    for (const std::size_t dim : kernel_dims) {
      const LevelPlan plan = random_plan(width, dim, rng);
      Guarded<std::byte> words(layout::value_block_bytes(dim, width.bits),
                               rng.below(2) ? Guard::behind : Guard::before, rng.below(4));
      fill_codes(words, width, rng);
      // Together the sums round to floats; with one byte of the weights 0 every bit of the integer shows.
      Weights both, low, high;
      both.fill(rng), low.low = both.low, high.high = both.high;
      const auto want = both.sums(definition, plan, words.bytes(), 0, dim, most);
      const auto want_low = low.sums(definition, plan, words.bytes(), 0, dim, most);
      const auto want_high = high.sums(definition, plan, words.bytes(), 0, dim, most, 1.0f / 256);
      for (const Kernels* on : tables_under_test())
        for (std::size_t n = 1; n <= most; ++n) {
          CAPTURE(on->name, name_of(width), dim, n);
          CHECK(same_for(want, n, dim, 3.0f, both.sums(*on, plan, words.bytes(), 0, dim, n)));
          CHECK(same_for(want_low, n, dim, 3.0f, low.sums(*on, plan, words.bytes(), 0, dim, n)));
          CHECK(
              same_for(want_high, n, dim, 3.0f, high.sums(*on, plan, words.bytes(), 0, dim, n, 1.0f / 256)));
        }
    }
}

TEST_CASE("Weighted sums over a range of dims", "[kernel][isa]") {
  Rng rng(4);
  for (const Width& width : widths)
    for (const std::size_t dim : {48u, 80u, 128u}) {
      const LevelPlan plan = random_plan(width, dim, rng);
      Guarded<std::byte> words(layout::value_block_bytes(dim, width.bits));
      fill_codes(words, width, rng);
      Weights weights;
      weights.fill(rng);
      for (std::size_t begin = 0; begin < dim; begin += 16)
        for (std::size_t end = begin + 16; end <= dim; end += 16) {
          const std::size_t n = 1 + rng.below(most);
          const auto want = weights.sums(definition, plan, words.bytes(), begin, end, n);
          for (const Kernels* on : tables_under_test()) {
            CAPTURE(on->name, name_of(width), dim, begin, end, n);
            CHECK(want == weights.sums(*on, plan, words.bytes(), begin, end, n));
          }
        }
    }
}

TEST_CASE("Nothing saturates: extreme levels, queries and weights", "[kernel][isa]") {
  Rng rng(5);
  constexpr std::size_t dim = 576;
  for (const Width& width : widths)
    for (const int level : {127, -127}) {
      const bool grid = width.decode == Decode::identity;
      const LevelPlan plan = constant_plan(width, dim, static_cast<std::int8_t>(level));
      std::vector<std::byte> tiles(4 * layout::key_tile_bytes(dim, width.bits));
      if (grid)
        std::fill(tiles.begin(), tiles.end(), static_cast<std::byte>(127 + level));
      else
        fill_codes(tiles, width, rng);
      Queries q(dim, rng);
      for (std::size_t i = 0; i < dim; ++i)
        q.values[0][i] = 127, q.values[1][i] = -127, q.values[2][i] = i % 2 ? -127 : 127,
        q.values[3][i] = i % 4 < 2 ? 127 : -127;
      q.set_range(0, dim);
      Weights weights;
      std::fill(weights.high.begin(), weights.high.end(), std::uint8_t{255});
      std::fill(weights.low.begin(), weights.low.end(), std::uint8_t{255});
      std::fill_n(weights.high.begin() + tokens, tokens, std::uint8_t{0});
      std::fill_n(weights.low.begin() + 2 * tokens, tokens, std::uint8_t{0});
      const int n576 = static_cast<int>(dim);
      for (const kernel::Candidate& c : kernel::candidates()) {
        if (!c.available) continue;
        CAPTURE(c.table->name, name_of(width), level);
        const auto sums = scores(*c.table, plan, tiles.data(), tiles.size() / 4, 0, dim, q, 4);
        const auto out = weights.sums(*c.table, plan, tiles.data(), 0, dim, 4);
        bool exact = true;
        for (std::size_t t = 0; t < tokens; ++t)
          exact = exact && sums[t] == level * 127 * n576 && sums[tokens + t] == -level * 127 * n576 &&
                  sums[2 * tokens + t] == 0 && sums[3 * tokens + t] == 0;
        for (std::size_t i = 0; i < dim; ++i)
          exact = exact && out[i] == static_cast<float>(level * 64 * 65535) + 3 &&
                  out[dim + i] == static_cast<float>(level * 64 * 255 + 3) &&
                  out[2 * dim + i] == static_cast<float>(level * 64 * 65280) + 3;
        CHECK(exact);
      }
    }
}
