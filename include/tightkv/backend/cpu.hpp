// backend/cpu.hpp: the free functions of backend::cpu.
#pragma once

#include "../compressor/kv_compressor.hpp"
#include "tags.hpp"

namespace tightkv::inline TIGHTKV_ABI {

/// Tokens into the cache; see KVCompressor::try_append.
template <class Cache>
Status append(backend::cpu, Cache& cache, const TensorView& k, const TensorView& v,
              const TensorView& q = {}) {
  return cache.try_append(k, v, q);
}

/// Attention on the packed history; see KVCompressor::try_attend.
template <class Cache>
Status attend(backend::cpu on, const Cache& cache, const TensorView& q, float* out,
              const AttendParams& params) {
  return cache.try_attend(q, out, params, on.workspace);
}

/// Logits of one query; see KVCompressor::try_score.
template <class Cache>
Status score(backend::cpu on, const Cache& cache, std::size_t head, std::span<const float> q,
             std::span<float> logits) {
  return cache.try_score(head, q, logits, on.workspace);
}

/// Weighted sum of values; see KVCompressor::try_accumulate.
template <class Cache>
Status accumulate(backend::cpu on, const Cache& cache, std::size_t head, std::span<const float> weights,
                  std::span<float> out) {
  return cache.try_accumulate(head, weights, out, on.workspace);
}

}  // namespace tightkv::inline TIGHTKV_ABI
