// codebook/table.hpp: levels that come from outside: a codebook file, or a caller's own.
#pragma once

#include "level_table.hpp"

namespace tightkv::inline TIGHTKV_ABI {

class Table : public ScalarCodebook {
 public:
  static constexpr CodebookKind kind = CodebookKind::table;

  /// `levels`: 2^bits int8 values, ascending (repeats allowed), |level| <= 127. `gain_q16`: level units per z
  /// unit.
  static Status try_make(unsigned bits, std::uint32_t gain_q16, std::span<const std::int8_t> levels,
                         Table& out) {
    if (bits < 1 || bits > 8)
      return Status::failure(ErrorCode::invalid_argument, "table has ", bits, " bits; it must have 1 to 8");
    if (levels.size() != (std::size_t{1} << bits))
      return Status::failure(ErrorCode::invalid_argument, "table has ", levels.size(), " levels; ", bits,
                             " bits need ", std::size_t{1} << bits);
    if (gain_q16 < 0x10000u || gain_q16 > (256u << 16))
      return Status::failure(ErrorCode::invalid_argument, "table gain is ", gain_q16,
                             "; it must be 65536 to ", 256u << 16);
    for (std::size_t i = 0; i < levels.size(); ++i)
      if (levels[i] < -127 || (i > 0 && levels[i] < levels[i - 1]))
        return Status::failure(ErrorCode::invalid_argument, "table level ", i, " is ",
                               static_cast<int>(levels[i]), "; levels must ascend within -127 to 127");
    out = Table(LevelTable(bits, gain_q16, levels));
    return {};
  }

  Table() noexcept : ScalarCodebook(LevelTable()) {}
  std::uint64_t hash() const noexcept { return table().hash(kind); }

 private:
  explicit Table(const LevelTable& table) noexcept : ScalarCodebook(table) {}
};

static_assert(Codebook<Table>);

}  // namespace tightkv::inline TIGHTKV_ABI
