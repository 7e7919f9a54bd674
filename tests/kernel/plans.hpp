// kernel/plans.hpp: what the integer kernels are tested with: every decode and width, and random packed
// bytes.
#pragma once

#include <tightkv/kernel/dispatch.hpp>
#if defined(TIGHTKV_HAVE_XSIMD)
#include <tightkv/kernel/xsimd.hpp>
#endif

#include <algorithm>
#include <string>
#include <vector>

#include "support/vectors.hpp"

namespace tightkv_test {

using namespace tightkv;
using kernel::Decode;
using kernel::LevelPlan;

inline constexpr std::size_t kernel_dims[] = {16, 32, 48, 64, 80, 96, 112, 128, 192, 256, 576};

struct Width {
  Decode decode;
  unsigned bits;
};
inline constexpr Width widths[] = {{Decode::table, 1},   {Decode::table, 2},   {Decode::table, 3},
                                   {Decode::table, 4},   {Decode::table, 5},   {Decode::table, 6},
                                   {Decode::table, 7},   {Decode::table, 8},   {Decode::trellis, 2},
                                   {Decode::trellis, 3}, {Decode::trellis, 4}, {Decode::trellis, 5},
                                   {Decode::identity, 8}};

inline std::string name_of(const Width& w) {
  const char* const decode = w.decode == Decode::table     ? "table"
                             : w.decode == Decode::trellis ? "trellis"
                                                           : "identity";
  return decode + (" " + std::to_string(w.bits));
}

/// Random levels in [-127, 127], the largest and the smallest among them.
inline LevelPlan random_plan(const Width& width, std::size_t dim, Rng& rng) {
  if (width.decode == Decode::identity) return LevelPlan(Decode::identity, 8, dim, {}, 127);
  std::vector<std::int8_t> levels(std::size_t{1} << (width.bits + (width.decode == Decode::trellis)));
  for (std::int8_t& level : levels) level = static_cast<std::int8_t>(static_cast<int>(rng.below(255)) - 127);
  levels[rng.below(levels.size() / 2)] = 127, levels[levels.size() / 2 + rng.below(levels.size() / 2)] = -127;
  return LevelPlan(width.decode, width.bits, dim, levels);
}

/// Every level is `level`, whatever the code.
inline LevelPlan constant_plan(const Width& width, std::size_t dim, std::int8_t level) {
  const std::vector<std::int8_t> levels(256, level);
  return LevelPlan(width.decode, width.bits, dim, levels, 127);
}

/// Any bytes are packed codes, but for one: a grid of 8 bits has 255 levels.
template <class Bytes>
void fill_codes(Bytes&& bytes, const Width& width, Rng& rng) {
  for (std::byte& b : bytes) {
    b = static_cast<std::byte>(rng.bits());
    if (width.decode == Decode::identity && b == std::byte{255}) b = std::byte{254};
  }
}

/// The tables that this CPU runs, but for the definition itself.
inline std::vector<const kernel::Kernels*> tables_under_test() {
  std::vector<const kernel::Kernels*> tables;
  for (const kernel::Candidate& c : kernel::candidates())
    if (c.available && c.table != &kernel::on_scalar::table) tables.push_back(c.table);
  return tables;
}

}  // namespace tightkv_test
