// 03_attend.cpp: the decode loop of an engine: append a token, attend, commit. Grouped queries: four query
// heads read each kv head.
#include <tightkv/tightkv.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <vector>

namespace {

constexpr std::size_t kv_heads = 2, q_heads = 8, dim = 128, tokens = 600;

/// Attention of one query head over the first n tokens in double: what the cache is compared with.
std::vector<double> exact_attention(const std::vector<float>& k, const std::vector<float>& v, const float* q,
                                    std::size_t kv_head, std::size_t n) {
  std::vector<double> weight(n), out(dim);
  double mass = 0, largest = -1e30;
  for (std::size_t t = 0; t < n; ++t) {
    for (std::size_t i = 0; i < dim; ++i)
      weight[t] += static_cast<double>(q[i]) * static_cast<double>(k[(t * kv_heads + kv_head) * dim + i]);
    weight[t] /= std::sqrt(static_cast<double>(dim));
    largest = std::max(largest, weight[t]);
  }
  for (double& w : weight) mass += w = std::exp(w - largest);
  for (std::size_t t = 0; t < n; ++t)
    for (std::size_t i = 0; i < dim; ++i)
      out[i] += weight[t] / mass * static_cast<double>(v[(t * kv_heads + kv_head) * dim + i]);
  return out;
}

}  // namespace

int main() {
  std::vector<float> k(tokens * kv_heads * dim), v(k.size()), q(q_heads * dim), out(q_heads * dim);
  tightkv::IntegerNormal normal(3, tightkv::RandomStream{100});
  const auto fill = [&](std::vector<float>& data, float size) {
    for (float& x : data) x = size * static_cast<float>(normal.next()) / 65536;
  };
  fill(k, 1), fill(v, 1);
  for (std::size_t i = 0; i < k.size(); i += 16)
    k[i] += 6;  // some channels with a constant, as real keys have

  for (const char* name : {"k4v4", "k3v3", "paper4"}) {
    tightkv::AnyCompressor cache(tightkv::preset(name, dim, dim), kv_heads, /*seed=*/5);
    tightkv::Workspace workspace;  // one a thread; grows once
    double error = 0, size = 0;
    for (std::size_t t = 0; t < tokens; ++t) {
      const std::size_t at = t * kv_heads * dim;
      fill(q, 2);
      cache.append(tightkv::contiguous(k.data() + at, 1, kv_heads, dim),
                   tightkv::contiguous(v.data() + at, 1, kv_heads, dim));
      cache.attend(tightkv::contiguous(q.data(), 1, q_heads, dim), out.data(), {}, workspace);
      cache.commit();  // a draft that is refused would be truncated instead
      if (t % 50 != 49) continue;
      for (std::size_t h = 0; h < q_heads; ++h) {
        const auto want = exact_attention(k, v, &q[h * dim], h / (q_heads / kv_heads), t + 1);
        for (std::size_t i = 0; i < dim; ++i) {
          const double miss = static_cast<double>(out[h * dim + i]) - want[i];
          error += miss * miss, size += want[i] * want[i];
        }
      }
    }
    std::printf("%s: relative error of the attention output %.3f\n%s\n", name, std::sqrt(error / size),
                cache.report().c_str());
  }
}
