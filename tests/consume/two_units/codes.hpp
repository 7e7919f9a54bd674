// Both units instantiate the same templates here; the inline namespace must keep them apart.
#pragma once

#include <array>
#include <cstdint>
#include <tightkv/codebook/lloyd_max.hpp>
#include <tightkv/quantizer/polar_quant.hpp>
#include <tightkv/rotation/hadamard.hpp>

namespace {

/// Encodes fixed vectors, scores and decodes them, and folds all bytes into one number. The scores enter rounded, for
/// units with and without fused multiply-add may differ in the last bits. No std::vector of its own, so that only the
/// library's are in question.
inline std::uint64_t codes() {
  constexpr std::size_t dim = 128;
  const tightkv::PolarQuant<tightkv::Hadamard, tightkv::LloydMax<4>> codec(dim, 42);
  std::array<float, dim> query;
  query.fill(1.0f);
  tightkv::PreparedQuery prepared;
  codec.prepare(query, prepared);
  std::uint64_t all = 0;
  const auto fold = [&all](std::uint64_t value) { all = all * 0x100000001b3 + value; };
  for (int vector = 0; vector < 32; ++vector) {
    std::array<std::int32_t, dim> x;
    for (std::size_t i = 0; i < dim; ++i) x[i] = static_cast<std::int32_t>(i * i * 37 % 1009) - 500 + vector;
    tightkv::Record record;
    record.resize(codec.shape());
    codec.encode({x, 0, nullptr, tightkv::ElementType::f32}, record);
    std::array<std::int8_t, dim> levels;
    codec.levels(record.codes, levels);
    const std::array<float, 1> scales = {static_cast<float>(record.scales[0].mantissa)};
    const tightkv::RecordView view{levels, record.signs, scales, nullptr};
    std::array<float, dim> out;
    codec.decode(view, out);
    for (const std::uint8_t code : record.codes) fold(code);
    fold(static_cast<std::uint64_t>(record.scales[0].mantissa));
    fold(codec.score(prepared, view, tightkv::Arithmetic::integer) != 0.0f);
    fold(out[0] != 0.0f);
  }
  return all;
}

}  // namespace
