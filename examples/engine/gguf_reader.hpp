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
#include <filesystem>
#include <fstream>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "byte_reader.hpp"
#include "gguf.hpp"

namespace engine {

class GgufReader {
 public:
  static Gguf parse(std::vector<std::byte> bytes) {
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
  static constexpr std::uint64_t max_name_length = 65535;  // the specification's own limit for keys
  static constexpr std::int64_t max_alignment = 65536;
  static constexpr std::uint32_t max_rank = 4;
  enum ValueType : std::uint32_t { u8, i8, u16, i16, u32, i32, f32, boolean, text, array, u64, i64, f64 };

  struct Entry {  // one line of the tensor directory
    GgufTensor tensor;
    std::uint64_t offset, size;  // bytes; offset counts from the begin of the tensor data
  };

  explicit GgufReader(Gguf& file) : file_(file), in_(file.bytes) {}

  void run() {
    if (in_.number<std::uint32_t>("the magic") != 0x46554747)
      in_.fail("the file does not begin with \"GGUF\"");
    const auto version = in_.number<std::uint32_t>("the version");
    if (version != 2 && version != 3)
      in_.fail("version " + std::to_string(version) + " is not supported (known: 2 and 3, little-endian)");
    const auto tensors = in_.number<std::uint64_t>("the tensor count");
    const std::size_t pairs =
        in_.count("the key count", 8 + 1 + 4 + 1);  // smallest: 1-letter key, 1-byte value
    for (std::size_t i = 0; i < pairs; ++i) read_pair();
    in_.check_count(tensors, "the tensor count", 8 + 1 + 4 + 8 + 4 + 8);
    std::vector<Entry> entries;
    for (std::uint64_t i = 0; i < tensors; ++i) entries.push_back(read_entry());
    if (!entries.empty()) place(entries);
  }

  // ---- metadata ----

  void read_pair() {
    std::string key = in_.string("a key", max_name_length);
    if (key.empty()) in_.fail("a key is empty");
    const std::string what = "the key " + printable(key);
    GgufValue value = read_value(what, in_.number<std::uint32_t>("the type of " + what));
    if (!file_.values.emplace(std::move(key), std::move(value)).second) in_.fail(what + " occurs twice");
  }

  GgufValue read_value(const std::string& what, std::uint32_t type) {
    if (type == f32 || type == f64) return real(what, type);
    if (type == boolean) return flag(what);
    if (type == text) return in_.string(what);
    if (type == array) return read_array(what);
    return integer(what, type);
  }

  GgufValue read_array(const std::string& what) {
    const auto type = in_.number<std::uint32_t>("the element type of " + what);
    if (type == array) in_.fail(what + " is an array of arrays, which is not supported");
    const std::size_t count = in_.count("the length of " + what, least_bytes(what, type));
    if (type == text) return elements<std::string>(count, [&] { return in_.string(what); });
    if (type == f32 || type == f64) return elements<double>(count, [&] { return real(what, type); });
    if (type == boolean) return elements<std::int64_t>(count, [&] { return std::int64_t{flag(what)}; });
    return elements<std::int64_t>(count, [&] { return integer(what, type); });
  }

  template <class T, class Next>
  static std::vector<T> elements(std::size_t count, Next next) {
    std::vector<T> out;
    out.reserve(count);
    for (std::size_t i = 0; i < count; ++i) out.push_back(next());
    return out;
  }

  bool flag(const std::string& what) {
    const auto value = in_.number<std::uint8_t>(what);
    if (value > 1) in_.fail(what + " is a bool of value " + std::to_string(value));
    return value == 1;
  }

  double real(const std::string& what, std::uint32_t type) {
    return type == f32 ? double{in_.number<float>(what)} : in_.number<double>(what);
  }

  std::int64_t integer(const std::string& what, std::uint32_t type) {
    switch (type) {
      case u8:
        return in_.number<std::uint8_t>(what);
      case i8:
        return in_.number<std::int8_t>(what);
      case u16:
        return in_.number<std::uint16_t>(what);
      case i16:
        return in_.number<std::int16_t>(what);
      case u32:
        return in_.number<std::uint32_t>(what);
      case i32:
        return in_.number<std::int32_t>(what);
      case i64:
        return in_.number<std::int64_t>(what);
      case u64: {
        const auto value = in_.number<std::uint64_t>(what);
        if (value > std::uint64_t{std::numeric_limits<std::int64_t>::max()})
          in_.fail(what + " is " + std::to_string(value) + ", the limit is 2^63 - 1");
        return static_cast<std::int64_t>(value);
      }
      default:
        unknown_type(what, type);
    }
  }

  std::uint64_t least_bytes(const std::string& what, std::uint32_t type) const {
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
        return 8;  // a string is at least its length
      default:
        unknown_type(what, type);
    }
  }

  [[noreturn]] void unknown_type(const std::string& what, std::uint32_t type) const {
    in_.fail(what + " has value type " + std::to_string(type) + ", known: 0 to 12");
  }

  // ---- tensors ----

  Entry read_entry() {
    Entry e;
    e.tensor.name = in_.string("a tensor name", max_name_length);
    const std::string what = "the tensor " + printable(e.tensor.name);
    const auto rank = in_.number<std::uint32_t>("the rank of " + what);
    if (rank < 1 || rank > max_rank)
      in_.fail(what + " has " + std::to_string(rank) + " dimensions, allowed: 1 to " +
               std::to_string(max_rank));
    std::uint64_t values = 1;
    for (std::uint32_t i = 0; i < rank; ++i) {
      const auto dim = in_.number<std::uint64_t>("a dimension of " + what);
      // Every type spends more than a quarter of a byte on a value: above this limit nothing fits, and below
      // it no product wraps.
      const std::uint64_t limit = std::uint64_t{in_.size()} * 4 / values;
      if (dim < 1 || dim > limit)
        in_.fail("dimension " + std::to_string(i) + " of " + what + " is " + std::to_string(dim) +
                 ", allowed: 1 to " + std::to_string(limit));
      values *= dim;
      e.tensor.dims.push_back(static_cast<std::size_t>(dim));
    }
    const TensorLayout& layout = tensor_layout(in_.number<std::uint32_t>("the type of " + what));
    if (e.tensor.dims[0] % layout.block_values != 0)
      in_.fail(what + " has rows of " + std::to_string(e.tensor.dims[0]) + " values, not a multiple of " +
               layout.name + "'s block of " + std::to_string(layout.block_values));
    e.tensor.type = layout.type;
    e.size = values / layout.block_values * layout.block_bytes;
    e.offset = in_.number<std::uint64_t>("the offset of " + what);
    return e;
  }

  /// Gives each tensor its bytes. No byte may serve two tensors, so all of them together are no larger than
  /// the file.
  void place(std::vector<Entry>& entries) {
    const std::uint64_t align = alignment();
    const std::uint64_t base = (in_.position() + align - 1) / align * align;
    if (base > in_.size())
      in_.fail("the file ends before its tensor data, which begins at byte " + std::to_string(base));
    const std::uint64_t room = in_.size() - base;
    std::sort(entries.begin(), entries.end(),
              [](const Entry& a, const Entry& b) { return a.offset < b.offset; });
    std::uint64_t end = 0;  // of the tensor before
    for (Entry& e : entries) {
      const std::string what = "the tensor " + printable(e.tensor.name);
      if (e.offset % align != 0)
        in_.fail(what + " has offset " + std::to_string(e.offset) + ", not a multiple of " +
                 std::to_string(align));
      if (e.offset > room || e.size > room - e.offset)
        in_.fail(what + " (offset " + std::to_string(e.offset) + ", " + std::to_string(e.size) +
                 " bytes) reaches past the " + std::to_string(room) + " bytes of tensor data");
      if (e.offset < end) in_.fail(what + " overlaps another tensor");
      end = e.offset + e.size;
      e.tensor.data = in_.range(static_cast<std::size_t>(base + e.offset), static_cast<std::size_t>(e.size));
      const std::string name = e.tensor.name;
      if (!file_.tensors.emplace(name, std::move(e.tensor)).second) in_.fail(what + " occurs twice");
    }
  }

  std::uint64_t alignment() const {
    const std::string key = "general.alignment";
    const std::int64_t value = file_.has(key) ? file_.integer(key, 1, max_alignment) : 32;
    if (!std::has_single_bit(static_cast<std::uint64_t>(value)))
      in_.fail("the alignment " + std::to_string(value) + " is no power of two");
    return static_cast<std::uint64_t>(value);
  }

  Gguf& file_;
  ByteReader in_;
};

}  // namespace engine
