// gguf.hpp: what a GGUF file says: its metadata, and where each tensor lies. gguf_reader.hpp fills it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "error.hpp"
#include "tensor_type.hpp"

namespace engine {

struct GgufTensor {
  std::string name;
  std::vector<std::size_t> dims;  // dims[0] runs fastest: a weight matrix is {inputs, outputs}
  TensorType type;
  std::span<const std::byte> data;  // whole blocks, inside the file
};

/// All integer widths arrive as int64, both float widths as double, arrays of bool as integers.
using GgufValue = std::variant<std::int64_t, double, bool, std::string, std::vector<std::int64_t>,
                               std::vector<double>, std::vector<std::string>>;

class Gguf {
 public:
  Gguf() = default;
  Gguf(Gguf&&) = default;
  Gguf& operator=(Gguf&&) = default;
  Gguf(const Gguf&) = delete;  // tensors point into bytes
  Gguf& operator=(const Gguf&) = delete;

  std::vector<std::byte> bytes;  // the file
  std::map<std::string, GgufValue, std::less<>> values;
  std::map<std::string, GgufTensor, std::less<>> tensors;

  bool has(const std::string& key) const { return values.contains(key); }

  /// The value of a key that must be there and have type T.
  template <class T>
  const T& get(const std::string& key) const {
    const auto found = values.find(key);
    if (found == values.end()) throw Error("gguf: the key " + printable(key) + " is missing");
    if (const T* value = std::get_if<T>(&found->second)) return *value;
    throw Error("gguf: the key " + printable(key) + " has an unexpected type");
  }

  template <class T>
  T get_or(const std::string& key, T otherwise) const {
    return has(key) ? get<T>(key) : otherwise;
  }

  /// An integer inside [low, high].
  std::int64_t integer(const std::string& key, std::int64_t low, std::int64_t high) const {
    const auto value = get<std::int64_t>(key);
    if (value < low || value > high)
      throw Error("gguf: " + printable(key) + " is " + std::to_string(value) +
                  ", allowed: " + std::to_string(low) + " to " + std::to_string(high));
    return value;
  }

  const GgufTensor* find_tensor(const std::string& name) const {
    const auto found = tensors.find(name);
    return found == tensors.end() ? nullptr : &found->second;
  }
};

}  // namespace engine
