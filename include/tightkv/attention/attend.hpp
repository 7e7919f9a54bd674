// attention/attend.hpp: what one segment of the history, packed or raw, adds to the queries that see it.
#pragma once

#include "../kernel/dispatch.hpp"
#include "../quantizer/raw.hpp"
#include "workspace.hpp"

namespace tightkv::inline TIGHTKV_ABI {

/// Tokens as a query sees them: positions first .. first + count - 1.
struct Segment {
  std::ptrdiff_t first = 0;
  std::size_t count = 0;
};

namespace detail {

/// Scales, caps and hides the logits of one query at position `at`. Causal: a query sees positions up to its
/// own.
inline void finish_logits(const kernel::Kernels& on, std::span<float> logits, const Segment& segment,
                          std::ptrdiff_t at, const AttendParams& params) noexcept {
  on.affine(logits.data(), logits.size(), params.scale, 0.0f);
  if (params.soft_cap > 0)
    for (float& logit : logits) logit = soft_cap(logit, params.soft_cap);
  const std::ptrdiff_t last = segment.first + static_cast<std::ptrdiff_t>(logits.size()) - 1;
  const bool in_window =
      params.window == 0 || at - segment.first < static_cast<std::ptrdiff_t>(params.window);
  if (last <= at && in_window && params.mask.empty()) return;  // all of it is seen
  for (std::size_t t = 0; t < logits.size(); ++t) {
    const std::ptrdiff_t position = segment.first + static_cast<std::ptrdiff_t>(t);
    const bool reached = params.window == 0 || at - position < static_cast<std::ptrdiff_t>(params.window);
    const bool shown = params.mask.empty() || params.mask[static_cast<std::size_t>(position)] != 0;
    if (position > at || !reached || !shown) logits[t] = kernel::hidden_logit;
  }
}

inline void multiply(std::span<float> values, float factor) noexcept {
  if (factor == 1.0f) return;
  for (float& v : values) v *= factor;
}

/// Adds the logits of a segment to the softmax of one query and brings its sums up to date.
inline void add_logits(QueryState& state, std::span<float> logits) noexcept {
  const float owed = state.softmax.add(logits);
  multiply(state.packed, owed);
  multiply(state.raw, owed);
}

}  // namespace detail

/// Queries of one head that look at the same segment: up to max_queries states and their positions.
struct QueryBatch {
  QueryState* state[kernel::max_queries];
  std::ptrdiff_t at[kernel::max_queries];
  std::size_t count = 0;
};

namespace detail {

/// Logits (batch, 64) of a segment into weights: scaled, capped, hidden, through each query's softmax; its
/// sums follow.
inline void logits_to_weights(const kernel::Kernels& on, QueryBatch& batch, float* logits,
                              const Segment& segment, const AttendParams& params) noexcept {
  for (std::size_t k = 0; k < batch.count; ++k) {
    float* const row = logits + k * layout::block_tokens;
    finish_logits(on, {row, segment.count}, segment, batch.at[k], params);
    std::fill(row + segment.count, row + layout::block_tokens, kernel::hidden_logit);
    QueryState& state = *batch.state[k];
    const float owed = on.softmax(row, state.softmax.maximum, state.softmax.mass);
    if (owed == 1.0f) continue;
    on.multiply(state.packed.data(), state.packed.size(), owed);
    on.multiply(state.raw.data(), state.raw.size(), owed);
  }
}

}  // namespace detail

/// Raw rows (sinks or tail) against a batch.
inline void attend_raw(const kernel::Kernels& on, QueryBatch& batch, const RowsView& keys,
                       const RowsView& values, const Segment& segment, const AttendParams& params) noexcept {
  float logits[kernel::max_queries * layout::block_tokens];
  const float* queries[kernel::max_queries];
  float* sums[kernel::max_queries];
  for (std::size_t k = 0; k < batch.count; ++k)
    queries[k] = batch.state[k]->query.data(), sums[k] = batch.state[k]->raw.data();
  on.dot_rows(keys.data, keys.stride, keys.type, segment.count, keys.dim, queries, batch.count, logits);
  detail::logits_to_weights(on, batch, logits, segment, params);
  on.add_rows(values.data, values.stride, values.type, segment.count, values.dim, logits, batch.count, sums);
}

/// A block as it lies in memory, its scales widened: what the integer kernels read.
struct PackedBlock {
  PackedKeys keys;
  PackedValues values;
  const std::byte *key_mean = nullptr, *value_mean = nullptr;  // halfs in the block's header, or nullptr
  std::size_t key_mean_dims = 0, value_mean_dims = 0;
  int key_mean_exponent = 0, value_mean_exponent = 0;
};

/// Logits (batch, 64) <q, k^>, unscaled and whole: codes, frozen mean and block mean.
template <KeyCodec K>
void score_packed(const kernel::Kernels& on, const K& codec, const QueryBatch& batch,
                  const PackedBlock& block, float* logits) noexcept {
  const PreparedQuery* prepared[kernel::max_queries];
  const float* queries[kernel::max_queries];
  float mean[kernel::max_queries * layout::block_tokens];
  for (std::size_t k = 0; k < batch.count; ++k)
    prepared[k] = &batch.state[k]->prepared, queries[k] = batch.state[k]->query.data();
  detail::with_concrete(codec, [&](const auto& concrete) {
    concrete.score_block(on, prepared, batch.count, block.keys, logits);
  });
  if (block.key_mean)
    on.dot_rows(block.key_mean, 0, ElementType::f16, 1, block.key_mean_dims, queries, batch.count, mean);
  for (std::size_t k = 0; k < batch.count; ++k) {
    float constant = batch.state[k]->mean_score;
    if (block.key_mean) constant += fixed::scale_by(mean[k * layout::block_tokens], block.key_mean_exponent);
    if (constant != 0) on.affine(logits + k * layout::block_tokens, layout::block_tokens, 1.0f, constant);
  }
}

/// Adds the weighted values of a block (weights (batch, 64)): codes into `packed`, means into `raw`.
template <ValueCodec V>
void accumulate_packed(const kernel::Kernels& on, const V& codec, QueryBatch& batch, const PackedBlock& block,
                       const HalfVector& frozen_mean, const float* weights) noexcept {
  float *packed[kernel::max_queries], *raw[kernel::max_queries];
  for (std::size_t k = 0; k < batch.count; ++k)
    packed[k] = batch.state[k]->packed.data(), raw[k] = batch.state[k]->raw.data();
  detail::with_concrete(codec, [&](const auto& concrete) {
    concrete.accumulate_block(on, weights, batch.count, block.values, packed);
  });
  if (!block.value_mean && frozen_mean.values.empty()) return;
  for (std::size_t k = 0; k < batch.count; ++k) {
    float mass = 0;
    for (std::size_t t = 0; t < layout::block_tokens; ++t) mass += weights[k * layout::block_tokens + t];
    for (std::size_t i = 0; i < frozen_mean.values.size(); ++i) raw[k][i] += mass * frozen_mean.at(i);
    const float scaled = fixed::scale_by(mass, block.value_mean_exponent);
    if (block.value_mean)
      on.add_rows(block.value_mean, 0, ElementType::f16, 1, block.value_mean_dims, &scaled, 1, raw + k);
  }
}

/// A packed block against a batch, in integers.
template <KeyCodec K, ValueCodec V>
void attend_packed(const kernel::Kernels& on, const K& key, const V& value, QueryBatch& batch,
                   const PackedBlock& block, const HalfVector& frozen_mean, const Segment& segment,
                   const AttendParams& params) noexcept {
  float logits[kernel::max_queries * layout::block_tokens];
  score_packed(on, key, batch, block, logits);
  detail::logits_to_weights(on, batch, logits, segment, params);
  accumulate_packed(on, value, batch, block, frozen_mean, logits);
}

/// What a block holds once its keys and values are unpacked: what exact arithmetic reads.
struct OpenBlock {
  const BlockScratch* keys = nullptr;
  const std::byte* key_raw = nullptr;
  BlockRows values;
  HalfVector key_mean, value_mean;  // of the block's header; empty unless block_mean
};

/// Logits <q, k^> of a block's first logits.size() tokens, unscaled and whole: codes, frozen mean and block
/// mean.
template <KeyCodec K>
void score_block(const K& codec, const QueryState& state, const OpenBlock& block, std::span<float> logits,
                 Arithmetic arithmetic) noexcept {
  const RecordShape shape = codec.shape();
  const float mean = state.mean_score + mean_score(state.query, block.key_mean);
  detail::with_concrete(codec, [&](const auto& concrete) {
    for (std::size_t t = 0; t < logits.size(); ++t)
      logits[t] =
          concrete.score(state.prepared, record_at(*block.keys, shape, block.key_raw, t), arithmetic) + mean;
  });
}

/// sum += sum_t weights[t] v^_t: codes into `packed` (the codec's domain), means into `raw`.
template <ValueCodec V>
void accumulate_block(const V& codec, const OpenBlock& block, const HalfVector& frozen_mean,
                      std::span<const float> weights, std::span<float> packed, std::span<float> raw,
                      Arithmetic arithmetic) noexcept {
  codec.accumulate(block.values, weights, packed, arithmetic);
  float mass = 0;
  for (const float w : weights) mass += w;
  for (const HalfVector* mean : {&frozen_mean, &block.value_mean})
    for (std::size_t i = 0; i < (std::min)(raw.size(), mean->values.size()); ++i)
      raw[i] += mass * mean->at(i);
}

/// A packed block against one query, in floats.
template <KeyCodec K, ValueCodec V>
void attend_block(const K& key, const V& value, QueryState& state, const OpenBlock& block,
                  const HalfVector& value_mean, const Segment& segment, std::ptrdiff_t at,
                  const AttendParams& params) noexcept {
  float logits[layout::block_tokens];
  const std::span<float> row(logits, segment.count);
  score_block(key, state, block, row, params.arithmetic);
  detail::finish_logits(kernel::on_scalar::table, row, segment, at, params);
  detail::add_logits(state, row);
  accumulate_block(value, block, value_mean, row, state.packed, state.raw, params.arithmetic);
}

/// The output of one query: both sums over the mass; zeros if it saw nothing.
template <ValueCodec V>
void finish_output(const V& codec, QueryState& state, float* out) noexcept {
  codec.unrotate(std::span(state.packed).first(state.raw.size()));
  const float inverse = state.softmax.mass > 0 ? 1.0f / state.softmax.mass : 0.0f;
  for (std::size_t i = 0; i < state.raw.size(); ++i) out[i] = (state.packed[i] + state.raw[i]) * inverse;
}

}  // namespace tightkv::inline TIGHTKV_ABI
