// gguf_writer.hpp: GGUF files in memory, valid ones and ones that no writer would write.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

namespace gguf_test {

enum Type : std::uint32_t { u8, i8, u16, i16, u32, i32, f32, boolean, text, array, u64, i64, f64 };

/// Appends fields as they stand in the format; nothing is checked, so any lie can be told.
class Bytes {
 public:
  template <class T>
  Bytes& put(T value) {
    const auto* from = reinterpret_cast<const std::byte*>(&value);
    data.insert(data.end(), from, from + sizeof value);
    return *this;
  }
  Bytes& string(const std::string& s) {
    put<std::uint64_t>(s.size());
    const auto* from = reinterpret_cast<const std::byte*>(s.data());
    data.insert(data.end(), from, from + s.size());
    return *this;
  }
  Bytes& append(const Bytes& other) {
    data.insert(data.end(), other.data.begin(), other.data.end());
    return *this;
  }
  Bytes& pad(std::size_t alignment) {
    while (data.size() % alignment != 0) data.push_back(std::byte{0});
    return *this;
  }

  std::vector<std::byte> data;
};

struct Tensor {
  std::string name;
  std::vector<std::uint64_t> dims;
  std::uint32_t type = 0;  // F32
  std::vector<float> values = {};
};

/// A whole file: metadata through the add functions, then tensors, laid out one after the other.
class File {
 public:
  File& add(const std::string& key, Type type, const Bytes& value) {
    pairs_.string(key).put<std::uint32_t>(type).append(value);
    ++count_;
    return *this;
  }
  File& add_text(const std::string& key, const std::string& value) {
    return add(key, text, Bytes().string(value));
  }
  File& add_u32(const std::string& key, std::uint32_t value) { return add(key, u32, Bytes().put(value)); }
  File& add_f32(const std::string& key, float value) { return add(key, f32, Bytes().put(value)); }
  File& add_tensor(Tensor tensor) {
    tensors_.push_back(std::move(tensor));
    return *this;
  }

  std::vector<Tensor>& tensors() { return tensors_; }

  std::vector<std::byte> bytes(std::size_t alignment = 32) const {
    Bytes out, content;
    out.put<std::uint32_t>(0x46554747).put<std::uint32_t>(3);
    out.put<std::uint64_t>(tensors_.size()).put<std::uint64_t>(count_).append(pairs_);
    for (const Tensor& t : tensors_) {
      out.string(t.name).put(static_cast<std::uint32_t>(t.dims.size()));
      for (const std::uint64_t dim : t.dims) out.put(dim);
      content.pad(alignment);
      out.put(t.type).put<std::uint64_t>(content.data.size());
      for (const float x : t.values) content.put(x);
    }
    return out.pad(alignment).append(content).data;
  }

 private:
  Bytes pairs_;
  std::uint64_t count_ = 0;
  std::vector<Tensor> tensors_;
};

}  // namespace gguf_test
