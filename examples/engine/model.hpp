// model.hpp: the forward pass of a decoder-only transformer (llama family) over any KvCache.
#pragma once

#include <cmath>
#include <cstddef>
#include <span>
#include <string>

#include "config.hpp"
#include "kv_cache.hpp"
#include "matrix.hpp"
#include "rope.hpp"
#include "tokenizer.hpp"
#include "weights.hpp"

namespace engine {

enum class Logits { all_tokens, last_token };

class Model {
 public:
  Model(const Gguf& file, std::size_t threads) : config_(file), weights_(file, config_), workers_(threads) {}

  const Config& config() const noexcept { return config_; }
  std::size_t vocabulary() const noexcept { return static_cast<std::size_t>(weights_.embedding.rows()); }

  /// Runs the next tokens of the sequence in `cache`; returns logits, (tokens or 1, vocabulary). After an
  /// exception the layers of the cache may hold different numbers of tokens: clear it.
  template <KvCache C>
  Matrix forward(std::span<const Token> tokens, C& cache, Logits wanted) {
    check(tokens, cache.size());
    const Rope rope(config_, cache.size(), static_cast<Index>(tokens.size()));
    Matrix x = embed(tokens);  // (tokens, embedding): the residual stream
    for (std::size_t i = 0; i < weights_.layers.size(); ++i) {
      const LayerWeights& w = weights_.layers[i];
      attention(w, i, rope, cache, x);
      feed_forward(w, x);
    }
    if (wanted == Logits::last_token) x = x.bottomRows(1).eval();
    const Matrix& output = weights_.output.size() != 0 ? weights_.output : weights_.embedding;
    Matrix logits;
    multiply(workers_, rms_norm(x, weights_.output_norm), output, logits);
    return logits;
  }

 private:
  void check(std::span<const Token> tokens, std::size_t position) const {
    if (tokens.empty()) throw Error("a forward pass needs at least one token");
    if (position + tokens.size() > config_.context)
      throw Error("position " + std::to_string(position + tokens.size()) +
                  " is past the model's context of " + std::to_string(config_.context));
    for (const Token token : tokens)
      if (token < 0 || static_cast<std::size_t>(token) >= vocabulary())
        throw Error("token " + std::to_string(token) + " is outside the vocabulary of " +
                    std::to_string(vocabulary()));
  }

  Matrix embed(std::span<const Token> tokens) const {
    Matrix x(static_cast<Index>(tokens.size()), weights_.embedding.cols());
    for (Index t = 0; t < x.rows(); ++t)
      x.row(t) = weights_.embedding.row(tokens[static_cast<std::size_t>(t)]);
    return x;
  }

  /// Each row divided by its root mean square, then scaled per channel.
  Matrix rms_norm(const Matrix& x, const Vector& weight) const {
    Matrix out(x.rows(), x.cols());
    for (Index t = 0; t < x.rows(); ++t) {
      const float mean_square = x.row(t).squaredNorm() / static_cast<float>(x.cols());
      out.row(t) = x.row(t).cwiseProduct(weight) / std::sqrt(mean_square + config_.norm_epsilon);
    }
    return out;
  }

  /// Queries, keys or values of all heads: (tokens, heads * dim).
  void project(const Matrix& x, const Matrix& weight, const Vector& bias, Matrix& out) {
    multiply(workers_, x, weight, out);
    if (bias.size() != 0) out.rowwise() += bias;
  }

  /// rms_norm of each head by itself: the same rows, seen as (tokens * heads, dim).
  void norm_heads(Matrix& x, const Vector& weight) const {
    if (weight.size() == 0) return;
    Eigen::Map<Matrix> heads(x.data(), x.size() / weight.size(), weight.size());
    heads = rms_norm(heads, weight);
  }

  template <KvCache C>
  void attention(const LayerWeights& w, std::size_t layer, const Rope& rope, C& cache, Matrix& x) {
    const Matrix h = rms_norm(x, w.attention_norm);
    Matrix q, k, v;
    project(h, w.query, w.query_bias, q);
    project(h, w.key, w.key_bias, k);
    project(h, w.value, w.value_bias, v);
    norm_heads(q, w.query_norm);
    norm_heads(k, w.key_norm);
    rope.apply(q, config_.key_dim);
    rope.apply(k, config_.key_dim);
    Matrix read(x.rows(), static_cast<Index>(config_.heads * config_.value_dim));
    cache.attend(layer, q, k, v, read);
    Matrix out;
    multiply(workers_, read, w.attention_out, out);
    x += out;
  }

  /// SwiGLU: down(silu(gate(x)) * up(x)).
  void feed_forward(const LayerWeights& w, Matrix& x) {
    const Matrix h = rms_norm(x, w.ffn_norm);
    Matrix gate, up, out;
    multiply(workers_, h, w.gate, gate);
    multiply(workers_, h, w.up, up);
    gate.array() *= up.array() / (1.0f + (-gate.array()).exp());
    multiply(workers_, gate, w.down, out);
    x += out;
  }

  Config config_;
  Weights weights_;
  Workers workers_;
};

}  // namespace engine
