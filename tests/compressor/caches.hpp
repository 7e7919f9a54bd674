// compressor/caches.hpp: what the tests of KVCompressor are made of: tokens, page sources, comparisons.
#pragma once

#include <tightkv/tightkv.hpp>

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "support/vectors.hpp"

namespace tightkv_test {

/// (tokens, heads, dim) floats.
struct Tokens {
  std::size_t heads = 0, dim = 0;
  std::vector<float> data;

  std::size_t size() const { return data.size() / (heads * dim); }
  const float* row(std::size_t token, std::size_t head) const {
    return data.data() + (token * heads + head) * dim;
  }
  tightkv::TensorView view(std::size_t first, std::size_t count) const {
    return tightkv::contiguous(data.data() + first * heads * dim, count, heads, dim);
  }
  tightkv::TensorView view() const { return view(0, size()); }
};

/// Normal values on a direction of the head's own, so that a row of another head is far away; all are exact
/// in f16, so that a tail of any type holds them as they are.
inline Tokens random_tokens(std::size_t count, std::size_t heads, std::size_t dim, std::uint64_t seed,
                            double offset = 1) {
  Rng rng(seed);
  Tokens t{heads, dim, {}};
  std::vector<Vector> directions;
  for (std::size_t h = 0; h < heads; ++h)
    directions.push_back(scaled(unit(rng.normals(dim)), offset * std::sqrt(static_cast<double>(dim))));
  for (std::size_t token = 0; token < count; ++token)
    for (std::size_t h = 0; h < heads; ++h)
      for (std::size_t i = 0; i < dim; ++i)
        t.data.push_back(
            tightkv::to_float(tightkv::to_half(static_cast<float>(directions[h][i] + rng.normal()))));
  return t;
}

/// Keys, values and queries of one sequence.
struct Sequence {
  Tokens k, v, q;
  Sequence(std::size_t count, std::size_t kv_heads, std::size_t group, std::size_t key_dim,
           std::size_t value_dim, std::uint64_t seed)
      : k(random_tokens(count, kv_heads, key_dim, 3 * seed)),
        v(random_tokens(count, kv_heads, value_dim, 3 * seed + 1)),
        q(random_tokens(count, kv_heads * group, key_dim, 3 * seed + 2, 0)) {}
  std::size_t size() const { return k.size(); }
};

template <class Cache>
tightkv::Status append(Cache& cache, const Sequence& s, std::size_t first, std::size_t count) {
  return cache.try_append(s.k.view(first, count), s.v.view(first, count), s.q.view(first, count));
}

/// The first `count` tokens in one piece, committed.
template <class Cache>
void fill(Cache& cache, const Sequence& s, std::size_t count) {
  cache.append(s.k.view(0, count), s.v.view(0, count), s.q.view(0, count));
  cache.commit();
}

/// Attention of the last `rows` positions: (rows, q_heads, value_dim).
template <class Cache>
std::vector<float> attend(const Cache& cache, const tightkv::TensorView& q,
                          const tightkv::AttendParams& params = {}) {
  tightkv::Workspace workspace;
  std::vector<float> out(q.tokens * q.heads * cache.value_dim(), -1e9f);
  cache.attend(q, out.data(), params, workspace);
  return out;
}

template <class Cache>
std::vector<std::byte> block_bytes(const Cache& cache, std::size_t h, std::size_t b) {
  const auto bytes = cache.block(h, b);
  return {bytes.begin(), bytes.end()};
}

/// True if both caches hold the same first `blocks` blocks, byte for byte.
template <class A, class B>
bool same_blocks(const A& a, const B& b, std::size_t blocks) {
  if (a.blocks() < blocks || b.blocks() < blocks || a.kv_heads() != b.kv_heads()) return false;
  for (std::size_t h = 0; h < a.kv_heads(); ++h)
    for (std::size_t i = 0; i < blocks; ++i)
      if (!std::ranges::equal(a.block(h, i), b.block(h, i))) return false;
  return true;
}

/// Blocks that token-by-token commits of `committed` tokens leave flushed, counted one by one.
inline std::size_t flushed_blocks(std::size_t committed, std::size_t sinks, std::size_t window) {
  std::size_t tail = 0, blocks = 0;
  for (std::size_t token = 0; token < committed; ++token) {
    if (token >= sinks) ++tail;
    if (tail >= window + 64) tail -= 64, ++blocks;
  }
  return blocks;
}

inline bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), 4 * a.size()) == 0);
}

/// Heap pages that stop after `left`, are poisoned when handed out, and are all known.
struct TestPages {
  std::size_t left = ~std::size_t{0}, held = 0;
  std::vector<std::pair<std::byte*, std::size_t>> pages;

  std::byte* allocate(std::size_t size) noexcept {
    if (left == 0) return nullptr;
    --left, held += size;
    std::byte* page = tightkv::HeapPages{}.allocate(size);
    std::memset(page, 0xff, size);
    pages.emplace_back(page, size);
    return page;
  }
  void release(std::byte* page, std::size_t size) noexcept {
    held -= size;
    std::erase(pages, std::pair(page, size));
    tightkv::HeapPages{}.release(page, size);
  }
};

}  // namespace tightkv_test
