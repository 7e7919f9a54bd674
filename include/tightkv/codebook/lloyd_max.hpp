// codebook/lloyd_max.hpp: the minimum-distortion scalar levels for one coordinate of a random unit vector.
#pragma once

#include "builtin.hpp"
#include "level_table.hpp"

namespace tightkv::inline TIGHTKV_ABI {

/// Levels of the exact sphere density where codebooks/ has the dim, of the Gaussian limit elsewhere
/// (distortion at most 0.8 % above the exact table at dim 64). From 7 bits on int8 levels are coarser than
/// the codes: prefer Grid.
template <unsigned Bits>
class LloydMax : public ScalarCodebook {
  static_assert(Bits >= 1 && Bits <= 8, "tightkv: LloydMax<Bits> needs 1 to 8 bits per value");

 public:
  static constexpr CodebookKind kind = CodebookKind::lloyd_max;

  explicit LloydMax(std::size_t dim) noexcept : LloydMax(builtin::lloyd_max(dim, Bits)) {}
  std::uint64_t hash() const noexcept { return table().hash(kind); }

 private:
  explicit LloydMax(const builtin::Table& t) noexcept
      : ScalarCodebook(LevelTable(Bits, t.gain_q16, t.levels)) {}
};

static_assert(Codebook<LloydMax<4>>);

}  // namespace tightkv::inline TIGHTKV_ABI
