// 02_unbiased.cpp: bias and variance of the inner products that each key codec keeps, at equal bits.
//
// A codec with a Haar rotation R sees a fixed pair (key, query) of cosine rho as (R key, R query): a
// uniformly random pair of cosine rho. So random pairs through the Identity rotation have the distribution of
// one fixed pair under Haar, at a thousandth of the cost of drawing rotations.
#include <tightkv/codebook/lloyd_max.hpp>
#include <tightkv/codebook/trellis.hpp>
#include <tightkv/conditioner/condition.hpp>
#include <tightkv/projection/gaussian.hpp>
#include <tightkv/projection/orthogonal.hpp>
#include <tightkv/quantizer/turbo_quant.hpp>
#include <tightkv/rotation/identity.hpp>

#include <cmath>
#include <cstdio>
#include <vector>

namespace {

using namespace tightkv;

constexpr std::size_t dim = 128, batches = 64, pairs = 128;  // a new sketch for every batch of pairs
constexpr double cosines[] = {0.0, 0.5};

/// Sums of (estimate - cosine) for one cosine.
struct Errors {
  double sum = 0, squares = 0, squared_batches = 0;

  void add_batch(double batch_sum) { sum += batch_sum, squared_batches += batch_sum * batch_sum; }
  double bias() const { return sum / (batches * pairs); }
  /// Bias over its standard error, from the spread of the batches: pairs of a batch share a sketch.
  double z() const {
    const double mean = sum / batches, spread = squared_batches / batches - mean * mean;
    return mean / std::sqrt(spread / (batches - 1));
  }
  double mse() const { return dim * squares / (batches * pairs); }
  double variance() const { return mse() - dim * bias() * bias(); }
};

double dot(std::span<const float> a, std::span<const float> b) {
  double sum = 0;
  for (std::size_t i = 0; i < dim; ++i) sum += static_cast<double>(a[i]) * static_cast<double>(b[i]);
  return sum;
}

/// Keys and second vectors in turn, dim each: the same for every codec. Integers, so they are exact as
/// floats.
const std::vector<float>& gaussian_vectors() {
  static const std::vector<float> vectors = [] {
    std::vector<float> data(batches * pairs * 2 * dim);
    IntegerNormal normal(11, RandomStream{100});
    for (float& x : data) x = static_cast<float>(normal.next());
    return data;
  }();
  return vectors;
}

/// One line of the table. make(seed) gives a key codec of PolarQuant<Identity, ...> or TurboQuant<Identity,
/// ...>.
void measure(const char* label, unsigned bits, auto&& make) {
  std::vector<float> query(dim);
  std::vector<std::int32_t> x(dim);
  std::vector<std::int8_t> levels(dim);
  Record record;
  PreparedQuery prepared;
  Errors errors[std::size(cosines)];
  for (std::size_t batch = 0; batch < batches; ++batch) {
    const auto codec = make(batch);
    double batch_sum[std::size(cosines)] = {};
    for (std::size_t pair = 0; pair < pairs; ++pair) {
      const std::span<const float> two(&gaussian_vectors()[(batch * pairs + pair) * 2 * dim], 2 * dim);
      const auto key = two.first(dim), other = two.last(dim);
      const int unit = condition_row(reinterpret_cast<const std::byte*>(key.data()), ElementType::f32, {}, x);
      record.resize(codec.shape());
      codec.encode({x, unit}, record);
      codec.levels(record.codes, levels);
      std::vector<float> scales;
      for (const fixed::Scale s : record.scales) scales.push_back(fixed::to_float(s));

      const double length = std::sqrt(dot(key, key)), along = dot(key, other) / length,
                   across = std::sqrt(dot(other, other) - along * along);
      for (std::size_t c = 0; c < std::size(cosines); ++c) {  // a unit query with cosine c to the key
        const double a = (cosines[c] - std::sqrt(1 - cosines[c] * cosines[c]) * along / across) / length;
        const double b = std::sqrt(1 - cosines[c] * cosines[c]) / across;
        for (std::size_t i = 0; i < dim; ++i)
          query[i] = static_cast<float>(a * static_cast<double>(key[i]) + b * static_cast<double>(other[i]));
        codec.prepare(query, prepared);
        const double estimate = static_cast<double>(
            codec.score(prepared, {levels, record.signs, scales, nullptr}, Arithmetic::exact));
        const double error = estimate / length - cosines[c];
        batch_sum[c] += error;
        errors[c].squares += error * error;
      }
    }
    for (std::size_t c = 0; c < std::size(cosines); ++c) errors[c].add_batch(batch_sum[c]);
  }
  std::printf("%-34s %4u", label, bits);
  for (const Errors& e : errors)
    std::printf(" | %9.1f %7.1f %7.4f %7.4f", 1e4 * e.bias(), e.z(), e.variance(), e.mse());
  std::printf("\n");
}

template <class C, class S>
auto polar() {
  return [](std::size_t) { return PolarQuant<Identity, C, S>(dim, 0); };
}
template <class C, class P>
auto turbo() {
  return [](std::size_t seed) { return TurboQuant<Identity, C, P>(dim, seed); };
}

template <unsigned Bits>
void measure_all() {
  measure("TurboQuant, Gaussian sketch", Bits, turbo<LloydMax<Bits - 1>, Gaussian>());
  measure("TurboQuant, orthogonal sketch", Bits, turbo<LloydMax<Bits - 1>, Orthogonal>());
  measure("PolarQuant Lloyd-Max, unbiased", Bits, polar<LloydMax<Bits>, scale::Unbiased>());
  measure("PolarQuant trellis, unbiased", Bits, polar<Trellis<Bits>, scale::Unbiased>());
  measure("PolarQuant Lloyd-Max, norm-corr.", Bits, polar<LloydMax<Bits>, scale::NormCorrected>());
  measure("PolarQuant Lloyd-Max, unit scale", Bits, polar<LloydMax<Bits>, scale::Unit>());
}

}  // namespace

int main() {
  std::printf("Unit keys and queries, dim %zu, %zu pairs; z = bias / its standard error\n\n", dim,
              batches * pairs);
  std::printf("%39s", "");
  for (const double c : cosines) std::printf(" | %29s %.1f", "cosine", c);
  std::printf("\n%-34s %4s", "", "bits");
  for (std::size_t c = 0; c < std::size(cosines); ++c)
    std::printf(" | %9s %7s %7s %7s", "1e4 bias", "z", "d var", "d mse");
  std::printf("\n");
  measure_all<2>();
  measure_all<3>();
  measure_all<4>();
}
