// attention/attend.hpp: what one segment of the history, packed or raw, adds to the queries that see it.
#pragma once

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
inline void finish_logits(std::span<float> logits, const Segment& segment, std::ptrdiff_t at,
                          const AttendParams& params) noexcept {
  for (std::size_t t = 0; t < logits.size(); ++t) {
    const std::ptrdiff_t position = segment.first + static_cast<std::ptrdiff_t>(t);
    const bool in_window = params.window == 0 || at - position < static_cast<std::ptrdiff_t>(params.window);
    const bool shown = params.mask.empty() || params.mask[static_cast<std::size_t>(position)] != 0;
    logits[t] = position <= at && in_window && shown ? soft_cap(logits[t] * params.scale, params.soft_cap)
                                                     : hidden_logit;
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

/// Raw rows (sinks or tail) against one query.
inline void attend_raw(QueryState& state, const RowsView& keys, const RowsView& values,
                       const Segment& segment, std::ptrdiff_t at, const AttendParams& params) noexcept {
  float logits[layout::block_tokens];
  const std::span<float> row(logits, segment.count);
  for (std::size_t t = 0; t < segment.count; ++t)
    row[t] = detail::dot_raw(state.query, keys.row(t), keys.type);
  detail::finish_logits(row, segment, at, params);
  detail::add_logits(state, row);
  for (std::size_t t = 0; t < segment.count; ++t)
    if (row[t] != 0) detail::add_raw(row[t], values.row(t), values.type, state.raw);
}

/// What a block holds once its keys and values are unpacked, for all queries that see it.
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
    for (std::size_t i = 0; i < std::min(raw.size(), mean->values.size()); ++i) raw[i] += mass * mean->at(i);
}

/// A packed block against one query.
template <KeyCodec K, ValueCodec V>
void attend_block(const K& key, const V& value, QueryState& state, const OpenBlock& block,
                  const HalfVector& value_mean, const Segment& segment, std::ptrdiff_t at,
                  const AttendParams& params) noexcept {
  float logits[layout::block_tokens];
  const std::span<float> row(logits, segment.count);
  score_block(key, state, block, row, params.arithmetic);
  detail::finish_logits(row, segment, at, params);
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
