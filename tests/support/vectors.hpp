// support/vectors.hpp: test vectors, the same on every platform: std distributions are not portable.
#pragma once

#include <cmath>
#include <cstdint>
#include <numbers>
#include <random>
#include <string>
#include <vector>

namespace tightkv_test {

using Vector = std::vector<double>;

class Rng {
 public:
  explicit Rng(std::uint64_t seed) : engine_(seed) {}
  std::uint64_t bits() { return engine_(); }
  double uniform() { return (static_cast<double>(engine_() >> 11) + 0.5) * 0x1p-53; }
  std::size_t below(std::size_t n) { return static_cast<std::size_t>(uniform() * static_cast<double>(n)); }
  double normal() {  // Box and Muller
    if (has_spare_) return has_spare_ = false, spare_;
    const double r = std::sqrt(-2 * std::log(uniform())), angle = 2 * std::numbers::pi * uniform();
    spare_ = r * std::sin(angle), has_spare_ = true;
    return r * std::cos(angle);
  }
  Vector normals(std::size_t n) {
    Vector v(n);
    for (double& x : v) x = normal();
    return v;
  }

 private:
  std::mt19937_64 engine_;
  double spare_ = 0;
  bool has_spare_ = false;
};

template <class A, class B>
double dot(const A& a, const B& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += static_cast<double>(a[i]) * static_cast<double>(b[i]);
  return sum;
}
template <class A>
double norm(const A& a) {
  return std::sqrt(dot(a, a));
}
inline Vector scaled(Vector v, double by) {
  for (double& x : v) x *= by;
  return v;
}
inline Vector unit(const Vector& v) { return scaled(v, 1 / norm(v)); }
inline Vector sum(Vector a, const Vector& b, double weight = 1) {
  for (std::size_t i = 0; i < a.size(); ++i) a[i] += weight * b[i];
  return a;
}
inline std::vector<float> floats(const Vector& v) { return {v.begin(), v.end()}; }
inline Vector doubles(const std::vector<float>& v) { return {v.begin(), v.end()}; }

/// A unit vector at right angles to unit u, from the direction of v.
inline Vector orthogonal_part(const Vector& u, const Vector& v) { return unit(sum(v, u, -dot(u, v))); }

/// A uniformly random orthonormal pair: what a Haar rotation makes of any fixed one.
struct Frame {
  Vector x, y;
  Frame(std::size_t dim, Rng& rng) : x(unit(rng.normals(dim))), y(orthogonal_part(x, rng.normals(dim))) {}
};

/// The unit vector at `cosine` to x in the plane of the orthonormal x, y.
inline Vector at_cosine(const Vector& x, const Vector& y, double cosine) {
  return sum(scaled(x, cosine), y, std::sqrt(1 - cosine * cosine));
}

/// The fixed unit vectors that break weak rotations: all energy in one or two coordinates, keys with three
/// constant channels ten times the rest, and a plain Gaussian one.
inline const char* const fixed_inputs[] = {"one-hot", "two-hot", "key-like", "gaussian"};

inline Vector fixed_input(const std::string& name, std::size_t dim) {
  Rng rng(2024 + dim);
  Vector x(dim, 0.0);
  if (name == "one-hot") {
    x[dim / 3] = 1;
  } else if (name == "two-hot") {
    x[1] = 1, x[dim / 2 + 1] = -1;
  } else {
    x = rng.normals(dim);
    if (name == "key-like") x[2] += 30, x[dim / 2] -= 20, x[dim - 3] += 25;
  }
  return unit(x);
}

}  // namespace tightkv_test
