// kernel/plan.hpp: what a kernel needs to know of a codec: how packed codes become int8 levels.
#pragma once

#include <array>

#include "../core/record.hpp"

namespace tightkv::inline TIGHTKV_ABI::kernel {

/// table: level[code]. trellis: level[index], the index from this and earlier codes. identity: code - offset
/// (8 bits).
enum class Decode : std::uint8_t { table, trellis, identity };

/// Made once for a codec. The tables repeat their entries up to 256, so that a look-up may ignore index bits
/// above them.
struct LevelPlan {
  std::array<std::int8_t, 256> level{};
  std::array<std::uint8_t, 256> level_plus_128{};  ///< for dot products whose first side is unsigned
  Decode decode = Decode::table;
  unsigned bits = 0;    ///< of a code
  std::size_t dim = 0;  ///< padded
  int offset = 0;       ///< identity only

  LevelPlan() = default;
  LevelPlan(Decode how, unsigned code_bits, std::size_t padded_dim, std::span<const std::int8_t> levels,
            int identity_offset = 0) noexcept
      : decode(how), bits(code_bits), dim(padded_dim), offset(identity_offset) {
    for (std::size_t i = 0; i < level.size() && !levels.empty(); ++i) {
      level[i] = levels[i % levels.size()];
      level_plus_128[i] = static_cast<std::uint8_t>(level[i] + 128);
    }
  }
};

/// The plan of a codebook: levels that are code - offset need no table.
template <class Codebook>
LevelPlan plan_of(const Codebook& codebook, std::size_t padded_dim) noexcept {
  CodebookKind kind = Codebook::kind;
  if constexpr (requires { codebook.which(); }) kind = codebook.which();
  const auto levels = codebook.levels();
  if (kind == CodebookKind::trellis) return LevelPlan(Decode::trellis, codebook.bits(), padded_dim, levels);
  const bool steps_of_one =
      codebook.bits() == 8 && levels.back() - levels.front() + 1 == static_cast<int>(levels.size());
  return LevelPlan(steps_of_one ? Decode::identity : Decode::table, codebook.bits(), padded_dim, levels,
                   -levels.front());
}

/// Signs as levels: what makes a sign plane a 1-bit code.
inline LevelPlan sign_plan(std::size_t rows) noexcept {
  constexpr std::array<std::int8_t, 2> signs = {-1, 1};
  return LevelPlan(Decode::table, 1, rows, signs);
}

/// An 8-bit query for a kernel, and the sum of its values over the dims asked for.
struct QueryCode {
  const std::int8_t* values = nullptr;
  std::int32_t sum = 0;
};

/// Rounded weights of one query for the 64 tokens of a block: w[t] = unit * (256 high[t] + low[t]).
struct WeightCode {
  const std::uint8_t *high = nullptr, *low = nullptr;  // (64)
  float unit = 0;
  float* sum = nullptr;  // (padded dim), added to
};

}  // namespace tightkv::inline TIGHTKV_ABI::kernel
