// codebook/grid.hpp: equally spaced levels stretched to each vector's largest coordinate: keys of 6 to 8
// bits.
#pragma once

#include "uniform.hpp"

namespace tightkv::inline TIGHTKV_ABI {

namespace detail {

inline constexpr std::uint32_t grid_gain_q16 =
    32u << 16;  ///< only sets the resolution of w; the stretch replaces it

/// Codes of w on the table's grid after w is stretched so that its largest coordinate meets the largest
/// level. Scale search has nothing to choose here: every stretch of w gives the same codes.
inline void grid_encode(const LevelTable& table, std::span<const std::int32_t> w,
                        std::span<std::uint8_t> codes) noexcept {
  std::int64_t largest = 1;
  for (const std::int32_t v : w) largest = (std::max<std::int64_t>)(largest, v < 0 ? -std::int64_t{v} : v);
  const std::int64_t factor = (std::int64_t{table.levels().back()} << 32) / largest;  // level units, 2^-32
  for (std::size_t i = 0; i < w.size(); ++i)
    codes[i] = static_cast<std::uint8_t>(
        table.nearest(static_cast<std::int32_t>(fixed::shift_round(w[i] * factor, 24))));
}

}  // namespace detail

/// Near Lloyd-Max at 8 bits (V within 5 %), and the codes are the levels, so a score needs no table.
template <unsigned Bits>
class Grid : public ScalarCodebook {
  static_assert(Bits >= 1 && Bits <= 8, "tightkv: Grid<Bits> needs 1 to 8 bits per value");

 public:
  static constexpr CodebookKind kind = CodebookKind::grid;

  explicit Grid(std::size_t /*dim*/) noexcept
      : ScalarCodebook(detail::uniform_levels(Bits, detail::grid_gain_q16)) {}

  void encode(std::span<const std::int32_t> w, std::span<std::uint8_t> codes) const noexcept {
    detail::grid_encode(table(), w, codes);
  }
  std::uint64_t hash() const noexcept { return table().hash(kind); }
};

static_assert(Codebook<Grid<8>>);

}  // namespace tightkv::inline TIGHTKV_ABI
