// codebook/any.hpp: one of the codebooks, chosen at run time.
#pragma once

#include "grid.hpp"
#include "lloyd_max.hpp"
#include "table.hpp"
#include "trellis.hpp"

namespace tightkv::inline TIGHTKV_ABI {

/// Models Codebook over a LevelTable and the rule that goes with its kind.
class AnyCodebook {
 public:
  static constexpr CodebookKind kind = CodebookKind::table;  // which() is the run-time answer

  template <class C>
  requires(!std::same_as<C, AnyCodebook> && Codebook<C>) explicit(false) AnyCodebook(const C& c)
      : table_(c.bits(), c.gain_q16(), c.levels()), which_(C::kind) {}

  /// lloyd_max, uniform and grid of 1 to 8 bits, trellis of 2 to 5. A Table is handed over by the
  /// constructor.
  static Status try_make(CodebookKind which, std::size_t dim, unsigned bits, AnyCodebook& out) {
    const bool trellis = which == CodebookKind::trellis;
    if (bits < (trellis ? 2u : 1u) || bits > (trellis ? 5u : 8u))
      return Status::failure(ErrorCode::unsupported, "codebook has ", bits, " bits; it must have ",
                             trellis ? "2 to 5" : "1 to 8");
    const auto from = [&](const builtin::Table& t) { return LevelTable(bits, t.gain_q16, t.levels); };
    switch (which) {
      case CodebookKind::lloyd_max:
        out.table_ = from(builtin::lloyd_max(dim, bits));
        break;
      case CodebookKind::trellis:
        out.table_ = from(builtin::trellis8(bits));
        break;
      case CodebookKind::uniform:
        out.table_ = detail::uniform_levels(bits, detail::uniform_gain_q16(bits));
        break;
      case CodebookKind::grid:
        out.table_ = detail::uniform_levels(bits, detail::grid_gain_q16);
        break;
      default:
        return Status::failure(ErrorCode::unsupported, "codebook ", static_cast<unsigned>(which),
                               " cannot be made by name; lloyd_max, uniform, grid and trellis can");
    }
    out.which_ = which;
    return {};
  }

  CodebookKind which() const noexcept { return which_; }
  unsigned bits() const noexcept { return table_.bits(); }
  std::span<const std::int8_t> levels() const noexcept { return table_.levels(); }
  std::uint32_t gain_q16() const noexcept { return table_.gain_q16(); }
  std::uint64_t hash() const noexcept { return table_.hash(which_); }

  void encode(std::span<const std::int32_t> w, std::span<std::uint8_t> codes) const noexcept {
    switch (which_) {
      case CodebookKind::trellis:
        return detail::trellis_encode(table_, w, codes);
      case CodebookKind::grid:
        return detail::grid_encode(table_, w, codes);
      default:
        return detail::scalar_encode(table_, w, codes);
    }
  }
  void decode(std::span<const std::uint8_t> codes, std::span<std::int8_t> out) const noexcept {
    if (which_ == CodebookKind::trellis)
      detail::trellis_decode(table_, codes, out);
    else
      detail::scalar_decode(table_, codes, out);
  }

 private:
  LevelTable table_;
  CodebookKind which_;
};

static_assert(Codebook<AnyCodebook>);

}  // namespace tightkv::inline TIGHTKV_ABI
