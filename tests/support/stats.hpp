// support/stats.hpp: how tests judge random results: mean and standard error, coverage, distribution.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numbers>
#include <vector>

namespace tightkv_test {

/// Mean and variance of independent values (Welford). z(m): by how many standard errors the mean misses m.
class Moments {
 public:
  void add(double x) {
    const double delta = x - mean_;
    mean_ += delta / ++count_;
    sum2_ += delta * (x - mean_);
  }
  double count() const { return count_; }
  double mean() const { return mean_; }
  double variance() const { return sum2_ / (count_ - 1); }
  double mean_square() const { return sum2_ / count_ + mean_ * mean_; }
  double standard_error() const { return std::sqrt(variance() / count_); }
  double z(double expected = 0) const { return (mean_ - expected) / standard_error(); }

 private:
  double count_ = 0, mean_ = 0, sum2_ = 0;
};

/// z of `hits` out of `trials` where each hits with probability p.
inline double binomial_z(double hits, double trials, double p) {
  return (hits - trials * p) / std::sqrt(trials * p * (1 - p));
}

inline double normal_cdf(double x) { return std::erfc(-x / std::numbers::sqrt2) / 2; }

/// sqrt(n) sup |F_n - F| of a sample against N(0, 1). Above 1.95 in one of 1,000 samples (Kolmogorov).
inline double kolmogorov(std::vector<double> sample) {
  std::sort(sample.begin(), sample.end());
  const double n = static_cast<double>(sample.size());
  double worst = 0;
  for (std::size_t i = 0; i < sample.size(); ++i) {
    const double f = normal_cdf(sample[i]), low = static_cast<double>(i) / n;
    worst = std::max({worst, f - low, low + 1 / n - f});
  }
  return worst * std::sqrt(n);
}

/// (chi^2 - k) / sqrt(2 k) with k = bins - 1, for counts that should be equal: about a standard normal.
inline double uniform_chi_square_z(const std::vector<double>& counts) {
  double total = 0, chi2 = 0;
  for (const double c : counts) total += c;
  const double expected = total / static_cast<double>(counts.size());
  for (const double c : counts) chi2 += (c - expected) * (c - expected) / expected;
  const double k = static_cast<double>(counts.size()) - 1;
  return (chi2 - k) / std::sqrt(2 * k);
}

}  // namespace tightkv_test
