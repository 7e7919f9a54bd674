// codebook/hash.hpp: the identity of a level table, as codebooks/*.json and the written format carry it.
#pragma once

#include <cstdint>
#include <span>

#include "../version.hpp"

namespace tightkv::inline TIGHTKV_ABI {

/// What the levels belong to, as written in a codebook file and its hash.
enum class TableKind : std::uint8_t { lloyd_max = 0, trellis8 = 1 };

/// FNV-1a 64 over kind, bits, dim (u32), gain_q16 (u32), int8 levels; integers little-endian. Equal hashes
/// mean that equal codes decode to equal values.
constexpr std::uint64_t codebook_hash(TableKind kind, unsigned bits, std::uint32_t dim,
                                      std::uint32_t gain_q16, std::span<const std::int8_t> levels) noexcept {
  std::uint64_t hash = 0xcbf29ce484222325;
  const auto add = [&hash](std::uint32_t value, unsigned bytes) {
    for (unsigned i = 0; i < bytes; ++i) hash = (hash ^ ((value >> (8 * i)) & 0xff)) * 0x100000001b3;
  };
  add(static_cast<std::uint32_t>(kind), 1);
  add(bits, 1);
  add(dim, 4);
  add(gain_q16, 4);
  for (const std::int8_t level : levels) add(static_cast<std::uint8_t>(level), 1);
  return hash;
}

}  // namespace tightkv::inline TIGHTKV_ABI
