// kernel/accumulate.hpp: the weighted sum of the int8 levels of a block's tokens.
#pragma once

#include "accumulate/scalar.hpp"

namespace tightkv::inline TIGHTKV_ABI::kernel {

/// sum[i] += sum_t weights[t] levels[t * stride + i]. levels: (tokens, stride), the first sum.size() columns
/// are used.
inline void accumulate(std::span<const std::int8_t> levels, std::size_t stride,
                       std::span<const float> weights, std::span<float> sum, Arithmetic arithmetic) noexcept {
  if (arithmetic == Arithmetic::integer)
    accumulate_integer(scalar{}, levels, stride, weights, sum);
  else
    accumulate_exact(scalar{}, levels, stride, weights, sum);
}

}  // namespace tightkv::inline TIGHTKV_ABI::kernel
