// compressor/any_compressor.hpp: a KVCompressor whose codecs come from a run-time Format.
#pragma once

#include "any_codec.hpp"
#include "kv_compressor.hpp"

namespace tightkv::inline TIGHTKV_ABI {

/// The untyped face: the same code and the same bytes as KVCompressor<K, V> with the types that the Format
/// names.
class AnyCompressor : public KVCompressor<AnyKeyCodec, AnyValueCodec> {
  using Base = KVCompressor<AnyKeyCodec, AnyValueCodec>;

 public:
  /// `seed` decides rotations and sketches: one per layer. Equal Format, seed and tokens give equal bytes.
  static Status try_make(const Format& format, std::size_t kv_heads, std::uint64_t seed,
                         std::optional<AnyCompressor>& out) {
    TIGHTKV_TRY(validate(format));
    if (kv_heads == 0 || kv_heads > 65536)
      return Status::failure(ErrorCode::invalid_argument, "kv_heads is ", kv_heads,
                             "; it must be 1 to 65536");
    std::optional<AnyKeyCodec> key;
    std::optional<AnyValueCodec> value;
    TIGHTKV_TRY(try_make_codec(format.key, format.key_dim, seed, key));
    if (format.shared) {
      if (!key->can_be_shared() || format.value_dim != key->coded_dim() ||
          format.key.conditioner == ConditionerKind::balanced)
        return Status::failure(ErrorCode::unsupported,
                               "shared values need a key codec that keeps vectors, value_dim ",
                               key->coded_dim(), " (it is ", format.value_dim, ") and no channel scale");
      value.emplace(SharedValue{});
    } else {
      TIGHTKV_TRY(try_make_codec(format.value, format.value_dim, value_seed(seed), value));
    }
    CompressorOptions options;
    options.kv_heads = kv_heads;
    options.sinks = format.sinks, options.window = format.window, options.tail = format.tail;
    options.key_conditioner = format.key.conditioner, options.value_conditioner = format.value.conditioner;
    out.emplace(AnyCompressor(std::move(*key), std::move(*value), options));
    return {};
  }

#if TIGHTKV_HAS_EXCEPTIONS
  AnyCompressor(const Format& format, std::size_t kv_heads, std::uint64_t seed)
      : AnyCompressor(make(format, kv_heads, seed)) {}
#endif

  /// Values get randomness of their own, so that errors of K and V of one token are independent.
  static constexpr std::uint64_t value_seed(std::uint64_t seed) noexcept { return seed ^ 0x76616c7565u; }

 private:
  AnyCompressor(AnyKeyCodec key, AnyValueCodec value, const CompressorOptions& options)
      : Base(std::move(key), std::move(value), options) {}

#if TIGHTKV_HAS_EXCEPTIONS
  static AnyCompressor make(const Format& format, std::size_t kv_heads, std::uint64_t seed) {
    std::optional<AnyCompressor> made;
    throw_if_failed(try_make(format, kv_heads, seed, made));
    return std::move(*made);
  }
#endif
};

}  // namespace tightkv::inline TIGHTKV_ABI
