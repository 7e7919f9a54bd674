// A cache in use, for programs that must link and run: filled, packed, attended.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <tightkv/tightkv.hpp>

/// Packs 192 fixed tokens by a preset and attends to them. Folds the packed bytes into one number; 0 if the
/// output is not near the values, which are all close to 1. It is `static`: two units of one program may have
/// different flags.
static std::uint64_t packed_cache(const char* preset) {
  constexpr std::size_t tokens = 192, heads = 2, dim = 64;
  static std::array<float, tokens * heads * dim> keys, values;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    keys[i] = static_cast<float>(i * 2654435761u % 1021) / 512.0f - 1.0f;
    values[i] = 1.0f + static_cast<float>(i * 40503u % 257) / 4096.0f;
  }
  tightkv::AnyCompressor cache(tightkv::preset(preset, dim, dim), heads, 42);
  tightkv::Workspace workspace;
  cache.append(tightkv::contiguous(keys.data(), tokens, heads, dim),
               tightkv::contiguous(values.data(), tokens, heads, dim));
  cache.commit();
  std::array<float, 2 * heads * dim> query, out;
  query.fill(0.125f);
  cache.attend(tightkv::contiguous(query.data(), 1, 2 * heads, dim), out.data(), {}, workspace);
  for (const float x : out)
    if (!(std::fabs(x - 1.0f) < 0.25f)) return 0;
  std::uint64_t all = cache.blocks();
  for (std::size_t head = 0; head < heads; ++head)
    for (std::size_t b = 0; b < cache.blocks(); ++b)
      for (const std::byte byte : cache.block(head, b))
        all = all * 0x100000001b3 + static_cast<std::uint64_t>(byte);
  return all;
}
