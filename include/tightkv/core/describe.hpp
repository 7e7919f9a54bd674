// core/describe.hpp: a Format's fields as words.
#pragma once

#include "format.hpp"

namespace tightkv::inline TIGHTKV_ABI {

constexpr const char* name(CodecKind k) noexcept {
  constexpr const char* names[] = {"raw", "polar_quant", "turbo_quant", "qjl", "group_quant", "q8"};
  return names[static_cast<std::size_t>(k)];
}
constexpr const char* name(RotationKind k) noexcept {
  constexpr const char* names[] = {"identity", "haar", "hadamard", "matrix"};
  return names[static_cast<std::size_t>(k)];
}
constexpr const char* name(CodebookKind k) noexcept {
  constexpr const char* names[] = {"none", "lloyd_max", "uniform", "grid", "trellis", "table"};
  return names[static_cast<std::size_t>(k)];
}
constexpr const char* name(ProjectionKind k) noexcept {
  constexpr const char* names[] = {"none", "gaussian", "orthogonal", "srht"};
  return names[static_cast<std::size_t>(k)];
}
constexpr const char* name(ScaleKind k) noexcept {
  constexpr const char* names[] = {"unbiased", "min_mse", "norm_corrected", "unit"};
  return names[static_cast<std::size_t>(k)];
}
constexpr const char* name(ConditionerKind k) noexcept {
  constexpr const char* names[] = {"none", "frozen_mean", "balanced", "block_mean"};
  return names[static_cast<std::size_t>(k)];
}

/// For example "polar_quant 4 bits, hadamard, trellis, unbiased scale, 5 search points, block_mean".
inline std::string describe(const CodecFormat& c) {
  using detail::join;
  std::string text =
      c.kind == CodecKind::raw ? join("raw ", name(c.element)) : join(name(c.kind), " ", c.bits, " bits");
  if (c.kind == CodecKind::polar_quant || c.kind == CodecKind::turbo_quant)
    text += join(", ", name(c.rotation), ", ", name(c.codebook), ", ", name(c.scale), " scale, ",
                 c.search_points, " search point", c.search_points == 1 ? "" : "s");
  if (c.projection != ProjectionKind::none) text += join(", ", name(c.projection), " sketch");
  if (c.kind == CodecKind::group_quant)
    text += c.group ? join(", groups of ", c.group) : std::string(", one group");
  if (c.raw_dims) text += join(", last ", c.raw_dims, " dims raw ", name(c.element));
  if (c.conditioner != ConditionerKind::none) text += join(", ", name(c.conditioner));
  return text;
}

}  // namespace tightkv::inline TIGHTKV_ABI
