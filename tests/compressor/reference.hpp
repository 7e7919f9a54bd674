// compressor/reference.hpp: attention in double on what a cache says it holds, and how far float may be off.
#pragma once

#include <algorithm>
#include <cmath>

#include "compressor/caches.hpp"

namespace tightkv_test {

/// One kv head's keys and values in double.
struct History {
  std::vector<Vector> keys, values;
};

/// What the cache says that it holds now.
template <class Cache>
History decoded(const Cache& cache, std::size_t head) {
  tightkv::Workspace workspace;
  History h;
  std::vector<float> key(cache.key_dim()), value(cache.value_dim());
  for (std::size_t t = 0; t < cache.size(); ++t) {
    tightkv::throw_if_failed(cache.try_decode_key(head, t, key, workspace));
    tightkv::throw_if_failed(cache.try_decode_value(head, t, value, workspace));
    h.keys.push_back(doubles(key));
    h.values.push_back(doubles(value));
  }
  return h;
}

/// What was appended.
inline History original(const Sequence& s, std::size_t head, std::size_t count) {
  History h;
  for (std::size_t t = 0; t < count; ++t) {
    h.keys.emplace_back(s.k.row(t, head), s.k.row(t, head) + s.k.dim);
    h.values.emplace_back(s.v.row(t, head), s.v.row(t, head) + s.v.dim);
  }
  return h;
}

/// Attention of one query at position `at`, every rule written out once more.
inline Vector attention(const History& h, const float* q, std::size_t q_head, std::size_t at,
                        const tightkv::AttendParams& params = {}) {
  const std::size_t n = std::min(h.keys.size(), at + 1), dim = h.values.front().size();
  const double scale = params.scale != 0 ? static_cast<double>(params.scale)
                                         : 1 / std::sqrt(static_cast<double>(h.keys.front().size()));
  std::vector<double> logits(n, -1e300);
  double maximum = -1e300;
  const double cap = static_cast<double>(params.soft_cap);
  for (std::size_t t = 0; t < n; ++t) {
    if (params.window != 0 && t + params.window <= at) continue;
    if (!params.mask.empty() && params.mask[t] == 0) continue;
    double logit = 0;
    for (std::size_t i = 0; i < h.keys[t].size(); ++i) logit += static_cast<double>(q[i]) * h.keys[t][i];
    logit *= scale;
    logits[t] = cap > 0 ? cap * std::tanh(logit / cap) : logit;
    maximum = std::max(maximum, logits[t]);
  }
  Vector out(dim, 0.0);
  if (maximum == -1e300) return out;
  double mass = 0;
  if (!params.sink_logits.empty()) {
    const auto sink = static_cast<double>(params.sink_logits[q_head]);
    maximum = std::max(maximum, sink);
    mass += std::exp(sink - maximum);
  }
  for (std::size_t t = 0; t < n; ++t) {
    if (logits[t] == -1e300) continue;
    const double w = std::exp(logits[t] - maximum);
    mass += w;
    for (std::size_t i = 0; i < dim; ++i) out[i] += w * h.values[t][i];
  }
  return scaled(out, 1 / mass);
}

/// How far a float rotation of a vector is off, relative to its norm. Hadamard: two rounds of log2
/// butterflies, one factor and a short dot product (the odd part of the dim); a dense matrix: rows of n-term
/// dot products, sqrt(n) of them in the norm. Identity: nothing.
inline double rotation_error(tightkv::RotationKind kind, std::size_t dim) {
  const double eps = 0x1p-24, n = static_cast<double>(dim);
  if (kind == tightkv::RotationKind::identity) return 0;
  if (kind != tightkv::RotationKind::hadamard) return (n + 2) * std::sqrt(n) * eps;
  double log2 = 0, odd = 1;
  for (; dim % 2 == 0; dim /= 2) ++log2;
  odd = static_cast<double>(dim);
  return 2 * (log2 + 2 + (odd > 1 ? (odd + 3) * std::sqrt(odd) : 0)) * eps;
}

inline double largest_norm(const std::vector<Vector>& vectors) {
  double largest = 0;
  for (const Vector& v : vectors) largest = std::max(largest, norm(v));
  return largest;
}

/// Largest |output - reference|_2 of Arithmetic::exact, with eps = 2^-24, n tokens in s <= n / 64 + 3
/// segments, d dims:
///   logit  both the query (once) and the decoded key (in the reference) went through a float rotation;
///          a dot product of d terms and at most 8 single roundings (scales, means, the factor, the cap):
///          delta = (2 rot + (2 d + 8) eps) scale |q| K. The factor 2 of d: <q, mean> is a sum of its own. K
///          bounds codes and mean together: |mean| <= max |k|, so |k - mean| + |mean| <= 3 max |k|; a sketch
///          adds at most 2.5 |residual| <= 2.5 max |k| (|kappa S q|_1 <= 2.5 |q|): K = 6 max |k^|.
///   weight exp(l - max): relative error of the exponent's rounding eps |l - max| <= eps 2 scale |q| K, and
///          2 eps of exp; then s roundings of the running factor.
///   output numerator and denominator: weights off by a factor e^(+-delta') each; sums of n terms; means of
///          values and the inverse rotation as for keys.
inline double attention_bound(const tightkv::Format& format, std::size_t tokens, double q_norm,
                              const History& h, const tightkv::AttendParams& params = {}) {
  const double eps = 0x1p-24, n = static_cast<double>(tokens), segments = n / 64 + 3;
  const auto dims = static_cast<double>(std::max(format.key_dim, format.value_dim));
  const double scale = params.scale != 0 ? std::abs(static_cast<double>(params.scale))
                                         : 1 / std::sqrt(static_cast<double>(format.key_dim));
  const double reach = scale * q_norm * 6 * largest_norm(h.keys);
  const double logit =
      (2 * rotation_error(format.key.rotation, format.key_dim) + (2 * dims + 8) * eps) * reach +
      2 * reach * eps;
  const double weights = std::expm1(2 * logit) + 2 * (segments + 4 + n) * eps;
  const double values =
      2 * rotation_error(format.value.rotation, format.value_dim) + (n + segments + 8) * eps;
  return (weights + values) * 3 * largest_norm(h.values);
}

/// What Arithmetic::integer adds: six standard deviations of the rounded query's score (steps of
/// max |R q| / 127, or / 32385 from 6 bits on, uniform errors; max |R q| <= 4.5 |q| / sqrt(d) after a
/// rotation, |q| without; twice for the sketch), and weights rounded to 2^-17 of a block's largest.
inline double integer_bound(const tightkv::Format& format, double q_norm, const History& h,
                            const tightkv::AttendParams& params = {}) {
  const double root = std::sqrt(static_cast<double>(format.key_dim));
  const double scale = params.scale != 0 ? std::abs(static_cast<double>(params.scale)) : 1 / root;
  const bool rotated = format.key.rotation != tightkv::RotationKind::identity;
  const double top = format.key.kind == tightkv::CodecKind::q8 || format.key.bits >= 6 ? 32385 : 127;
  const double sigma =
      format.key.kind == tightkv::CodecKind::raw
          ? 0
          : largest_norm(h.keys) * q_norm * (rotated ? 4.5 / root : 1) / top / std::sqrt(12.0);
  const double sketch = format.key.kind == tightkv::CodecKind::turbo_quant ? 2 : 1;
  return (std::expm1(2 * sketch * 6 * sigma * scale) + 3 * 64 * 0x1p-17) * largest_norm(h.values);
}

/// The largest distance of a cache's attention of its last `rows` positions to the reference, exact and in
/// integers, in units of the bound: at most 1. histories: one a kv head.
template <class Cache>
double worst_attention(const Cache& cache, const Tokens& q, std::size_t rows,
                       const std::vector<History>& histories, tightkv::AttendParams params = {}) {
  const std::size_t first = cache.size() - rows, group = q.heads / cache.kv_heads();
  double worst = 0;
  for (const auto arithmetic : {tightkv::Arithmetic::exact, tightkv::Arithmetic::integer}) {
    params.arithmetic = arithmetic;
    const std::vector<float> out = attend(cache, q.view(q.size() - rows, rows), params);
    for (std::size_t r = 0; r < rows; ++r)
      for (std::size_t h = 0; h < q.heads; ++h) {
        const History& history = histories[h / group];
        const float* query = q.row(q.size() - rows + r, h);
        const Vector expected = attention(history, query, h, first + r, params);
        const float* actual = out.data() + (r * q.heads + h) * cache.value_dim();
        Vector error(cache.value_dim());
        for (std::size_t i = 0; i < error.size(); ++i)
          error[i] = static_cast<double>(actual[i]) - expected[i];
        const double q_norm = norm(Vector(query, query + q.dim));
        double bound = attention_bound(cache.format(), cache.size(), q_norm, history, params);
        if (arithmetic == tightkv::Arithmetic::integer)
          bound += integer_bound(cache.format(), q_norm, history, params);
        if (!(norm(error) <= bound)) worst = std::max(worst, 2.0);  // NaN too
        worst = std::max(worst, norm(error) / bound);
      }
  }
  return worst;
}

template <class Cache>
std::vector<History> decoded_heads(const Cache& cache) {
  std::vector<History> histories;
  for (std::size_t h = 0; h < cache.kv_heads(); ++h) histories.push_back(decoded(cache, h));
  return histories;
}

}  // namespace tightkv_test
