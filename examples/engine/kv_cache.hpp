// kv_cache.hpp: all that the forward pass asks of a KV cache.
#pragma once

#include <concepts>
#include <cstddef>

#include "matrix.hpp"

namespace engine {

/// One sequence, all layers. `attend` adds the keys and values of the next tokens to a layer, and writes what
/// their queries read from it, themselves and everything before them, to `out`:
///   q (tokens, heads * key_dim), k (tokens, kv_heads * key_dim), v (tokens, kv_heads * value_dim),
///   out (tokens, heads * value_dim), already sized.
/// Query head h reads key head h / (heads / kv_heads); logits are q.k / sqrt(key_dim).
template <class C>
concept KvCache = requires(C cache, const C& held, std::size_t layer, const Matrix& rows, Matrix& out) {
  { held.size() } -> std::convertible_to<std::size_t>;  // tokens held; the position of the next one
  cache.attend(layer, rows, rows, rows, out);
};

}  // namespace engine
