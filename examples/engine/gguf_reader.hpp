// gguf_reader.hpp: parses a GGUF file that nobody vouches for.
//
// No length, count, dimension or offset is used before it is compared with the bytes that are left, so a
// broken or hostile file ends in an Error, and memory stays within a small multiple of the file's size. The
// file is read, not mapped: one that shrinks while in use cannot raise a bus error.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "gguf.hpp"

namespace engine {

class GgufReader {
 public:
  static Gguf parse(std::vector<std::byte> bytes) {
    static_assert(std::endian::native == std::endian::little, "GGUF numbers are little-endian");
    Gguf file;
    file.bytes = std::move(bytes);
    GgufReader(file).run();
    return file;
  }

  static Gguf open(const std::filesystem::path& path) {
    std::error_code failure;
    if (!std::filesystem::is_regular_file(path, failure))
      throw Error(path.string() + " is not a readable file");
    const auto size = static_cast<std::size_t>(std::filesystem::file_size(path));
    std::vector<std::byte> bytes(size);
    std::ifstream in(path, std::ios::binary);
    in.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(size));
    if (!in || static_cast<std::size_t>(in.gcount()) != size)
      throw Error("could not read the " + std::to_string(size) + " bytes of " + path.string());
    return parse(std::move(bytes));
  }

 private:
  static constexpr std::uint64_t max_key_length = 65535;  // the specification's own limit
  static constexpr std::uint64_t max_alignment = 65536;
  static constexpr std::uint32_t max_rank = 4;
  enum ValueType : std::uint32_t { u8, i8, u16, i16, u32, i32, f32, boolean, text, array, u64, i64, f64 };

  explicit GgufReader(Gguf& file) : file_(file), in_(file.bytes) {}

  void run() {
    need(4, "the magic");
    if (std::memcmp(in_.data(), "GGUF", 4) != 0) fail("the file does not begin with the letters GGUF");
    at_ = 4;
    const auto version = scalar<std::uint32_t>("the version");
    if (version != 2 && version != 3)
      fail("version " + std::to_string(version) + " is not supported (known: 2, 3, little-endian)");
    const auto tensor_count = scalar<std::uint64_t>("the tensor count");
    const auto value_count = scalar<std::uint64_t>("the key count");
    check_count(value_count, 8 + 1 + 4 + 1, "the key count");  // smallest entry: 1-letter key, 1-byte value
    for (std::uint64_t i = 0; i < value_count; ++i) read_pair();
    check_count(tensor_count, 8 + 1 + 4 + 8 + 4 + 8, "the tensor count");
    read_tensors(tensor_count);
  }

  void read_pair() {
    std::string key = string("a key", max_key_length);
    if (key.empty()) fail("a key is empty");
    const auto type = scalar<std::uint32_t>("a value type");
    GgufValue value = read_value(key, type);
    if (!file_.values.emplace(key, std::move(value)).second)
      fail("the key " + printable(key) + " occurs twice");
  }

  GgufValue read_value(const std::string& key, std::uint32_t type) {
    switch (type) {
      case f32:
      case f64:
        return real(type);
      case boolean:
        return flag();
      case text:
        return string(key.c_str());
      case array:
        return read_array(key);
      default:
        return integer(key, type);
    }
  }

  GgufValue read_array(const std::string& key) {
    const auto type = scalar<std::uint32_t>("an array's element type");
    const auto count = scalar<std::uint64_t>("an array length");
    if (type == array)
      fail("the key " + printable(key) + " holds an array of arrays, which is not supported");
    check_count(count, value_bytes(key, type), "the length of the array");
    if (type == text) return elements<std::string>(count, [&] { return string(key.c_str()); });
    if (type == f32 || type == f64) return elements<double>(count, [&] { return real(type); });
    if (type == boolean) return elements<std::int64_t>(count, [&] { return std::int64_t{flag()}; });
    return elements<std::int64_t>(count, [&] { return integer(key, type); });
  }

  /// `count` has been checked against the bytes left, so it may be reserved.
  template <class T, class Next>
  static std::vector<T> elements(std::uint64_t count, Next next) {
    std::vector<T> out;
    out.reserve(static_cast<std::size_t>(count));
    for (std::uint64_t i = 0; i < count; ++i) out.push_back(next());
    return out;
  }

  void read_tensors(std::uint64_t count) {
    struct Entry {
      GgufTensor tensor;
      std::uint64_t offset, size;
    };
    std::vector<Entry> entries;
    for (std::uint64_t i = 0; i < count; ++i) {
      Entry e;
      e.tensor.name = string("a tensor name", max_key_length);
      e.size = read_shape(e.tensor);
      e.offset = scalar<std::uint64_t>("a tensor offset");
      entries.push_back(std::move(e));
    }
    if (entries.empty()) return;

    const std::uint64_t align = alignment();
    const std::uint64_t base = (at_ + align - 1) / align * align;
    if (base > in_.size())
      fail("it ends before the tensor data, which would begin at byte " + std::to_string(base));
    const std::uint64_t room = in_.size() - base;
    std::sort(entries.begin(), entries.end(),
              [](const Entry& a, const Entry& b) { return a.offset < b.offset; });
    std::uint64_t end =
        0;  // of the tensor before: no byte may serve two tensors, which bounds the memory of all
    for (Entry& e : entries) {
      const std::string name = "the tensor " + printable(e.tensor.name);
      if (e.offset % align != 0)
        fail(name + " has offset " + std::to_string(e.offset) + ", not a multiple of " +
             std::to_string(align));
      if (e.offset > room || e.size > room - e.offset)
        fail(name + " (offset " + std::to_string(e.offset) + ", " + std::to_string(e.size) +
             " bytes) reaches past the " + std::to_string(room) + " bytes of tensor data");
      if (e.offset < end) fail(name + " overlaps another tensor");
      end = e.offset + e.size;
      e.tensor.data =
          in_.subspan(static_cast<std::size_t>(base + e.offset), static_cast<std::size_t>(e.size));
      if (!file_.tensors.emplace(e.tensor.name, std::move(e.tensor)).second) fail(name + " occurs twice");
    }
  }

  /// Reads rank, dimensions and type; returns the size in bytes, which no product of dimensions can wrap.
  std::uint64_t read_shape(GgufTensor& tensor) {
    const std::string name = "the tensor " + printable(tensor.name);
    const auto rank = scalar<std::uint32_t>("a tensor rank");
    if (rank < 1 || rank > max_rank)
      fail(name + " has " + std::to_string(rank) + " dimensions, allowed: 1 to " + std::to_string(max_rank));
    std::uint64_t count = 1;
    for (std::uint32_t i = 0; i < rank; ++i) {
      const auto dim = scalar<std::uint64_t>("a dimension");
      // Every type spends at least a quarter of a byte on a value, so this limit is above any size that can
      // fit.
      const std::uint64_t limit = std::uint64_t{in_.size()} * 4 / count;
      if (dim < 1 || dim > limit)
        fail("dimension " + std::to_string(i) + " of " + name + " is " + std::to_string(dim) +
             ", allowed: 1 to " + std::to_string(limit));
      count *= dim;
      tensor.dims.push_back(static_cast<std::size_t>(dim));
    }
    const auto& layout = tensor_layout(scalar<std::uint32_t>("a tensor type"));
    tensor.type = layout.type;
    if (tensor.dims[0] % layout.block_values != 0)
      fail(name + " has rows of " + std::to_string(tensor.dims[0]) + " values, not a multiple of " +
           layout.name + "'s block of " + std::to_string(layout.block_values));
    return count / layout.block_values * layout.block_bytes;
  }

  std::uint64_t alignment() const {
    const std::string key = "general.alignment";
    if (!file_.has(key)) return 32;
    const auto value = static_cast<std::uint64_t>(file_.integer(key, 1, max_alignment));
    if (!std::has_single_bit(value)) fail("the alignment " + std::to_string(value) + " is no power of two");
    return value;
  }

  // ---- the primitives: each checks before it reads ----

  void need(std::uint64_t count, const char* what) const {
    if (count > in_.size() - at_)
      fail(std::string("it ends inside ") + what + ": " + std::to_string(count) + " bytes wanted, " +
           std::to_string(in_.size() - at_) + " left");
  }

  void check_count(std::uint64_t count, std::uint64_t least_bytes, const char* what) const {
    const std::uint64_t limit = (in_.size() - at_) / least_bytes;
    if (count > limit)
      fail(std::string(what) + " is " + std::to_string(count) + ", but the rest of the file has room for " +
           std::to_string(limit));
  }

  template <class T>
  T scalar(const char* what) {
    need(sizeof(T), what);
    T value;
    std::memcpy(&value, in_.data() + at_, sizeof value);
    at_ += sizeof value;
    return value;
  }

  std::string string(const char* what, std::uint64_t limit = std::numeric_limits<std::uint64_t>::max()) {
    const auto length = scalar<std::uint64_t>(what);
    if (length > limit)
      fail(std::string(what) + " has length " + std::to_string(length) + ", the limit is " +
           std::to_string(limit));
    need(length, what);
    std::string out(reinterpret_cast<const char*>(in_.data() + at_), static_cast<std::size_t>(length));
    at_ += out.size();
    return out;
  }

  bool flag() {
    const auto value = scalar<std::uint8_t>("a bool");
    if (value > 1) fail("a bool has the value " + std::to_string(value));
    return value == 1;
  }

  double real(std::uint32_t type) {
    return type == f32 ? double{scalar<float>("a float")} : scalar<double>("a double");
  }

  std::int64_t integer(const std::string& key, std::uint32_t type) {
    switch (type) {
      case u8:
        return scalar<std::uint8_t>("an integer");
      case i8:
        return scalar<std::int8_t>("an integer");
      case u16:
        return scalar<std::uint16_t>("an integer");
      case i16:
        return scalar<std::int16_t>("an integer");
      case u32:
        return scalar<std::uint32_t>("an integer");
      case i32:
        return scalar<std::int32_t>("an integer");
      case i64:
        return scalar<std::int64_t>("an integer");
      case u64: {
        const auto value = scalar<std::uint64_t>("an integer");
        if (value > std::uint64_t{std::numeric_limits<std::int64_t>::max()})
          fail("the key " + printable(key) + " is " + std::to_string(value) + ", the limit is 2^63 - 1");
        return static_cast<std::int64_t>(value);
      }
      default:
        unknown_type(key, type);
    }
  }

  std::uint64_t value_bytes(const std::string& key, std::uint32_t type) const {
    switch (type) {
      case u8:
      case i8:
      case boolean:
        return 1;
      case u16:
      case i16:
        return 2;
      case u32:
      case i32:
      case f32:
        return 4;
      case u64:
      case i64:
      case f64:
      case text:
        return 8;  // a string is at least its own length field
      default:
        unknown_type(key, type);
    }
  }

  [[noreturn]] void unknown_type(const std::string& key, std::uint32_t type) const {
    fail("the key " + printable(key) + " has value type " + std::to_string(type) + ", known: 0 to 12");
  }

  [[noreturn]] void fail(const std::string& why) const {
    throw Error("gguf: " + why + " (near byte " + std::to_string(at_) + ")");
  }

  Gguf& file_;
  std::span<const std::byte> in_;
  std::size_t at_ = 0;
};

}  // namespace engine
