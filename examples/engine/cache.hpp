// cache.hpp: tightkv as the KV cache of this engine. This is all that an engine has to write.
#pragma once

#include "config.hpp"
#include "kv_cache.hpp"

#include <cmath>
#include <cstddef>
#include <string>
#include <tightkv/tightkv.hpp>
#include <vector>

namespace engine {

class TightCache {
 public:
  /// `preset` names a format of the library ("k4v4", "q8_0/turbo4", ...); an unknown name throws and lists
  /// them.
  TightCache(const std::string& preset, const Config& config)
      : config_(config), format_(tightkv::preset(preset, config.key_dim, config.value_dim)) {
    params_.scale = 1.0f / std::sqrt(static_cast<float>(config.key_dim));
    for (std::size_t layer = 0; layer < config.layers; ++layer)
      layers_.emplace_back(format_, config.kv_heads, layer);
  }

  std::size_t size() const { return layers_.front().size(); }

  /// See KvCache. The queries go with the keys because some formats calibrate on the first of them.
  void attend(std::size_t layer, const Matrix& q, const Matrix& k, const Matrix& v, Matrix& out) {
    const auto view = [&](const Matrix& rows, std::size_t heads, std::size_t dim) {
      return tightkv::contiguous(rows.data(), static_cast<std::size_t>(rows.rows()), heads, dim);
    };
    const auto queries = view(q, config_.heads, config_.key_dim);
    auto& cache = layers_[layer];
    cache.append(view(k, config_.kv_heads, config_.key_dim), view(v, config_.kv_heads, config_.value_dim),
                 queries);
    cache.attend(queries, out.data(), params_, workspace_);
    cache.commit();  // a decoder that drafts tokens would truncate() the rejected ones first
  }

  /// How many of the tokens before `position` its query reads from blocks: the first `sinks` tokens stay raw,
  /// and 64 tokens become a block as soon as window + 64 raw ones are there. Chunks do not change it.
  std::size_t in_blocks(std::size_t position) const {
    constexpr std::size_t block = 64;
    const std::size_t raw = format_.sinks + std::size_t{format_.window};
    return position < raw ? 0 : (position - raw) / block * block;
  }

  /// False for f16 and its like, whose blocks hold the numbers as they are.
  bool packs() const {
    return format_.key.kind != tightkv::CodecKind::raw || format_.value.kind != tightkv::CodecKind::raw;
  }

  std::size_t packed_tokens() const { return layers_.front().bytes().packed_tokens; }

  std::size_t bytes() const {
    std::size_t total = 0;
    for (const auto& layer : layers_) total += layer.bytes().total();
    return total;
  }

  /// What one more token costs in a long sequence, where blocks are nearly all: bytes over all layers.
  double block_bytes_per_token() const {
    double sum = 0;
    for (const auto& layer : layers_) {
      const tightkv::CacheBytes b = layer.bytes();
      if (b.packed_tokens != 0)
        sum += static_cast<double>(b.codes + b.scales + b.headers) / static_cast<double>(b.packed_tokens);
    }
    return sum;
  }

  std::string report(std::size_t layer) const { return layers_[layer].report(); }

 private:
  Config config_;
  tightkv::Format format_;
  tightkv::AttendParams params_;
  tightkv::Workspace workspace_;
  std::vector<tightkv::AnyCompressor> layers_;
};

static_assert(KvCache<TightCache>);

}  // namespace engine
