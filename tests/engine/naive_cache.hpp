// naive_cache.hpp: a KvCache without any compression, written as plainly as possible: the oracle of the
// tests.
#pragma once

#include <cmath>
#include <cstddef>
#include <vector>

#include "../../examples/engine/config.hpp"
#include "../../examples/engine/kv_cache.hpp"

class NaiveCache {
 public:
  explicit NaiveCache(const engine::Config& config)
      : config_(config), keys_(config.layers), values_(config.layers) {}

  std::size_t size() const { return keys_[0].size() / (config_.kv_heads * config_.key_dim); }

  void attend(std::size_t layer, const engine::Matrix& q, const engine::Matrix& k, const engine::Matrix& v,
              engine::Matrix& out) {
    const std::size_t d = config_.key_dim, e = config_.value_dim, kv = config_.kv_heads;
    std::vector<float>&keys = keys_[layer], &values = values_[layer];
    const std::size_t before = keys.size() / (kv * d);
    keys.insert(keys.end(), k.data(), k.data() + k.size());
    values.insert(values.end(), v.data(), v.data() + v.size());
    for (std::size_t t = 0; t < static_cast<std::size_t>(q.rows()); ++t)
      for (std::size_t h = 0; h < config_.heads; ++h) {
        const std::size_t group = h / (config_.heads / kv);
        const float* query = q.data() + (t * config_.heads + h) * d;
        float* sum = out.data() + (t * config_.heads + h) * e;
        std::vector<double> logits;
        double top = -INFINITY, mass = 0;
        for (std::size_t p = 0; p <= before + t; ++p) {
          double dot = 0;
          for (std::size_t i = 0; i < d; ++i)
            dot += double{query[i]} * double{keys[(p * kv + group) * d + i]};
          logits.push_back(dot / std::sqrt(static_cast<double>(d)));
          top = std::max(top, logits.back());
        }
        for (double& x : logits) mass += x = std::exp(x - top);
        for (std::size_t i = 0; i < e; ++i) {
          double read = 0;
          for (std::size_t p = 0; p < logits.size(); ++p)
            read += logits[p] * double{values[(p * kv + group) * e + i]};
          sum[i] = static_cast<float>(read / mass);
        }
      }
  }

 private:
  const engine::Config& config_;
  std::vector<std::vector<float>> keys_, values_;  // of each layer: (tokens, kv_heads, dim)
};

static_assert(engine::KvCache<NaiveCache>);
