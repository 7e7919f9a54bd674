// tensor_type.hpp: the ggml tensor types this engine reads, and how many bytes a block of each takes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "error.hpp"

namespace engine {

/// The numbers are those of the file format.
enum class TensorType : std::uint32_t {
  f32 = 0,
  f16 = 1,
  q4_0 = 2,
  q4_1 = 3,
  q5_0 = 6,
  q8_0 = 8,
  q4_k = 12,
  q6_k = 14,
  bf16 = 30,
};

struct TensorLayout {
  TensorType type;
  const char* name;
  std::size_t block_values;  // values of one row that share a header
  std::size_t block_bytes;
};

inline constexpr std::array<TensorLayout, 9> tensor_layouts{{
    {TensorType::f32, "F32", 1, 4},
    {TensorType::f16, "F16", 1, 2},
    {TensorType::q4_0, "Q4_0", 32, 18},
    {TensorType::q4_1, "Q4_1", 32, 20},
    {TensorType::q5_0, "Q5_0", 32, 22},
    {TensorType::q8_0, "Q8_0", 32, 34},
    {TensorType::q4_k, "Q4_K", 256, 144},
    {TensorType::q6_k, "Q6_K", 256, 210},
    {TensorType::bf16, "BF16", 1, 2},
}};

/// The layout of a type number as it stands in a file.
inline const TensorLayout& tensor_layout(std::uint32_t number) {
  std::string known;
  for (const TensorLayout& layout : tensor_layouts) {
    if (static_cast<std::uint32_t>(layout.type) == number) return layout;
    known += std::string(known.empty() ? "" : ", ") + layout.name;
  }
  throw Error("tensor type " + std::to_string(number) + " is not supported; known: " + known);
}

inline const TensorLayout& tensor_layout(TensorType type) {
  return tensor_layout(static_cast<std::uint32_t>(type));
}

}  // namespace engine
