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

  /// How many of the tokens before `position` its query reads from packed blocks. The first `sinks` tokens
  /// stay raw, and a block of 64 is packed as soon as window + 64 raw tokens are there. Nothing is packed by
  /// f16.
  std::size_t packed_before(std::size_t position) const {
    constexpr std::size_t block = 64;
    const bool raw =
        format_.key.kind == tightkv::CodecKind::raw && format_.value.kind == tightkv::CodecKind::raw;
    const std::size_t kept = format_.sinks + std::size_t{format_.window};
    return raw || position < kept ? 0 : (position - kept) / block * block;
  }

  std::size_t bytes() const {
    std::size_t total = 0;
    for (const auto& layer : layers_) total += layer.bytes().total();
    return total;
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
