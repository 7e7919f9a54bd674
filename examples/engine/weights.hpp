// weights.hpp: all tensors of a model as float matrices, each checked against the shape that the config
// implies.
#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <vector>

#include "config.hpp"
#include "dequant.hpp"
#include "gguf.hpp"
#include "matrix.hpp"

namespace engine {

/// Biases and head norms are empty where the architecture has none.
struct LayerWeights {
  Vector attention_norm, ffn_norm;  // (embedding)
  Matrix query;                     // (heads * key_dim, embedding)
  Matrix key, value;                // (kv_heads * dim, embedding)
  Matrix attention_out;             // (embedding, heads * value_dim)
  Vector query_bias, key_bias, value_bias;
  Vector query_norm, key_norm;  // (key_dim)
  Matrix gate, up;              // (feed_forward, embedding)
  Matrix down;                  // (embedding, feed_forward)
};

struct Weights {
  Matrix embedding;  // (vocabulary, embedding)
  std::vector<LayerWeights> layers;
  Vector output_norm;
  Matrix output;  // (vocabulary, embedding); empty if it is the embedding

  Weights(const Gguf& file, const Config& config);
};

/// Takes tensors out of a file by name and notes which ones; a tensor nobody asked for means that the model
/// has a part this engine does not know.
class WeightLoader {
 public:
  explicit WeightLoader(const Gguf& file) : file_(file) {}

  Matrix matrix(const std::string& name, std::size_t rows, std::size_t cols) {
    const GgufTensor* tensor = file_.find_tensor(name);
    if (tensor == nullptr) throw Error("the tensor " + printable(name) + " is missing");
    std::string shape, wanted = std::to_string(cols) + (rows == 1 ? "" : " x " + std::to_string(rows));
    for (const std::size_t dim : tensor->dims) shape += (shape.empty() ? "" : " x ") + std::to_string(dim);
    if (shape != wanted)
      throw Error("the tensor " + printable(name) + " has shape " + shape + ", expected " + wanted);
    used_.insert(name);
    Matrix out(static_cast<Index>(rows), static_cast<Index>(cols));
    dequantize(tensor->type, tensor->data, out.data());
    return out;
  }

  Vector vector(const std::string& name, std::size_t size) { return matrix(name, 1, size).row(0); }

  void refuse_unused() const {
    for (const auto& [name, tensor] : file_.tensors)
      if (!used_.contains(name))
        throw Error("the tensor " + printable(name) + " has no place in this architecture");
  }

 private:
  const Gguf& file_;
  std::set<std::string> used_;
};

inline Weights::Weights(const Gguf& file, const Config& c) {
  WeightLoader load(file);
  const GgufTensor* words = file.find_tensor("token_embd.weight");
  if (words == nullptr || words->dims.size() != 2)
    throw Error("the tensor token_embd.weight is missing or no matrix");
  const std::size_t vocabulary = words->dims[1];
  embedding = load.matrix("token_embd.weight", vocabulary, c.embedding);
  const std::size_t q = c.heads * c.key_dim, k = c.kv_heads * c.key_dim, v = c.kv_heads * c.value_dim;
  for (std::size_t i = 0; i < c.layers; ++i) {
    const std::string p = "blk." + std::to_string(i) + ".";
    LayerWeights w;
    w.attention_norm = load.vector(p + "attn_norm.weight", c.embedding);
    w.query = load.matrix(p + "attn_q.weight", q, c.embedding);
    w.key = load.matrix(p + "attn_k.weight", k, c.embedding);
    w.value = load.matrix(p + "attn_v.weight", v, c.embedding);
    w.attention_out = load.matrix(p + "attn_output.weight", c.embedding, c.heads * c.value_dim);
    if (c.arch.qkv_bias) {
      w.query_bias = load.vector(p + "attn_q.bias", q);
      w.key_bias = load.vector(p + "attn_k.bias", k);
      w.value_bias = load.vector(p + "attn_v.bias", v);
    }
    if (c.arch.qk_norm) {
      w.query_norm = load.vector(p + "attn_q_norm.weight", c.key_dim);
      w.key_norm = load.vector(p + "attn_k_norm.weight", c.key_dim);
    }
    w.ffn_norm = load.vector(p + "ffn_norm.weight", c.embedding);
    w.gate = load.matrix(p + "ffn_gate.weight", c.feed_forward, c.embedding);
    w.up = load.matrix(p + "ffn_up.weight", c.feed_forward, c.embedding);
    w.down = load.matrix(p + "ffn_down.weight", c.embedding, c.feed_forward);
    layers.push_back(std::move(w));
  }
  output_norm = load.vector("output_norm.weight", c.embedding);
  if (file.find_tensor("output.weight") != nullptr)
    output = load.matrix("output.weight", vocabulary, c.embedding);
  load.refuse_unused();
}

}  // namespace engine
