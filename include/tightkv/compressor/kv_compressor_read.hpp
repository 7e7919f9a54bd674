// compressor/kv_compressor_read.hpp: the const members of KVCompressor.
#pragma once

#include "kv_compressor.hpp"

namespace tightkv::inline TIGHTKV_ABI {

template <class K, class V, PageSource Source>
RowsView KVCompressor<K, V, Source>::value_rows(const RawRows& keys, const RawRows& values, std::size_t first,
                                                std::size_t count) const noexcept {
  if (!is_shared(value_)) return values.view(first, count);
  RowsView rows = keys.view(first, count);
  rows.dim = value_dims_;
  return rows;
}

template <class K, class V, PageSource Source>
OpenBlock KVCompressor<K, V, Source>::open_block(const Head& head, std::size_t b,
                                                 Workspace& workspace) const {
  const std::byte* block = head.blocks[b].data();
  OpenBlock open;
  read_keys(key_, where_, block, workspace.keys);
  open.keys = &workspace.keys;
  open.key_raw = block + where_.key_raw;
  open.key_mean = detail::read_mean(block + where_.key_mean, where_.key_mean_dims,
                                    read_header(block, HeaderField::key_mean_exponent));
  if (is_shared(value_)) {
    open.values = {workspace.keys.levels, workspace.keys.scales, open.key_raw};
    open.value_mean = open.key_mean;
    return open;
  }
  if constexpr (!std::same_as<V, SharedValue>) read_values(value_, where_, block, workspace.values);
  open.values = {workspace.values.levels, workspace.values.scales, block + where_.value_raw};
  open.value_mean = detail::read_mean(block + where_.value_mean, where_.value_mean_dims,
                                      read_header(block, HeaderField::value_mean_exponent));
  return open;
}

template <class K, class V, PageSource Source>
PackedBlock KVCompressor<K, V, Source>::packed_block(const kernel::Kernels& on, const Head& head,
                                                     std::size_t b, Workspace& workspace) const {
  const std::byte* block = head.blocks[b].data();
  PackedBlock packed;
  const auto scales = [&](std::size_t at, std::size_t per_vector, HeaderField exponent, Buffer<float>& to) {
    to.resize(layout::block_tokens * per_vector);
    on.widen(block + at, to.size(), read_header(block, exponent), to.data());
    return std::span<const float>(to);
  };
  packed.keys = {
      block + where_.key_codes, where_.key.key_tile_bytes(), block + where_.key_raw,
      scales(where_.key_scales, where_.key.scales, HeaderField::key_exponent, workspace.keys.scales)};
  packed.values = {
      block + where_.value_codes, block + where_.value_raw,
      scales(where_.value_scales, where_.value.scales, HeaderField::value_exponent, workspace.values.scales)};
  if (where_.key_mean_dims) {
    packed.key_mean = block + where_.key_mean, packed.key_mean_dims = where_.key_mean_dims;
    packed.key_mean_exponent = read_header(block, HeaderField::key_mean_exponent);
  }
  if (where_.value_mean_dims) {
    packed.value_mean = block + where_.value_mean, packed.value_mean_dims = where_.value_mean_dims;
    packed.value_mean_exponent = read_header(block, HeaderField::value_mean_exponent);
  }
  return packed;
}

template <class K, class V, PageSource Source>
void KVCompressor<K, V, Source>::prepare_query(const Head& head, std::span<const float> q, QueryState& state,
                                               Workspace& workspace) const {
  state.query.assign(q.begin(), q.end());
  state.mean_score = mean_score(q, head.key_condition.mean);
  workspace.conditioned.resize(q.size());
  condition_query(q, head.key_condition, workspace.conditioned);
  key_.prepare(workspace.conditioned, state.prepared);
}

/// Visits the history of a head in order: sinks, the first `blocks` blocks, then raw rows up to position
/// raw_end. Raw rows come in pieces of up to 64 that begin at the tail's first row, so that the pieces do not
/// depend on the caller.
template <class K, class V, PageSource Source>
template <class OnBlock, class OnRaw>
void KVCompressor<K, V, Source>::walk(const Head& head, std::size_t blocks, std::size_t raw_end,
                                      OnBlock&& on_block, OnRaw&& on_raw) const {
  const auto raw = [&](const RawRows& keys, const RawRows& values, std::size_t first_position,
                       std::size_t count) {
    for (std::size_t i = 0; i < count; i += layout::block_tokens) {
      const std::size_t n = (std::min)(layout::block_tokens, count - i);
      on_raw(Segment{static_cast<std::ptrdiff_t>(first_position + i), n}, keys.view(i, n),
             value_rows(keys, values, i, n));
    }
  };
  raw(head.sink_keys, head.sink_values, 0, (std::min)(head.sink_keys.size(), raw_end));
  for (std::size_t b = 0; b < blocks; ++b)
    on_block(b, Segment{static_cast<std::ptrdiff_t>(blocks_[b].first), blocks_[b].count});
  raw(head.tail_keys, head.tail_values, tail_first_,
      (std::min)(head.tail_keys.size(), raw_end - (std::min)(raw_end, tail_first_)));
}

template <class K, class V, PageSource Source>
Status KVCompressor<K, V, Source>::try_attend(const TensorView& q, float* out, AttendParams params,
                                              Workspace& workspace) const {
  TIGHTKV_TRY(check_rows(q, options_.kv_heads, key_dim(), q.tokens, "q"));
  if (!params.sink_logits.empty() && params.sink_logits.size() != q.heads)
    return Status::failure(ErrorCode::invalid_argument, "sink_logits has ", params.sink_logits.size(),
                           " values; q has ", q.heads, " heads");
  if (!params.mask.empty() && params.mask.size() != size_)
    return Status::failure(ErrorCode::invalid_argument, "mask has ", params.mask.size(),
                           " values; the cache holds ", size_, " tokens");
  if (!params.positions.empty() && params.positions.size() != q.tokens)
    return Status::failure(ErrorCode::invalid_argument, "positions has ", params.positions.size(),
                           " values; q has ", q.tokens, " tokens");
  if (params.window >> 47) params.window = 0;  // no history is longer
  if (params.scale == 0) params.scale = 1.0f / std::sqrt(static_cast<float>(key_dim()));
  const kernel::Kernels* on = &kernel::on_scalar::table;
  for (const std::size_t p : params.positions)
    if (p >> 48)
      return Status::failure(ErrorCode::invalid_argument, "position is ", p, "; it must be below 2^48");
  const bool exact = params.arithmetic == Arithmetic::exact;
  [[maybe_unused]] const bool unpack =
      exact || is_shared(value_);  // no kernel sums values out of key tiles yet
  if (!exact) TIGHTKV_TRY(kernel::try_kernels(on));
  const std::size_t group = q.heads / options_.kv_heads;
  const auto first_position = static_cast<std::ptrdiff_t>(size_) - static_cast<std::ptrdiff_t>(q.tokens);
  const auto position = [&](std::size_t i) {
    return params.positions.empty() ? first_position + static_cast<std::ptrdiff_t>(i)
                                    : static_cast<std::ptrdiff_t>(params.positions[i]);
  };
  workspace.queries.resize((std::max)(workspace.queries.size(), q.tokens * group));
  float row[max_head_dim];
  for (std::size_t h = 0; h < options_.kv_heads; ++h) {
    const Head& head = heads_[h];
    for (std::size_t i = 0; i < q.tokens; ++i)
      for (std::size_t g = 0; g < group; ++g) {
        QueryState& state = workspace.queries[i * group + g];
        on->convert(q.row(i, h * group + g), q.type, q.dim, reinterpret_cast<std::byte*>(row),
                    ElementType::f32);
        prepare_query(head, {row, q.dim}, state, workspace);
        state.softmax = {};
        if (!params.sink_logits.empty()) state.softmax.start_with(params.sink_logits[h * group + g]);
        with_value_codec([&](const auto& codec) {
          state.packed.assign((std::max)(codec.shape().dim, value_dims_), 0.0f);
        });
        state.raw.assign(value_dims_, 0.0f);
      }
    // Queries that see a segment go over it together, max_queries at a time.
    const auto each_batch = [&](auto&& sees, auto&& visit) {
      QueryBatch batch;
      for (std::size_t i = 0; i < q.tokens; ++i)
        for (std::size_t g = 0; g < group && sees(position(i)); ++g) {
          batch.state[batch.count] = &workspace.queries[i * group + g], batch.at[batch.count] = position(i);
          if (++batch.count == kernel::max_queries) visit(batch), batch.count = 0;
        }
      if (batch.count != 0) visit(batch);
    };
    walk(
        head, blocks_.size(), size_,
        [&](std::size_t b, const Segment& segment) {
          const auto sees = [&](std::ptrdiff_t at) {
            return b < flushed_ + packed_blocks(at);
          };  // else it reads these tokens raw
          if (unpack) {
            const OpenBlock open = open_block(head, b, workspace);
            with_value_codec([&](const auto& codec) {
              each_batch(sees, [&](const QueryBatch& batch) {
                for (std::size_t k = 0; k < batch.count; ++k)
                  attend_block(key_, codec, *batch.state[k], open, frozen_value_mean(head), segment,
                               batch.at[k], params);
              });
            });
          } else if constexpr (!std::same_as<V, SharedValue>) {
            const PackedBlock packed = packed_block(*on, head, b, workspace);
            each_batch(sees, [&](QueryBatch& batch) {
              attend_packed(*on, key_, value_, batch, packed, frozen_value_mean(head), segment, params);
            });
          }
        },
        [&](const Segment& segment, const RowsView& keys, const RowsView& values) {
          const bool sink = segment.first < static_cast<std::ptrdiff_t>(options_.sinks);
          each_batch(
              [&](std::ptrdiff_t at) {
                const auto raw_from =
                    static_cast<std::ptrdiff_t>(tail_first_ + packed_blocks(at) * layout::block_tokens);
                return segment.first <= at && (sink || segment.first >= raw_from);
              },
              [&](QueryBatch& batch) { attend_raw(*on, batch, keys, values, segment, params); });
        });
    for (std::size_t i = 0; i < q.tokens; ++i)
      for (std::size_t g = 0; g < group; ++g) {
        float* const row_out = out + (i * q.heads + h * group + g) * value_dims_;
        with_value_codec(
            [&](const auto& codec) { finish_output(codec, workspace.queries[i * group + g], row_out); });
        if (on->largest(reinterpret_cast<const std::byte*>(row_out), ElementType::f32, value_dims_) >=
            0x7f800000u)
          return Status::failure(ErrorCode::non_finite, "attention of query ", i, ", head ", h * group + g,
                                 " left the float range: |q| |k| must stay below 2^127");
      }
  }
  return {};
}

template <class K, class V, PageSource Source>
Status KVCompressor<K, V, Source>::try_score(std::size_t head, std::span<const float> q,
                                             std::span<float> logits, Workspace& workspace,
                                             Arithmetic arithmetic) const {
  if (head >= heads_.size() || q.size() != key_dim() || logits.size() != size_)
    return Status::failure(ErrorCode::invalid_argument, "score(head ", head, ", q of ", q.size(),
                           ", logits of ", logits.size(), "); this cache has ", heads_.size(),
                           " heads, key_dim ", key_dim(), " and ", size_, " tokens");
  TIGHTKV_TRY(check_rows(contiguous(q.data(), 1, 1, q.size()), 1, key_dim(), 1, "q"));
  const bool exact = arithmetic == Arithmetic::exact;
  const kernel::Kernels* on = &kernel::on_scalar::table;
  if (!exact) TIGHTKV_TRY(kernel::try_kernels(on));
  workspace.queries.resize((std::max<std::size_t>)(workspace.queries.size(), 1));
  QueryState& state = workspace.queries[0];
  prepare_query(heads_[head], q, state, workspace);
  const auto part = [&](const Segment& s) {
    return logits.subspan(static_cast<std::size_t>(s.first), s.count);
  };
  QueryBatch batch{{&state}, {static_cast<std::ptrdiff_t>(size_)}, 1};
  walk(
      heads_[head], flushed_, size_,
      [&](std::size_t b, const Segment& s) {
        if (exact)
          return score_block(key_, state, open_block(heads_[head], b, workspace), part(s), arithmetic);
        float block_logits[layout::block_tokens];
        score_packed(*on, key_, batch, packed_block(*on, heads_[head], b, workspace), block_logits);
        std::copy_n(block_logits, s.count, part(s).begin());
      },
      [&](const Segment& s, const RowsView& keys, const RowsView&) {
        const float* query = state.query.data();
        on->dot_rows(keys.data, keys.stride, keys.type, s.count, keys.dim, &query, 1, part(s).data());
      });
  return {};
}

template <class K, class V, PageSource Source>
Status KVCompressor<K, V, Source>::try_accumulate(std::size_t head, std::span<const float> weights,
                                                  std::span<float> out, Workspace& workspace,
                                                  Arithmetic arithmetic) const {
  if (head >= heads_.size() || out.size() != value_dims_ || weights.size() != size_)
    return Status::failure(ErrorCode::invalid_argument, "accumulate(head ", head, ", weights of ",
                           weights.size(), ", out of ", out.size(), "); this cache has ", heads_.size(),
                           " heads, ", size_, " tokens and value_dim ", value_dims_);
  for (std::size_t t = 0; t < weights.size(); ++t)
    if (!(weights[t] >= 0) || detail::is_non_finite(std::bit_cast<std::uint32_t>(weights[t])))
      return Status::failure(ErrorCode::invalid_argument, "weight ", t, " is ", weights[t],
                             "; weights are finite and not negative");
  const bool exact = arithmetic == Arithmetic::exact;
  [[maybe_unused]] const bool unpack = exact || is_shared(value_);
  const kernel::Kernels* on = &kernel::on_scalar::table;
  if (!exact) TIGHTKV_TRY(kernel::try_kernels(on));
  workspace.queries.resize((std::max<std::size_t>)(workspace.queries.size(), 1));
  QueryState& state = workspace.queries[0];
  const auto part = [&](const Segment& s) {
    return weights.subspan(static_cast<std::size_t>(s.first), s.count);
  };
  state.raw.assign(value_dims_, 0.0f);
  state.softmax.mass = 1;
  with_value_codec([&](const auto& codec) {
    state.packed.assign((std::max)(codec.shape().dim, value_dims_), 0.0f);
    QueryBatch batch{{&state}, {static_cast<std::ptrdiff_t>(size_)}, 1};
    walk(
        heads_[head], flushed_, size_,
        [&](std::size_t b, const Segment& s) {
          const HalfVector& mean = frozen_value_mean(heads_[head]);
          if (exact)
            return accumulate_block(codec, open_block(heads_[head], b, workspace), mean, part(s),
                                    state.packed, state.raw, arithmetic);
          if constexpr (!std::same_as<V, SharedValue>) {
            float block_weights[layout::block_tokens] = {};
            std::copy(part(s).begin(), part(s).end(), block_weights);
            accumulate_packed(*on, value_, batch, packed_block(*on, heads_[head], b, workspace), mean,
                              block_weights);
          }
        },
        [&](const Segment& s, const RowsView&, const RowsView& values) {
          float* sum = state.raw.data();
          on->add_rows(values.data, values.stride, values.type, s.count, values.dim, part(s).data(), 1, &sum);
        });
    finish_output(codec, state, out.data());
  });
  return {};
}

template <class K, class V, PageSource Source>
Status KVCompressor<K, V, Source>::try_decode_key(std::size_t head, std::size_t position,
                                                  std::span<float> out, Workspace& workspace) const {
  if (head >= heads_.size() || position >= size_ || out.size() != key_dim())
    return Status::failure(ErrorCode::invalid_argument, "decode_key(head ", head, ", position ", position,
                           ", out of ", out.size(), "); this cache has ", heads_.size(), " heads, ", size_,
                           " tokens and key_dim ", key_dim());
  const Condition& condition = heads_[head].key_condition;
  const auto inside = [&](const Segment& s) {
    return position >= static_cast<std::size_t>(s.first) &&
           position < static_cast<std::size_t>(s.first) + s.count;
  };
  walk(
      heads_[head], flushed_, size_,
      [&](std::size_t b, const Segment& s) {
        if (!inside(s)) return;
        const OpenBlock open = open_block(heads_[head], b, workspace);
        key_.decode(
            record_at(*open.keys, where_.key, open.key_raw, position - static_cast<std::size_t>(s.first)),
            out);
        for (std::size_t i = 0; i < condition.channel_scale.size(); ++i)
          out[i] /= to_float(condition.channel_scale[i]);
        for (const HalfVector* mean : {&condition.mean, &open.key_mean})
          for (std::size_t i = 0; i < mean->values.size(); ++i) out[i] += mean->at(i);
      },
      [&](const Segment& s, const RowsView& keys, const RowsView&) {
        if (!inside(s)) return;
        for (std::size_t i = 0; i < out.size(); ++i)
          out[i] = detail::load_element(keys.row(position - static_cast<std::size_t>(s.first)), keys.type, i);
      });
  return {};
}

template <class K, class V, PageSource Source>
Status KVCompressor<K, V, Source>::try_decode_value(std::size_t head, std::size_t position,
                                                    std::span<float> out, Workspace& workspace) const {
  if (position >= size_)
    return Status::failure(ErrorCode::invalid_argument, "position is ", position, "; the cache holds ", size_,
                           " tokens");
  Buffer<float> weights(size_,
                        0.0f);  // a weighted sum with one weight: the same code as attention reads
  weights[position] = 1;
  return try_accumulate(head, weights, out, workspace, Arithmetic::exact);
}

template <class K, class V, PageSource Source>
CacheBytes KVCompressor<K, V, Source>::bytes() const noexcept {
  CacheBytes b;
  for (const Head& head : heads_) {
    b.codes += head.blocks.size() * where_.code_bytes();
    b.scales += head.blocks.size() * where_.scale_bytes();
    b.headers += head.blocks.size() * where_.header_part_bytes();
    b.slack += head.blocks.size() *
               (where_.bytes - where_.code_bytes() - where_.scale_bytes() - where_.header_part_bytes());
    b.headers += 2 * (head.key_condition.mean.values.size() + head.key_condition.channel_scale.size() +
                      head.value_condition.mean.values.size());
    b.headers += head.first_queries.capacity_bytes();
    b.sinks += head.sink_keys.used_bytes() + head.sink_values.used_bytes();
    b.tail += head.tail_keys.used_bytes() + head.tail_values.used_bytes();
    for (const RawRows* rows : {&head.sink_keys, &head.sink_values, &head.tail_keys, &head.tail_values})
      b.slack += rows->capacity_bytes() - rows->used_bytes();
  }
  for (const BlockPlace& place : blocks_) b.packed_tokens += place.count;
  return b;
}

template <class K, class V, PageSource Source>
std::string KVCompressor<K, V, Source>::report() const {
  const CacheBytes b = bytes();
  const Format f = format();
  std::string text =
      detail::join("key: ", describe(f.key), ", dim ", f.key_dim,
                   "; value: ", f.shared ? std::string("shared with key") : describe(f.value), ", dim ",
                   f.value_dim, "; ", options_.kv_heads, " kv heads; sinks ", options_.sinks, ", window ",
                   options_.window, ", tail ", name(options_.tail), "\n");
  const std::size_t per_token = where_.key.bytes_per_vector() + where_.value.bytes_per_vector();
  text += detail::join("codes + scales: ", per_token,
                       " bytes a token and kv head (f16: ", 2 * (key_dim() + value_dim()), ")\n");
  text += detail::join("held: ", b.total(), " bytes = codes ", b.codes, " + scales ", b.scales, " + headers ",
                       b.headers, " + sinks ", b.sinks, " + tail ", b.tail, " + slack ", b.slack, "; tokens ",
                       size_, ", of them packed ", b.packed_tokens, "\n");
  for (std::size_t h = 0; h < heads_.size(); ++h)
    if (heads_[h].offset_share > 0.9f && options_.key_conditioner == ConditionerKind::none &&
        key_.format().kind != CodecKind::raw)
      text +=
          detail::join("warning: kv head ", h, ": ", static_cast<int>(heads_[h].offset_share * 1000) / 10,
                       " % of the keys' energy is their mean and no conditioner takes it off; "
                       "codes of any width spend their range on a constant: use frozen_mean or block_mean\n");
  return text;
}

}  // namespace tightkv::inline TIGHTKV_ABI
