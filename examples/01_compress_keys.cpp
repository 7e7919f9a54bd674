// 01_compress_keys.cpp: a thousand keys and values in 4 bits, and one query's logits against them.
#include <tightkv/tightkv.hpp>

#include <cstdio>
#include <vector>

int main() {
  constexpr std::size_t tokens = 1024, heads = 1, dim = 128;
  std::vector<float> keys(tokens * dim), values(tokens * dim), query(dim), logits(tokens);
  tightkv::IntegerNormal normal(1, tightkv::RandomStream{100});  // the same numbers on every machine
  for (auto* data : {&keys, &values, &query})
    for (float& x : *data) x = static_cast<float>(normal.next()) / 65536;

  tightkv::AnyCompressor cache(tightkv::preset("k4v4", dim, dim), heads, /*seed=*/42);
  cache.append(tightkv::contiguous(keys.data(), tokens, heads, dim),
               tightkv::contiguous(values.data(), tokens, heads, dim));
  cache.commit();  // packs blocks of 64; the first 4 and the latest 64 to 127 tokens stay raw

  tightkv::Workspace workspace;
  tightkv::throw_if_failed(cache.try_score(0, query, logits, workspace));
  std::printf("token   exact q.k   from the cache\n");
  for (const std::size_t t : {0u, 100u, 300u, 500u, 700u, 1000u}) {
    double exact = 0;
    for (std::size_t i = 0; i < dim; ++i)
      exact += static_cast<double>(query[i]) * static_cast<double>(keys[t * dim + i]);
    std::printf("%5zu %11.2f %16.2f\n", t, exact, static_cast<double>(logits[t]));
  }
  const tightkv::CacheBytes bytes = cache.bytes();
  std::printf("%zu packed tokens: %.0f bytes each for key and value; 512 in f16\n", bytes.packed_tokens,
              static_cast<double>(bytes.codes + bytes.scales) / static_cast<double>(bytes.packed_tokens));
}
