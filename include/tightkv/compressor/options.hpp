// compressor/options.hpp: what a KVCompressor is told, and what it says about its memory.
#pragma once

#include <string>

#include "../core/concepts.hpp"

namespace tightkv::inline TIGHTKV_ABI {

/// Everything of a Format that is not in the codec types.
struct CompressorOptions {
  std::size_t kv_heads = 1;
  std::uint32_t sinks = 4;              ///< first tokens kept raw
  std::uint32_t window = 64;            ///< latest committed tokens kept raw, and up to 63 more
  ElementType tail = ElementType::f16;  ///< element type of the raw rows: the engine's own
  ConditionerKind key_conditioner = ConditionerKind::none;
  ConditionerKind value_conditioner = ConditionerKind::none;  ///< not `balanced`
};

/// Bytes by part. `total()` is what the compressor holds; codes + scales alone are what a preset's name
/// promises.
struct CacheBytes {
  std::size_t codes = 0;  ///< codes, sign planes and raw values of blocks
  std::size_t scales = 0;
  std::size_t headers = 0;  ///< block headers, means, channel scales
  std::size_t sinks = 0;
  std::size_t tail = 0;
  std::size_t slack = 0;          ///< alignment inside blocks and unused room of sinks and tail
  std::size_t packed_tokens = 0;  ///< tokens per kv head in blocks: codes + scales are theirs

  std::size_t total() const noexcept { return codes + scales + headers + sinks + tail + slack; }
};

/// The V of a KVCompressor whose values are the coded dims of its keys: one store, read by both sides (MLA
/// latents).
struct SharedValue {
  friend constexpr bool operator==(SharedValue, SharedValue) = default;
};

template <class V>
constexpr bool is_shared(const V& value) noexcept {
  if constexpr (std::same_as<V, SharedValue>)
    return true;
  else if constexpr (requires {
                       { value.shared() } -> std::same_as<bool>;
                     })
    return value.shared();
  else
    return false;
}

}  // namespace tightkv::inline TIGHTKV_ABI
