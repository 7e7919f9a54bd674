// codebook/uniform.hpp: equally spaced levels with the step that is best for a Gaussian coordinate.
#pragma once

#include "level_table.hpp"

namespace tightkv::inline TIGHTKV_ABI {

namespace detail {

/// Equally spaced levels, symmetric, as wide as int8 allows: 2^bits of them, or at 8 bits the 255 from -127
/// to 127.
inline LevelTable uniform_levels(unsigned bits, std::uint32_t gain_q16) noexcept {
  std::array<std::int8_t, 256> levels{};
  const int count = bits == 8 ? 255 : 1 << bits, step = bits == 8 ? 1 : 127 / (count - 1),
            spacing = bits == 8 ? 1 : 2 * step;
  for (int i = 0; i < count; ++i)
    levels[static_cast<std::size_t>(i)] = static_cast<std::int8_t>(i * spacing - (count - 1) * spacing / 2);
  return LevelTable(bits, gain_q16, std::span(levels).first(static_cast<std::size_t>(count)));
}

/// Level units per z unit for the optimal uniform quantizer of N(0, 1) (Max 1960): level spacing / step.
constexpr std::uint32_t uniform_gain_q16(unsigned bits) noexcept {
  constexpr std::array<std::uint32_t, 9> step_e4 = {0, 15958, 9957, 5860, 3352, 1881, 1041, 569, 308};
  const std::uint32_t spacing = bits == 8 ? 1u : 2u * (127u / ((1u << bits) - 1u));
  return static_cast<std::uint32_t>((std::uint64_t{spacing} << 16) * 10000u / step_e4[bits]);
}

}  // namespace detail

/// One step for all vectors. With scale search this is extended RaBitQ's grid (arXiv 2409.09913).
template <unsigned Bits>
class Uniform : public ScalarCodebook {
  static_assert(Bits >= 1 && Bits <= 8, "tightkv: Uniform<Bits> needs 1 to 8 bits per value");

 public:
  static constexpr CodebookKind kind = CodebookKind::uniform;

  explicit Uniform(std::size_t /*dim*/) noexcept
      : ScalarCodebook(detail::uniform_levels(Bits, detail::uniform_gain_q16(Bits))) {}
  std::uint64_t hash() const noexcept { return table().hash(kind); }
};

static_assert(Codebook<Uniform<4>>);

}  // namespace tightkv::inline TIGHTKV_ABI
