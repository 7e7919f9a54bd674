// evaluate.hpp: how far a compressed cache moves the model's predictions, token by token over a given text.
//
// The text is fed as it stands (teacher forcing), so two caches are compared on the same history and one
// early difference cannot snowball. KLD = sum over the vocabulary of p log(p / q), p with the reference
// cache.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>

#include "matrix.hpp"
#include "model.hpp"

namespace engine {

/// Logits to log-probabilities, row by row.
inline void log_softmax(Matrix& logits) {
  for (Index t = 0; t < logits.rows(); ++t) {
    const float top = logits.row(t).maxCoeff();
    const double mass = (logits.row(t).array() - top).exp().cast<double>().sum();
    logits.row(t).array() -= top + static_cast<float>(std::log(mass));
  }
}

/// Runs `tokens` through the model, `chunk` at a time; visit(first position, log-probabilities of the chunk).
template <KvCache C, class Visit>
void teacher_force(Model& model, std::span<const Token> tokens, C& cache, std::size_t chunk, Visit visit) {
  for (std::size_t at = 0; at < tokens.size(); at += chunk) {
    Matrix rows =
        model.forward(tokens.subspan(at, std::min(chunk, tokens.size() - at)), cache, Logits::all_tokens);
    log_softmax(rows);
    visit(at, rows);
  }
}

/// Means over all positions seen by add().
class Comparison {
 public:
  /// `reference` and `actual`: log-probabilities, (positions, vocabulary); `next`: the tokens that did
  /// follow, one fewer than positions at the end of the text.
  void add(const Eigen::Ref<const Matrix>& reference, const Matrix& actual, std::span<const Token> next) {
    for (Index t = 0; t < actual.rows(); ++t) {
      const auto p = reference.row(t).array();
      const auto q = actual.row(t).array();
      divergence_ += (p.exp() * (p - q)).cast<double>().sum();
      Index best_p, best_q;
      reference.row(t).maxCoeff(&best_p);
      actual.row(t).maxCoeff(&best_q);
      agreed_ += best_p == best_q ? 1 : 0;
      ++positions_;
      if (static_cast<std::size_t>(t) >= next.size()) continue;
      surprise_ -= double{actual(t, next[static_cast<std::size_t>(t)])};
      ++predicted_;
    }
  }

  std::size_t positions() const { return positions_; }
  double kld() const { return divergence_ / static_cast<double>(positions_); }
  double top1() const { return static_cast<double>(agreed_) / static_cast<double>(positions_); }
  double perplexity() const { return std::exp(surprise_ / static_cast<double>(predicted_)); }

 private:
  double divergence_ = 0, surprise_ = 0;
  std::size_t agreed_ = 0, positions_ = 0, predicted_ = 0;
};

}  // namespace engine
