// codebook/level_table.hpp: the int8 levels of a codebook, and nearest-level coding by comparison.
#pragma once

#include <algorithm>
#include <array>

#include "../core/concepts.hpp"

namespace tightkv::inline TIGHTKV_ABI {

/// Up to 256 ascending int8 levels with |level| <= 127, and how many level units make one z unit.
class LevelTable {
 public:
  LevelTable() = default;

  /// `levels`: up to 2^bits of them (or 2^(bits + 1) for a trellis), ascending. Not checked here: callers
  /// pass checked tables.
  LevelTable(unsigned bits, std::uint32_t gain_q16, std::span<const std::int8_t> levels) noexcept
      : count_(static_cast<std::uint16_t>(levels.size())),
        bits_(static_cast<std::uint8_t>(bits)),
        gain_q16_(gain_q16) {
    std::copy(levels.begin(), levels.end(), levels_.begin());
  }

  unsigned bits() const noexcept { return bits_; }
  std::uint32_t gain_q16() const noexcept { return gain_q16_; }
  std::span<const std::int8_t> levels() const noexcept { return {levels_.data(), count_}; }

  /// The level of any code; codes above the last level (never written, but possible in bytes from outside)
  /// give 0.
  std::int8_t level(unsigned code) const noexcept { return levels_[code & 255u]; }

  /// The index among levels first, first + step, first + 2 step ... that is nearest to w (1/256 level units);
  /// a tie goes to the upper level. The thresholds are the exact midpoints of the integer levels.
  unsigned nearest(std::int32_t w, unsigned first = 0, unsigned step = 1) const noexcept {
    unsigned below = 0, above = (count_ - first + step - 1) / step;  // the answer is in [below, above)
    while (above - below > 1) {
      const unsigned middle = (below + above) / 2;
      const std::int32_t threshold =
          (levels_[first + (middle - 1) * step] + levels_[first + middle * step]) * 128;
      (w >= threshold ? below : above) = middle;
    }
    return first + below * step;
  }

  std::uint64_t hash(CodebookKind kind) const noexcept {
    bytes::Hash hash;
    hash.add(static_cast<std::uint8_t>(kind)).add(bits_).add(gain_q16_);
    for (const std::int8_t level : levels()) hash.add(level);
    return hash.value();
  }

 private:
  std::array<std::int8_t, 256> levels_{};
  std::uint16_t count_ = 0;
  std::uint8_t bits_ = 0;
  std::uint32_t gain_q16_ = 0;
};

namespace detail {

inline void scalar_encode(const LevelTable& table, std::span<const std::int32_t> w,
                          std::span<std::uint8_t> codes) noexcept {
  for (std::size_t i = 0; i < w.size(); ++i) codes[i] = static_cast<std::uint8_t>(table.nearest(w[i]));
}

inline void scalar_decode(const LevelTable& table, std::span<const std::uint8_t> codes,
                          std::span<std::int8_t> out) noexcept {
  for (std::size_t i = 0; i < codes.size(); ++i) out[i] = table.level(codes[i]);
}

}  // namespace detail

/// A codebook that codes each coordinate by itself: code = index of the nearest level.
class ScalarCodebook {
 public:
  explicit ScalarCodebook(const LevelTable& table) noexcept : table_(table) {}

  unsigned bits() const noexcept { return table_.bits(); }
  std::span<const std::int8_t> levels() const noexcept { return table_.levels(); }
  std::uint32_t gain_q16() const noexcept { return table_.gain_q16(); }

  void encode(std::span<const std::int32_t> w, std::span<std::uint8_t> codes) const noexcept {
    detail::scalar_encode(table_, w, codes);
  }
  void decode(std::span<const std::uint8_t> codes, std::span<std::int8_t> out) const noexcept {
    detail::scalar_decode(table_, codes, out);
  }

 protected:
  const LevelTable& table() const noexcept { return table_; }

 private:
  LevelTable table_;
};

}  // namespace tightkv::inline TIGHTKV_ABI
