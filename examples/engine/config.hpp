// config.hpp: the shape of a model and the few properties in which architectures differ.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <string>

#include "gguf.hpp"

namespace engine {

/// Which coordinates RoPE turns together. GGUF stores llama's query and key rows permuted for adjacent pairs;
/// the other architectures keep the halves. The wrong one gives fluent text that ignores the prompt, so it is
/// never guessed.
enum class RopePairs { adjacent /* (2i, 2i+1) */, halves /* (i, i + d/2) */ };

struct Architecture {
  const char* name;
  RopePairs rope;
  bool qkv_bias;  // queries, keys and values have a bias
  bool qk_norm;   // every query and key head is RMS-normalized before RoPE
};

inline constexpr std::array<Architecture, 2> architectures{{
    {"llama", RopePairs::adjacent, false, false},
    {"qwen2", RopePairs::halves, true, false},
}};

inline const Architecture& architecture(const std::string& name) {
  std::string known;
  for (const Architecture& a : architectures) {
    if (name == a.name) return a;
    known += std::string(known.empty() ? "" : ", ") + a.name;
  }
  throw Error("the architecture " + printable(name) + " is not supported; known: " + known);
}

struct Config {
  Architecture arch;
  std::size_t layers, embedding, feed_forward, context;
  std::size_t heads, kv_heads, key_dim, value_dim;
  std::size_t rope_dim;  // the leading coordinates of a head that RoPE turns
  double rope_base;
  float norm_epsilon;

  explicit Config(const Gguf& file) : arch(architecture(file.get<std::string>("general.architecture"))) {
    const std::string p = std::string(arch.name) + ".";
    const auto size = [&](const std::string& key, std::int64_t high) {
      return static_cast<std::size_t>(file.integer(p + key, 1, high));
    };
    const auto size_or = [&](const std::string& key, std::int64_t high, std::size_t otherwise) {
      return file.has(p + key) ? size(key, high) : otherwise;
    };
    layers = size("block_count", 1024);
    embedding = size("embedding_length", 65536);
    feed_forward = size("feed_forward_length", 1 << 20);
    context = size_or("context_length", std::int64_t{1} << 31, 4096);
    heads = size("attention.head_count", 1024);
    kv_heads = size_or("attention.head_count_kv", 1024, heads);
    if (heads % kv_heads != 0)
      throw Error(std::to_string(heads) + " query heads cannot share " + std::to_string(kv_heads) +
                  " key heads");
    key_dim = size_or("attention.key_length", 1024, embedding / heads);
    value_dim = size_or("attention.value_length", 1024, key_dim);
    rope_dim = size_or("rope.dimension_count", 1024, key_dim);
    if (key_dim == 0 || rope_dim > key_dim || rope_dim % 2 != 0)
      throw Error("RoPE over " + std::to_string(rope_dim) + " of " + std::to_string(key_dim) +
                  " coordinates");
    rope_base = file.get_or<double>(p + "rope.freq_base", 10000.0);
    norm_epsilon = static_cast<float>(file.get<double>(p + "attention.layer_norm_rms_epsilon"));
    if (!(rope_base >= 1 && rope_base <= 1e12)) throw Error("the RoPE base is " + std::to_string(rope_base));
    if (!(norm_epsilon > 0 && norm_epsilon < 1))
      throw Error("the norm epsilon is " + std::to_string(norm_epsilon));
    refuse_extras(file, p);
  }

 private:
  /// Features that change the result and are not written here; running without them would be silently wrong.
  static void refuse_extras(const Gguf& file, const std::string& p) {
    const std::string scaling = file.get_or<std::string>(p + "rope.scaling.type", "none");
    if (scaling != "none") throw Error("RoPE scaling " + printable(scaling) + " is not supported");
    for (const char* key : {"attention.sliding_window", "expert_count", "attention.logit_softcapping",
                            "attn_logit_softcapping", "final_logit_softcapping", "logit_scale"})
      if (file.has(p + key)) throw Error("the key " + printable(p + key) + " is not supported");
  }
};

}  // namespace engine
