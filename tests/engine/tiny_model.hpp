// tiny_model.hpp: a whole random model as a GGUF file in memory, small enough to check by plain loops.
#pragma once

#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "gguf_writer.hpp"

namespace gguf_test {

struct Shape {
  std::string arch = "llama";
  std::uint32_t layers = 2, embedding = 24, feed_forward = 40, heads = 4, kv_heads = 2, head_dim = 8,
                vocabulary = 37, context = 64;
};

/// F32 weights of variance 1 / inputs, so that activations keep their size; "qwen2" gets its biases.
inline File tiny_model(const Shape& s, unsigned seed = 1) {
  std::mt19937 random(seed);
  const auto draw = [&](std::uint64_t count, double scale, double mean) {
    std::vector<float> out;
    for (std::uint64_t i = 0; i < count; ++i)  // uniform, with variance 1
      out.push_back(static_cast<float>(mean + scale * (static_cast<double>(random()) / 4294967296.0 - 0.5) *
                                                  std::sqrt(12.0)));
    return out;
  };
  File file;
  const std::string p = s.arch + ".";
  file.add_text("general.architecture", s.arch);
  file.add_u32(p + "block_count", s.layers).add_u32(p + "embedding_length", s.embedding);
  file.add_u32(p + "feed_forward_length", s.feed_forward).add_u32(p + "context_length", s.context);
  file.add_u32(p + "attention.head_count", s.heads).add_u32(p + "attention.head_count_kv", s.kv_heads);
  file.add_u32(p + "attention.key_length", s.head_dim).add_u32(p + "attention.value_length", s.head_dim);
  file.add_f32(p + "attention.layer_norm_rms_epsilon", 1e-5f).add_f32(p + "rope.freq_base", 1000);
  const auto matrix = [&](const std::string& name, std::uint64_t rows, std::uint64_t cols) {
    file.add_tensor({name, {cols, rows}, 0, draw(rows * cols, 1 / std::sqrt(static_cast<double>(cols)), 0)});
  };
  const auto vector = [&](const std::string& name, std::uint64_t size, double mean) {
    file.add_tensor({name, {size}, 0, draw(size, 0.2, mean)});
  };
  matrix("token_embd.weight", s.vocabulary, s.embedding);
  const std::uint64_t q = s.heads * s.head_dim, k = s.kv_heads * s.head_dim;
  for (std::uint32_t i = 0; i < s.layers; ++i) {
    const std::string b = "blk." + std::to_string(i) + ".";
    vector(b + "attn_norm.weight", s.embedding, 1);
    matrix(b + "attn_q.weight", q, s.embedding);
    matrix(b + "attn_k.weight", k, s.embedding);
    matrix(b + "attn_v.weight", k, s.embedding);
    matrix(b + "attn_output.weight", s.embedding, q);
    if (s.arch == "qwen2") {
      vector(b + "attn_q.bias", q, 0);
      vector(b + "attn_k.bias", k, 0);
      vector(b + "attn_v.bias", k, 0);
    }
    vector(b + "ffn_norm.weight", s.embedding, 1);
    matrix(b + "ffn_gate.weight", s.feed_forward, s.embedding);
    matrix(b + "ffn_up.weight", s.feed_forward, s.embedding);
    matrix(b + "ffn_down.weight", s.embedding, s.feed_forward);
  }
  vector("output_norm.weight", s.embedding, 1);
  return file;
}

}  // namespace gguf_test
