// conditioner/mean.hpp: a per-channel mean, subtracted before coding. The cure for keys that are a constant
// plus a little.
#pragma once

#include "../core/record.hpp"

namespace tightkv::inline TIGHTKV_ABI {

/// A vector of halfs times 2^exponent; empty = none. As stored: subtracting it is exact integer arithmetic.
struct HalfVector {
  Buffer<Half> values;
  int exponent = 0;

  float at(std::size_t i) const noexcept { return fixed::scale_by(to_float(values[i]), exponent); }
};

/// `count` rows of `dim` elements, `stride` bytes apart: the tokens of a block as they wait in the tail.
struct RowsView {
  const std::byte* data = nullptr;
  std::size_t count = 0, dim = 0, stride = 0;
  ElementType type = ElementType::f32;

  const std::byte* row(std::size_t i) const noexcept { return data + i * stride; }
};

namespace detail {

/// The exponent e with |x| < 2^e for all elements; -1000 if all are zero.
inline int exponent_above(const RowsView& rows) noexcept {
  int e = -1000;
  for (std::size_t t = 0; t < rows.count; ++t)
    for (std::size_t i = 0; i < rows.dim; ++i)
      e = (std::max)(e, fixed::exponent_above(float_bits(rows.row(t), rows.type, i)));
  return e;
}

}  // namespace detail

/// The mean over the rows, per channel, summed in integers with 28 bits of the largest element, rounded to
/// halfs. softmax(q.(k - mean)) = softmax(q.k), and the scores add q.mean back, so subtracting it costs
/// nothing and is exact.
inline HalfVector mean_of_rows(const RowsView& rows) {
  HalfVector mean;
  mean.values.assign(rows.dim, Half{});
  const int unit = detail::exponent_above(rows) - 28;
  if (unit < -1000) return mean;
  Buffer<fixed::Scale> scales(rows.dim);
  const auto count = static_cast<std::int64_t>(rows.count);
  for (std::size_t i = 0; i < rows.dim; ++i) {
    std::int64_t sum = 0;
    for (std::size_t t = 0; t < rows.count; ++t)
      sum += fixed::from_float_bits(detail::float_bits(rows.row(t), rows.type, i), unit);
    scales[i] = fixed::round_to_scale((sum * 16) / count, unit - 4);
  }
  mean.exponent = fixed::block_exponent(scales);
  for (std::size_t i = 0; i < rows.dim; ++i) mean.values[i] = fixed::to_half(scales[i], mean.exponent);
  return mean;
}

}  // namespace tightkv::inline TIGHTKV_ABI
