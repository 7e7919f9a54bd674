// expect: tightkv: PolarQuant<Rotation, Codebook, Scale>: the first type does not model tightkv::Rotation
#include <tightkv/codebook/lloyd_max.hpp>
#include <tightkv/quantizer/polar_quant.hpp>
#include <tightkv/rotation/hadamard.hpp>

#if defined(BAD)
/// Almost: it turns floats only, so it could not decide a stored byte.
struct Rotation {
  static constexpr tightkv::RotationKind kind = tightkv::RotationKind::matrix;
  Rotation(std::size_t dim, std::uint64_t) : dim_(dim) {}
  std::size_t dim() const noexcept { return dim_; }
  void forward(std::span<float>) const noexcept {}
  void inverse(std::span<float>) const noexcept {}
  std::uint64_t hash() const noexcept { return 0; }
  std::size_t dim_;
};
#else
using Rotation = tightkv::Hadamard;
#endif

std::size_t dim() { return tightkv::PolarQuant<Rotation, tightkv::LloydMax<4>>(128, 42).dim(); }
