// attention/workspace.hpp: the buffers of one attention call, owned by the caller and reused.
#pragma once

#include "../kernel/query.hpp"
#include "../storage/block.hpp"
#include "softmax.hpp"

namespace tightkv::inline TIGHTKV_ABI {

/// How attend() computes. Zero or empty = not in use.
struct AttendParams {
  float scale = 0;                     ///< factor on q.k; 0 = 1 / sqrt(key_dim)
  float soft_cap = 0;                  ///< cap * tanh(logit / cap) after the scale
  std::span<const float> sink_logits;  ///< (q_heads): a learned logit that takes mass and gives nothing
  std::span<const std::uint8_t> mask;  ///< (tokens in the cache): 0 = hidden from every query
  std::size_t window = 0;              ///< sliding window: a query at p sees positions above p - window
  std::span<const std::size_t>
      positions;  ///< (q.tokens): where the queries stand; empty = the last q.tokens tokens
  Arithmetic arithmetic = Arithmetic::integer;
};

/// The state of one query row while the segments of its history go by.
struct QueryState {
  OnlineSoftmax softmax;
  float mean_score = 0;  // <q, frozen key mean>
  Buffer<float> query;   // (key_dim)
  Buffer<float> packed,
      raw;  // sums in the value codec's domain (padded) and in the plain one (value_dim)
  PreparedQuery prepared;
};

/// One per thread; grows on first use and keeps its memory, so a decode step after the first of its shape
/// allocates nothing.
struct Workspace {
  Buffer<QueryState> queries;
  BlockScratch keys, values;
  Buffer<float> conditioned;
};

}  // namespace tightkv::inline TIGHTKV_ABI
