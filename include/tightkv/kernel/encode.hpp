// kernel/encode.hpp: the encoding of 16 vectors at once, lane = token. Every integer equals
// PolarQuant::encode's.
#pragma once

#include "plan.hpp"

namespace tightkv::inline TIGHTKV_ABI::kernel {

/// The tables of a Hadamard rotation, for kernels.
struct HadamardView {
  std::size_t width = 0;  ///< 2^k; 0 = no rotation
  int log2_width = 0;
  const std::uint8_t* negative = nullptr;  ///< (2 rounds, dim): 1 where the sign is flipped
  const std::int32_t* dct = nullptr;       ///< (m, m), m = dim / width, units of 2^-30
  const float* signs = nullptr;            ///< (2 rounds, dim): +-2^(-k/2), for floats
  const float* dct_floats = nullptr;       ///< (m, m)
};

/// 16 rows in, codes and the sums that decide their scales out.
struct EncodeTile {
  // the rows: raw, `stride` bytes apart
  const std::byte* rows = nullptr;
  std::size_t stride = 0;
  ElementType type = ElementType::f32;
  std::size_t dim = 0;
  // the mean that is taken off: halfs times 2^mean_exponent, mean_dims of them (0 = none)
  const Half* mean = nullptr;
  std::size_t mean_dims = 0;
  int mean_exponent = 0;
  // what it is coded with
  HadamardView rotation;
  const LevelPlan* plan = nullptr;
  bool stretch = false;  ///< Grid: each vector's largest coordinate meets the largest level
  std::uint64_t unit_q32 = 0;
  std::span<const std::uint32_t> factors;
  // out: lane t belongs to row t
  std::uint8_t* codes = nullptr;  ///< (padded dim, 16)
  alignas(64) std::uint64_t n2[16], norm_q6[16], cc[16];
  alignas(64) std::int64_t ip[16];
  alignas(64) std::int32_t unit[16];
  std::byte* scratch = nullptr;  ///< scratch_bytes(padded dim), 64-byte aligned

  /// x, two words a trellis step, and the codes of a candidate.
  static constexpr std::size_t scratch_bytes(std::size_t padded) noexcept { return padded * (64 + 128 + 16); }
};

}  // namespace tightkv::inline TIGHTKV_ABI::kernel
