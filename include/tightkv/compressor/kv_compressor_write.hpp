// compressor/kv_compressor_write.hpp: the members of KVCompressor that change it.
#pragma once

#include "kv_compressor.hpp"

namespace tightkv::inline TIGHTKV_ABI {

template <class K, class V, PageSource Source>
Status KVCompressor<K, V, Source>::check_rows(const TensorView& t, std::size_t heads, std::size_t dim,
                                              std::size_t tokens, const char* what,
                                              const RawPart* stored) const {
  if (key_dim() > max_head_dim || value_dims_ > max_head_dim || key_dim() % 2 != 0 || value_dims_ % 2 != 0)
    return Status::failure(ErrorCode::invalid_argument, "head dims are ", key_dim(), " and ", value_dims_,
                           "; they must be even and at most ", max_head_dim);
  if (t.tokens != tokens || t.dim != dim || t.heads == 0 || heads == 0 || t.heads % heads != 0)
    return Status::failure(ErrorCode::invalid_argument, what, " is (", t.tokens, " tokens, ", t.heads,
                           " heads, ", t.dim, " dims); it must be (", tokens, ", ", heads,
                           heads == options_.kv_heads ? "" : " or a multiple", ", ", dim, ")");
  if (t.tokens != 0 && t.data == nullptr)
    return Status::failure(ErrorCode::invalid_argument, what, " has no data");
  const kernel::Kernels& on = kernel::kernels_or_scalar();
  for (std::size_t token = 0; token < t.tokens; ++token)
    for (std::size_t h = 0; h < t.heads; ++h) {
      const std::byte* row = t.row(token, h);
      constexpr std::uint32_t fits_all = 0x47000000u;  // 32768: no element type rounds it to infinity
      if (on.largest(row, t.type, dim) < fits_all) continue;
      for (std::size_t i = 0; i < dim; ++i) {
        const std::uint32_t bits = detail::float_bits(row, t.type, i);
        if (detail::is_non_finite(bits))
          return Status::failure(ErrorCode::non_finite, what, " is not finite at token ",
                                 stored ? size_ + token : token, ", head ", h, ", dim ", i);
        constexpr std::uint32_t query_limit = 0x76800000u;  // 2^110: a rotation of 1024 dims stays finite
        if (!stored && (bits & 0x7fffffffu) >= query_limit)
          return Status::failure(ErrorCode::invalid_argument, what, " at token ", token, ", head ", h,
                                 ", dim ", i, " is ", std::bit_cast<float>(bits),
                                 "; queries must stay below 2^110");
        if (!stored) continue;
        const std::uint32_t in_tail = detail::rounded_bits(bits, options_.tail);
        const bool fits_tail = !detail::is_non_finite(in_tail);
        if (fits_tail &&
            (i < stored->raw_from || !detail::is_non_finite(detail::rounded_bits(in_tail, stored->element))))
          continue;
        const ElementType narrow = fits_tail ? stored->element : options_.tail;
        return Status::failure(ErrorCode::invalid_argument, what, " at token ", size_ + token, ", head ", h,
                               ", dim ", i, " is ", std::bit_cast<float>(bits), "; the ", name(narrow),
                               fits_tail ? " codec" : " tail", " holds up to ",
                               narrow == ElementType::f16 ? "65504: use bf16 or f32" : "3.3895e+38: use f32");
      }
    }
  return {};
}

/// Makes room so that push_rows cannot fail.
template <class K, class V, PageSource Source>
Status KVCompressor<K, V, Source>::try_reserve(std::size_t tokens, std::size_t q_heads) noexcept {
#if TIGHTKV_HAS_EXCEPTIONS
  try {
#endif
    const std::size_t to_sinks =
        (std::min)(tokens, options_.sinks - (std::min<std::size_t>)(size_, options_.sinks));
    for (Head& head : heads_) {
      for (RawRows* rows : {&head.sink_keys, &head.sink_values}) rows->reserve(to_sinks);
      for (RawRows* rows : {&head.tail_keys, &head.tail_values}) rows->reserve(tokens - to_sinks);
      if (q_heads)
        head.first_queries.reserve((std::min)(tokens, layout::block_tokens) * (q_heads / options_.kv_heads));
      head.blocks.reserve(blocks_.size() + tokens / layout::block_tokens + 2);
    }
    blocks_.reserve(blocks_.size() + tokens / layout::block_tokens + 2);
#if TIGHTKV_HAS_EXCEPTIONS
  } catch (const std::bad_alloc&) {
    return Status::failure(ErrorCode::out_of_memory, "no memory for ", tokens, " raw tokens of ",
                           options_.kv_heads, " heads");
  }
#endif
  return {};
}

template <class K, class V, PageSource Source>
void KVCompressor<K, V, Source>::push_rows(const TensorView& k, const TensorView& v, const TensorView& q) {
  const auto copy = [&](const TensorView& from, std::size_t token, std::size_t h, RawRows& to) {
    kernel::kernels_or_scalar().convert(from.row(token, h), from.type, from.dim, to.push_back(), to.type());
  };
  const std::size_t group = q.heads / options_.kv_heads;
  for (std::size_t token = 0; token < k.tokens; ++token, ++size_)
    for (std::size_t h = 0; h < options_.kv_heads; ++h) {
      Head& head = heads_[h];
      const bool sink = size_ < options_.sinks;
      copy(k, token, h, sink ? head.sink_keys : head.tail_keys);
      if (!is_shared(value_)) copy(v, token, h, sink ? head.sink_values : head.tail_values);
      if (size_ < options_.sinks || size_ >= options_.sinks + layout::block_tokens) continue;
      queries_at_[size_ - options_.sinks] = group;
      for (std::size_t g = 0; g < group; ++g) copy(q, token, h * group + g, head.first_queries);
    }
}

template <class K, class V, PageSource Source>
Status KVCompressor<K, V, Source>::try_append(const TensorView& k, const TensorView& v, const TensorView& q) {
  const std::size_t heads = options_.kv_heads;
  if (k.heads != heads || (!is_shared(value_) && v.heads != heads))
    return Status::failure(ErrorCode::invalid_argument, "k has ", k.heads, " heads and v ", v.heads,
                           "; this cache has ", heads);
  RawPart raw = raw_part(key_);
  TIGHTKV_TRY(check_rows(k, heads, key_dim(), k.tokens, "k", &raw));
  if constexpr (!std::same_as<V, SharedValue>)
    if (!is_shared(value_)) {
      raw = raw_part(value_);
      TIGHTKV_TRY(check_rows(v, heads, value_dim(), k.tokens, "v", &raw));
    }
  const bool with_queries =
      q.data != nullptr && options_.key_conditioner == ConditionerKind::balanced && !calibrated_;
  if (with_queries) TIGHTKV_TRY(check_rows(q, heads, key_dim(), k.tokens, "q"));
  TIGHTKV_TRY(try_reserve(k.tokens, with_queries ? q.heads : 0));
  const std::size_t before = size_;
  push_rows(k, v, with_queries ? q : TensorView{});
  // The last query of this chunk already reads the blocks that are due before its position.
  if (Status status = try_encode_blocks(flushed_ + due_blocks(static_cast<std::ptrdiff_t>(size_) - 1));
      !status.ok()) {
    (void)try_truncate(before);
    return status;
  }
  return {};
}

/// Encodes pending blocks from the front of the tail until there are `total`; on failure none is added.
template <class K, class V, PageSource Source>
Status KVCompressor<K, V, Source>::try_encode_blocks(std::size_t total) {
#if TIGHTKV_HAS_EXCEPTIONS
  const std::size_t before = blocks_.size();
  try {
    return encode_blocks(total);
  } catch (const std::bad_alloc&) {
    drop_blocks(before);
    return Status::failure(ErrorCode::out_of_memory, "no memory to encode block ", before);
  }
#else
  return encode_blocks(total);
#endif
}

template <class K, class V, PageSource Source>
Status KVCompressor<K, V, Source>::encode_blocks(std::size_t total) {
  BlockScratch scratch;
  const std::size_t before = blocks_.size();
  while (blocks_.size() < total) {
    const std::size_t offset = (blocks_.size() - flushed_) * layout::block_tokens;
    for (Head& head : heads_) {
      head.blocks.emplace_back(*source_, where_.bytes);
      if (head.blocks.back().data() == nullptr) {
        Status status = Status::failure(ErrorCode::out_of_memory, "the page source has no page of ",
                                        where_.bytes, " bytes left for block ", blocks_.size());
        drop_blocks(before);
        return status;
      }
    }
    for (Head& head : heads_) {
      const RowsView keys = head.tail_keys.view(offset, layout::block_tokens);
      const RowsView values = value_rows(head.tail_keys, head.tail_values, offset, layout::block_tokens);
      if (!calibrated_ && !head.condition_set) head.calibrate(keys, values, key_dims_, value_dims_, options_);
      if (options_.key_conditioner == ConditionerKind::block_mean) {
        RowsView centred = keys;
        centred.dim = key_dims_;
        head.key_condition.mean = mean_of_rows(centred);
      }
      if (options_.value_conditioner == ConditionerKind::block_mean)
        head.value_condition.mean = mean_of_rows(values);
      std::byte* block = head.blocks.back().data();
      encode_keys(key_, where_, keys, head.key_condition, block, scratch);
      if constexpr (!std::same_as<V, SharedValue>)
        if (!is_shared(value_)) encode_values(value_, where_, values, head.value_condition, block, scratch);
      // A block's own mean is in its header; nothing of it stays frozen.
      if (options_.key_conditioner == ConditionerKind::block_mean) head.key_condition.mean = {};
      if (options_.value_conditioner == ConditionerKind::block_mean) head.value_condition.mean = {};
    }
    blocks_.push_back({tail_first_ + offset, layout::block_tokens});
    calibrated_ = true;
  }
  return {};
}

template <class K, class V, PageSource Source>
void KVCompressor<K, V, Source>::drop_blocks(std::size_t count) noexcept {
  for (Head& head : heads_)
    while (head.blocks.size() > count) head.blocks.pop_back();
  blocks_.resize((std::min)(blocks_.size(), count));
  if (count != 0) return;
  calibrated_ = false;
  for (Head& head : heads_)
    if (!head.condition_set) head.key_condition = {}, head.value_condition = {}, head.offset_share = 0;
}

template <class K, class V, PageSource Source>
Status KVCompressor<K, V, Source>::try_commit(std::size_t tokens) {
  if (tokens > size_ - committed_)
    return Status::failure(ErrorCode::invalid_argument, "commit of ", tokens, " tokens; ", size_ - committed_,
                           " are tentative");
  const std::size_t due = due_blocks(static_cast<std::ptrdiff_t>(committed_ + tokens));
  TIGHTKV_TRY(try_reserve(0, 0));
  TIGHTKV_TRY(try_encode_blocks(flushed_ + due));
  committed_ += tokens;
  for (Head& head : heads_) {
    head.tail_keys.pop_front(due * layout::block_tokens);
    if (!is_shared(value_)) head.tail_values.pop_front(due * layout::block_tokens);
    if (due) head.first_queries = RawRows(key_dim(), ElementType::f32);
  }
  flushed_ += due;
  tail_first_ += due * layout::block_tokens;
  return {};
}

template <class K, class V, PageSource Source>
Status KVCompressor<K, V, Source>::try_truncate(std::size_t n) {
  if (n > size_)
    return Status::failure(ErrorCode::invalid_argument, "truncate to ", n, " tokens; the cache holds ",
                           size_);
  std::size_t keep = blocks_.size();
  if (n >= tail_first_) {  // blocks that wait for their commit lose their place if a token of theirs goes
    while (keep > flushed_ && blocks_[keep - 1].first + layout::block_tokens > n) --keep;
  } else {
    while (keep > 0 && (keep > flushed_ || blocks_[keep - 1].first >= n)) --keep;
  }
  if (keep < blocks_.size()) drop_blocks(keep);
  flushed_ = (std::min)(flushed_, keep);
  const bool into_blocks = n < tail_first_;
  if (into_blocks && keep > 0)
    blocks_[keep - 1].count = (std::min)(blocks_[keep - 1].count, n - blocks_[keep - 1].first);
  for (Head& head : heads_) {
    for (RawRows* rows : {&head.sink_keys, &head.sink_values}) rows->truncate((std::min)(rows->size(), n));
    for (RawRows* rows : {&head.tail_keys, &head.tail_values})
      rows->truncate(into_blocks ? 0 : (std::min)(rows->size(), n - tail_first_));
    std::size_t queries = 0;
    for (std::size_t i = 0; i < layout::block_tokens && options_.sinks + i < n; ++i)
      queries += queries_at_[i];
    head.first_queries.truncate((std::min)(head.first_queries.size(), queries));
  }
  if (into_blocks) tail_first_ = (std::max<std::size_t>)(n, options_.sinks);
  size_ = n;
  committed_ = (std::min)(committed_, n);
  return {};
}

template <class K, class V, PageSource Source>
void KVCompressor<K, V, Source>::clear() noexcept {
  (void)try_truncate(0);
  drop_blocks(0);
}

template <class K, class V, PageSource Source>
Status KVCompressor<K, V, Source>::try_set_condition(std::size_t head, Condition key, Condition value) {
  if (head >= heads_.size())
    return Status::failure(ErrorCode::invalid_argument, "head is ", head, "; this cache has ", heads_.size());
  if (!blocks_.empty())
    return Status::failure(ErrorCode::invalid_argument,
                           "a condition can be set before the first block; there are ", blocks_.size());
  const auto fits = [](const auto& values, std::size_t dims) {
    return values.empty() || values.size() == dims;
  };
  if (!fits(key.mean.values, key_dims_) || !fits(key.channel_scale, key_dims_) ||
      !fits(value.mean.values, value_dims_) || !value.channel_scale.empty())
    return Status::failure(ErrorCode::invalid_argument, "condition of head ", head, " has ",
                           key.mean.values.size(), " key means, ", key.channel_scale.size(), " scales, ",
                           value.mean.values.size(), " value means; dims are ", key_dims_, " and ",
                           value_dims_);
  if (is_shared(value_) && !key.channel_scale.empty())
    return Status::failure(ErrorCode::unsupported,
                           "a shared store is read as values too: it takes a mean, but no channel scale");
  for (const HalfVector* mean : {&key.mean, &value.mean})
    for (std::size_t i = 0; i < mean->values.size(); ++i)
      if (mean->exponent < -400 || mean->exponent > 200 || (mean->values[i].bits & 0x7c00u) == 0x7c00u ||
          detail::is_non_finite(std::bit_cast<std::uint32_t>(mean->at(i))))
        return Status::failure(ErrorCode::non_finite, "mean of head ", head, " is not a finite float at dim ",
                               i);
  for (const Half g : key.channel_scale)
    if (g.bits < (12u << 10) || g.bits > (18u << 10))
      return Status::failure(ErrorCode::invalid_argument, "channel scale ", to_float(g),
                             " is outside [1/8, 8]");
  heads_[head].key_condition = std::move(key);
  heads_[head].value_condition = std::move(value);
  heads_[head].condition_set = true;
  return {};
}

}  // namespace tightkv::inline TIGHTKV_ABI
