// support/npy.hpp: reads the float16 .npy files of tests/data.
#pragma once

#include <tightkv/core/types.hpp>

#include <cstdint>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <vector>

namespace tightkv_test {

struct Npy {
  std::vector<std::size_t> shape;
  std::vector<tightkv::Half> halves;  // C order
  std::vector<float> values;          // the same

  std::size_t rows() const { return values.size() / shape.back(); }
  std::size_t dim() const { return shape.back(); }
  const float* row(std::size_t i) const { return values.data() + i * dim(); }
};

inline Npy read_npy(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string data{std::istreambuf_iterator<char>(file), {}};
  if (data.compare(0, 8, std::string("\x93NUMPY\x01\x00", 8)) != 0)
    throw std::runtime_error(path + " is not a .npy file of version 1.0");
  const auto byte = [&](std::size_t i) { return static_cast<unsigned>(static_cast<unsigned char>(data[i])); };
  const std::size_t length = byte(8) | byte(9) << 8;
  const std::string header = data.substr(10, length);
  if (header.find("'<f2'") == std::string::npos || header.find("'fortran_order': False") == std::string::npos)
    throw std::runtime_error(path + " is not little-endian float16 in C order");
  Npy out;
  std::size_t count = 1;
  for (std::size_t at = header.find('('); header[at] != ')';) {
    std::size_t digits = 0;
    out.shape.push_back(std::stoul(header.substr(at + 1), &digits));
    count *= out.shape.back();
    at = header.find_first_of(",)", at + 1);
    if (header[at] == ',' && header[at + 1] == ')') break;
  }
  if (data.size() != 10 + length + 2 * count) throw std::runtime_error(path + " has a wrong size");
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t at = 10 + length + 2 * i;
    out.halves.push_back({static_cast<std::uint16_t>(byte(at) | byte(at + 1) << 8)});
    out.values.push_back(tightkv::to_float(out.halves.back()));
  }
  return out;
}

/// A file of tests/data: test_data("layer00_k").
inline Npy test_data(const std::string& name) {
  return read_npy(std::string(TIGHTKV_TEST_DATA_DIR) + "/" + name + ".npy");
}

}  // namespace tightkv_test
