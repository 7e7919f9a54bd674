// compressor/kv_compressor.hpp: one layer of one sequence: append, commit, attend, truncate on packed keys
// and values.
#pragma once

#include <array>
#include <limits>
#include <string>

#include "../attention/attend.hpp"
#include "../core/describe.hpp"
#include "head_store.hpp"

namespace tightkv::inline TIGHTKV_ABI {

/// The keys and values of one layer of one sequence, packed by K and V independently.
///
/// Tokens are appended (tentative, raw), attended, then committed. A commit moves the oldest 64 raw tokens
/// into a block as often as at least window + 64 committed ones wait; the first `sinks` tokens stay raw for
/// good. A query at position p reads as packed exactly the blocks that token-by-token commits would have made
/// by p, and everything later raw, so cutting appends differently changes no byte and no view. Tentative
/// tokens are truncated exactly.
///
/// try_x returns a Status and leaves the object as it was on failure; x throws Error. const members are
/// reentrant with a Workspace a thread. One writer.
template <class K, class V, PageSource Source = HeapPages>
class KVCompressor {
  static_assert(KeyCodec<K>, "tightkv: KVCompressor<K, V>: K does not model tightkv::KeyCodec");
  static_assert(ValueCodec<V> || std::same_as<V, SharedValue>,
                "tightkv: KVCompressor<K, V>: V is no value codec. A sketch (QJL, TurboQuant) keeps inner "
                "products, not vectors: "
                "take PolarQuant, GroupQuant, Q8 or Raw for values");
  static_assert(!std::same_as<V, SharedValue> || ValueCodec<K>,
                "tightkv: KVCompressor<K, SharedValue>: K must be a value codec too, for example "
                "Split<PolarQuant<...>>");

 public:
  KVCompressor(K key, V value, const CompressorOptions& options, Source* source = default_source())
      : key_(std::move(key)), value_(std::move(value)), options_(options), source_(source) {
    const bool shared = is_shared(value_);
    if (shared) options_.value_conditioner = ConditionerKind::none;
    key_dims_ = key_.dim();
    if constexpr (requires { key_.coded_dim(); }) key_dims_ = key_.coded_dim();
    value_dims_ = key_dims_;
    if constexpr (!std::same_as<V, SharedValue>)
      if (!shared) value_dims_ = value_.dim();
    where_ = BlockLayout::make(key_.shape(), shared ? RecordShape{} : value_shape(),
                               options_.key_conditioner == ConditionerKind::block_mean ? key_dims_ : 0,
                               options_.value_conditioner == ConditionerKind::block_mean ? value_dims_ : 0);
    for (std::size_t h = 0; h < options_.kv_heads; ++h)
      heads_.emplace_back(key_.dim(), shared ? 0 : value_dims_, options_.tail);
  }

  // --- shape
  std::size_t size() const noexcept { return size_; }            ///< tokens, tentative ones included
  std::size_t committed() const noexcept { return committed_; }  ///< the first tokens that are permanent
  std::size_t kv_heads() const noexcept { return options_.kv_heads; }
  std::size_t key_dim() const noexcept { return key_.dim(); }
  std::size_t value_dim() const noexcept { return value_dims_; }
  const K& key_codec() const noexcept { return key_; }
  const V& value_codec() const noexcept { return value_; }
  const BlockLayout& block_layout() const noexcept { return where_; }
  std::size_t blocks() const noexcept { return blocks_.size(); }
  /// The bytes of block b of head h, as docs/format.md describes them.
  std::span<const std::byte> block(std::size_t h, std::size_t b) const noexcept {
    return {heads_[h].blocks[b].data(), where_.bytes};
  }
  const Condition& key_condition(std::size_t h) const noexcept { return heads_[h].key_condition; }

  Format format() const noexcept {
    Format f;
    f.key = key_.format();
    f.key.conditioner = options_.key_conditioner;
    f.shared = is_shared(value_);
    if constexpr (!std::same_as<V, SharedValue>)
      if (!f.shared) f.value = value_.format();
    if (f.shared) f.value = f.key;
    f.value.conditioner = options_.value_conditioner;
    f.key_dim = static_cast<std::uint16_t>(key_dim());
    f.value_dim = static_cast<std::uint16_t>(value_dim());
    f.sinks = options_.sinks, f.window = options_.window, f.tail = options_.tail;
    return f;
  }

  // --- writing
  /// k: (tokens, kv_heads, key_dim), v: (tokens, kv_heads, value_dim) (ignored for SharedValue). q, optional:
  /// (tokens, q_heads, key_dim) of the same tokens after RoPE, read only by the `balanced` conditioner during
  /// its first block. Errors: shapes; NaN or infinity; a value that the tail's element type cannot hold; no
  /// page left.
  Status try_append(const TensorView& k, const TensorView& v, const TensorView& q = {});

  /// Makes the first `tokens` tentative tokens permanent, and packs the blocks that are due.
  Status try_commit(std::size_t tokens);
  Status try_commit() { return try_commit(size_ - committed_); }

  /// Keeps the first n tokens. Exact for tentative tokens; inside a packed block, the block's later tokens
  /// are dropped.
  Status try_truncate(std::size_t n);

  /// Forgets all tokens and what was calibrated from them; conditions that were set stay.
  void clear() noexcept;

  /// Sets what is frozen for a head (from a calibration file) instead of learning it; before the first block
  /// only.
  Status try_set_condition(std::size_t head, Condition key, Condition value);

  // --- reading
  /// Attention of q: (tokens, q_heads, key_dim), the queries of the last q.tokens positions (or
  /// params.positions); q_heads a multiple of kv_heads, query head h reads kv head h / (q_heads / kv_heads).
  /// out: (tokens, q_heads, value_dim), dense. A query that sees nothing gets zeros.
  Status try_attend(const TensorView& q, float* out, AttendParams params, Workspace& workspace) const;

  /// True logits q.k of one query (key_dim) against all size() tokens as they are stored now.
  Status try_score(std::size_t head, std::span<const float> q, std::span<float> logits, Workspace& workspace,
                   Arithmetic arithmetic = Arithmetic::integer) const;

  /// sum_t weights[t] v_t over all size() tokens (weights not negative) into out (value_dim).
  Status try_accumulate(std::size_t head, std::span<const float> weights, std::span<float> out,
                        Workspace& workspace, Arithmetic arithmetic = Arithmetic::integer) const;

  /// The stored key or value at a position, decoded: raw where it is raw, mean and channel scale undone.
  Status try_decode_key(std::size_t head, std::size_t position, std::span<float> out,
                        Workspace& workspace) const;
  Status try_decode_value(std::size_t head, std::size_t position, std::span<float> out,
                          Workspace& workspace) const;

  CacheBytes bytes() const noexcept;

  /// A few lines for a person: the layout, the real bytes by part, and a warning where keys are a constant
  /// plus a little and no mean is taken off.
  std::string report() const;

#if TIGHTKV_HAS_EXCEPTIONS
  void append(const TensorView& k, const TensorView& v, const TensorView& q = {}) {
    throw_if_failed(try_append(k, v, q));
  }
  void commit() { throw_if_failed(try_commit()); }
  void commit(std::size_t tokens) { throw_if_failed(try_commit(tokens)); }
  void truncate(std::size_t n) { throw_if_failed(try_truncate(n)); }
  void attend(const TensorView& q, float* out, const AttendParams& params, Workspace& workspace) const {
    throw_if_failed(try_attend(q, out, params, workspace));
  }
#endif

 private:
  using Head = HeadStore<Source>;
  struct BlockPlace {
    std::size_t first = 0;  // position of its first token
    std::size_t count = 0;  // live tokens, 64 unless truncated
  };

  static Source* default_source() noexcept requires std::default_initializable<Source> {
    static Source source;
    return &source;
  }

  RecordShape value_shape() const noexcept {
    if constexpr (std::same_as<V, SharedValue>)
      return {};
    else
      return value_.shape();
  }

  /// Calls f with the codec that reads values: V, or K where the store is shared.
  template <class F>
  void with_value_codec(F&& f) const {
    if constexpr (std::same_as<V, SharedValue>) {
      f(key_);
    } else {
      if constexpr (ValueCodec<K>)
        if (is_shared(value_)) return f(key_);
      f(value_);
    }
  }

  const HalfVector& frozen_value_mean(const Head& head) const noexcept {
    return is_shared(value_) ? head.key_condition.mean : head.value_condition.mean;
  }

  /// Blocks after the flushed ones that a query at position p reads as packed.
  std::size_t due_blocks(std::ptrdiff_t p) const noexcept {
    const std::ptrdiff_t waiting = p - static_cast<std::ptrdiff_t>(tail_first_ + options_.window);
    return waiting < static_cast<std::ptrdiff_t>(layout::block_tokens)
               ? 0
               : static_cast<std::size_t>(waiting) / layout::block_tokens;
  }

  /// The same, of those that exist: a query past the end reads the rest raw.
  std::size_t packed_blocks(std::ptrdiff_t p) const noexcept {
    return (std::min)(due_blocks(p), blocks_.size() - flushed_);
  }

  /// What rows to be stored meet on their way: the tail's type, and from dim raw_from on a codec that keeps
  /// values as they came.
  struct RawPart {
    std::size_t raw_from = 0;
    ElementType element = ElementType::f32;
  };
  template <class C>
  static RawPart raw_part(const C& codec) noexcept {
    const CodecFormat f = codec.format();
    return {f.kind == CodecKind::raw ? 0 : codec.dim() - f.raw_dims, f.element};
  }

  Status check_rows(const TensorView& t, std::size_t heads, std::size_t dim, std::size_t tokens,
                    const char* what, const RawPart* stored = nullptr) const;
  Status try_reserve(std::size_t tokens, std::size_t q_heads) noexcept;
  Status try_encode_blocks(std::size_t total);
  Status encode_blocks(std::size_t total);
  void push_rows(const TensorView& k, const TensorView& v, const TensorView& q);
  void drop_blocks(std::size_t count) noexcept;
  OpenBlock open_block(const Head& head, std::size_t b, Workspace& workspace) const;
  PackedBlock packed_block(const kernel::Kernels& on, const Head& head, std::size_t b,
                           Workspace& workspace) const;
  void prepare_query(const Head& head, std::span<const float> q, QueryState& state,
                     Workspace& workspace) const;
  RowsView value_rows(const RawRows& keys, const RawRows& values, std::size_t first,
                      std::size_t count) const noexcept;
  template <class OnBlock, class OnRaw>
  void walk(const Head& head, std::size_t blocks, std::size_t raw_end, OnBlock&& on_block,
            OnRaw&& on_raw) const;

  K key_;
  V value_;
  CompressorOptions options_;
  Source* source_;
  BlockLayout where_;
  std::size_t key_dims_ = 0, value_dims_ = 0;  // dims under a conditioner; dims of an output
  Buffer<Head> heads_;
  Buffer<BlockPlace> blocks_;  // the same for all heads
  std::size_t size_ = 0, committed_ = 0;
  std::size_t flushed_ = 0;  // blocks whose raw rows are gone; later ones wait for their commit
  std::size_t tail_first_ = options_.sinks;  // position of the first tail row
  bool calibrated_ = false;
  std::array<std::size_t, layout::block_tokens> queries_at_{};  // rows of first_queries by token
};

/// MLA: a latent stored once, read as key (all dims) and as value (its coded dims).
template <class L, PageSource Source = HeapPages>
using SharedKV = KVCompressor<L, SharedValue, Source>;

}  // namespace tightkv::inline TIGHTKV_ABI

#include "kv_compressor_read.hpp"
#include "kv_compressor_write.hpp"
