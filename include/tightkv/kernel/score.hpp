// kernel/score.hpp: dot products of int8 levels with a prepared query.
#pragma once

#include "isa.hpp"
#include "score/scalar.hpp"

namespace tightkv::inline TIGHTKV_ABI::kernel {

/// <levels, q>: from the integers of q, times its scale, or from its floats.
inline float dot(std::span<const std::int8_t> levels, const IntegerVector& code, std::span<const float> exact,
                 Arithmetic arithmetic) noexcept {
  return arithmetic == Arithmetic::integer ? dot_integer(scalar{}, levels, code) * code.scale
                                           : dot_exact(scalar{}, levels, exact);
}

/// The same over dims begin .. begin + levels.size() - 1 of the query: one group of GroupQuant or Q8.
inline float dot_range(std::span<const std::int8_t> levels, std::size_t begin, const IntegerVector& code,
                       std::span<const float> exact, Arithmetic arithmetic) noexcept {
  return arithmetic == Arithmetic::integer ? dot_integer(scalar{}, levels, code, begin) * code.scale
                                           : dot_exact(scalar{}, levels, exact.subspan(begin));
}

/// sum over rows of (sign ? q : -q), the sketch part of TurboQuant and QJL.
inline float dot_signs(std::span<const std::uint8_t> signs, const IntegerVector& code,
                       std::span<const float> exact, Arithmetic arithmetic) noexcept {
  return arithmetic == Arithmetic::integer ? dot_signs_integer(scalar{}, signs, code) * code.scale
                                           : dot_signs_exact(scalar{}, signs, exact);
}

}  // namespace tightkv::inline TIGHTKV_ABI::kernel
