#include "../../examples/engine/gguf_reader.hpp"

#include <filesystem>
#include <fstream>

#include "contains.hpp"
#include "gguf_writer.hpp"

using engine::Error;
using engine::Gguf;
using engine::GgufReader;
using namespace gguf_test;

namespace {

constexpr std::uint64_t huge = std::uint64_t{1} << 62;

File small_file() {
  File file;
  file.add_text("general.architecture", "llama");
  file.add("byte", u8, Bytes().put<std::uint8_t>(200)).add("signed byte", i8, Bytes().put<std::int8_t>(-7));
  file.add("short", u16, Bytes().put<std::uint16_t>(65535))
      .add("signed short", i16, Bytes().put<std::int16_t>(-32768));
  file.add_u32("word", 4000000000u).add("signed word", i32, Bytes().put<std::int32_t>(-5));
  file.add("long", u64, Bytes().put<std::uint64_t>(1)).add("signed long", i64, Bytes().put<std::int64_t>(-1));
  file.add_f32("float", 0.5f)
      .add("double", f64, Bytes().put(0.25))
      .add("yes", boolean, Bytes().put<std::uint8_t>(1));
  file.add("words", array, Bytes().put<std::uint32_t>(text).put<std::uint64_t>(2).string("a").string(""));
  file.add("numbers", array,
           Bytes().put<std::uint32_t>(i16).put<std::uint64_t>(2).put<std::int16_t>(-2).put<std::int16_t>(3));
  file.add_tensor({"a", {4, 2}, 0, {1, 2, 3, 4, 5, 6, 7, 8}});
  file.add_tensor({"b", {3}, 0, {9, 10, 11}});
  return file;
}

/// The message of the Error that parsing raises, or "" if it raises none.
std::string complaint(const std::vector<std::byte>& bytes) {
  try {
    GgufReader::parse(bytes);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

std::string complaint(const File& file) { return complaint(file.bytes()); }

/// A header with the given counts, then `body`.
std::vector<std::byte> raw(std::uint64_t tensors, std::uint64_t pairs, const Bytes& body) {
  Bytes out;
  out.put<std::uint32_t>(0x46554747).put<std::uint32_t>(3).put(tensors).put(pairs).append(body);
  return out.data;
}

std::string pair_complaint(Type type, const Bytes& value) {
  return complaint(raw(0, 1, Bytes().string("key").put<std::uint32_t>(type).append(value)));
}

/// One tensor with these directory fields, and 64 bytes of data.
std::string tensor_complaint(const std::vector<std::uint64_t>& dims, std::uint32_t type,
                             std::uint64_t offset) {
  Bytes body;
  body.string("t").put(static_cast<std::uint32_t>(dims.size()));
  for (const auto dim : dims) body.put(dim);
  body.put(type).put(offset);
  auto bytes = raw(1, 0, body);
  bytes.resize((bytes.size() + 31) / 32 * 32 + 64);
  return complaint(bytes);
}

using engine_test::contains;

}  // namespace

TEST_CASE("every value type and both tensors of a small file are read", "[engine][gguf]") {
  const Gguf file = GgufReader::parse(small_file().bytes());
  CHECK(file.get<std::string>("general.architecture") == "llama");
  const auto integer = [&](const char* key) { return file.get<std::int64_t>(key); };
  CHECK(integer("byte") == 200);
  CHECK(integer("signed byte") == -7);
  CHECK(integer("short") == 65535);
  CHECK(integer("signed short") == -32768);
  CHECK(integer("word") == 4000000000);
  CHECK(integer("signed word") == -5);
  CHECK(integer("long") == 1);
  CHECK(integer("signed long") == -1);
  CHECK(file.get<double>("float") == 0.5);
  CHECK(file.get<double>("double") == 0.25);
  CHECK(file.get<bool>("yes"));
  CHECK(file.get<std::vector<std::string>>("words") == std::vector<std::string>{"a", ""});
  CHECK(file.get<std::vector<std::int64_t>>("numbers") == std::vector<std::int64_t>{-2, 3});

  REQUIRE(file.tensors.size() == 2);
  const auto* b = file.find_tensor("b");
  REQUIRE(b != nullptr);
  CHECK(b->dims == std::vector<std::size_t>{3});
  float values[3];
  REQUIRE(b->data.size() == sizeof values);
  std::memcpy(values, b->data.data(), sizeof values);
  CHECK(values[0] == 9);
  CHECK(values[2] == 11);
}

TEST_CASE("a missing key, a wrong type and a value outside its range are named", "[engine][gguf]") {
  const Gguf file = GgufReader::parse(small_file().bytes());
  CHECK_THROWS_WITH(file.get<double>("nothing"), contains("\"nothing\" is missing"));
  CHECK_THROWS_WITH(file.get<double>("word"), contains("\"word\" has an unexpected type"));
  CHECK_THROWS_WITH(file.integer("word", 1, 1024), contains("4000000000") && contains("1 to 1024"));
}

TEST_CASE("a file cut at any byte is refused", "[engine][gguf]") {
  const auto whole = small_file().bytes();
  REQUIRE(complaint(whole).empty());
  for (std::size_t length = 0; length < whole.size(); ++length) {
    CAPTURE(length);
    CHECK_THAT(complaint({whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(length)}),
               contains("gguf: "));
  }
}

TEST_CASE("no single wrong byte does more than raise an Error", "[engine][gguf]") {
  const auto whole = small_file().bytes();
  std::size_t refused = 0;
  for (std::size_t at = 0; at < whole.size(); ++at)
    for (const unsigned flip : {0x01u, 0x80u, 0xffu, 0x7fu}) {
      auto bytes = whole;
      bytes[at] ^= static_cast<std::byte>(flip);
      refused += complaint(bytes).empty() ? 0 : 1;  // anything but an Error ends the test
    }
  CHECK(refused > whole.size());  // most of the file is structure
}

TEST_CASE("magic, version and byte order are checked first", "[engine][gguf]") {
  auto bytes = small_file().bytes();
  bytes[0] = std::byte{'X'};
  CHECK_THAT(complaint(bytes), contains("does not begin with"));
  for (const std::uint32_t version : {0u, 1u, 4u, 0x03000000u}) {
    bytes = small_file().bytes();
    std::memcpy(bytes.data() + 4, &version, 4);
    CHECK_THAT(complaint(bytes), contains("version " + std::to_string(version) + " is not supported"));
  }
}

TEST_CASE("counts and lengths beyond the file are refused before memory is taken", "[engine][gguf]") {
  const std::string number = std::to_string(huge);
  CHECK_THAT(complaint(raw(0, huge, {})), contains("key count is " + number));
  CHECK_THAT(complaint(raw(huge, 0, {})), contains("tensor count is " + number));
  CHECK_THAT(complaint(raw(0, 1, Bytes().put(huge).put(huge))),
             contains("length " + number + ", the limit is 65535"));
  CHECK_THAT(pair_complaint(text, Bytes().put(huge)), contains(number + " bytes wanted"));
  for (const Type type : {u8, u16, u32, u64, f32, boolean, text})
    CHECK_THAT(pair_complaint(array, Bytes().put<std::uint32_t>(type).put(huge)), contains("is " + number));
  CHECK_THAT(pair_complaint(array, Bytes().put<std::uint32_t>(text).put<std::uint64_t>(1).put(huge)),
             contains(number));
}

TEST_CASE("values that mean nothing are refused by name", "[engine][gguf]") {
  CHECK_THAT(pair_complaint(Type{13}, {}), contains("value type 13"));
  CHECK_THAT(pair_complaint(array, Bytes().put<std::uint32_t>(99).put<std::uint64_t>(0)),
             contains("value type 99"));
  CHECK_THAT(pair_complaint(array, Bytes().put<std::uint32_t>(array).put<std::uint64_t>(1)),
             contains("array of arrays"));
  CHECK_THAT(pair_complaint(boolean, Bytes().put<std::uint8_t>(2)), contains("bool of value 2"));
  CHECK_THAT(pair_complaint(u64, Bytes().put(~std::uint64_t{0})), contains("the limit is 2^63 - 1"));
  CHECK_THAT(complaint(raw(0, 1, Bytes().string("").put<std::uint32_t>(u64).put<std::uint64_t>(0))),
             contains("key is empty"));
  CHECK_THAT(complaint(small_file().add_u32("word", 1)), contains("\"word\" occurs twice"));
  CHECK_THAT(complaint(small_file().add_tensor({"a", {1}, 0, {1}})), contains("\"a\" occurs twice"));
}

TEST_CASE("dimensions that wrap, offsets that reach out and bad shapes are refused", "[engine][gguf]") {
  CHECK(tensor_complaint({16}, 0, 0).empty());
  CHECK_THAT(tensor_complaint({~std::uint64_t{0}, 2}, 0, 0), contains("18446744073709551615, allowed"));
  CHECK_THAT(tensor_complaint({huge, 4}, 0, 0), contains("dimension 0"));
  CHECK_THAT(tensor_complaint({16, huge, 4, 1}, 0, 0), contains("dimension 1"));
  CHECK_THAT(tensor_complaint({32, 8}, 0, 0), contains("reaches past"));  // 1024 bytes of 64
  CHECK_THAT(tensor_complaint({16}, 0, 32), contains("reaches past"));
  CHECK_THAT(tensor_complaint({16}, 0, ~std::uint64_t{31}), contains("reaches past"));  // offset + size wraps
  CHECK_THAT(tensor_complaint({16}, 0, 4), contains("not a multiple of 32"));
  CHECK_THAT(tensor_complaint({0}, 0, 0), contains("is 0, allowed"));
  CHECK_THAT(tensor_complaint({}, 0, 0), contains("0 dimensions"));
  CHECK_THAT(tensor_complaint({1, 1, 1, 1, 1}, 0, 0), contains("5 dimensions"));
  CHECK_THAT(tensor_complaint({16}, 77, 0), contains("tensor type 77") && contains("Q4_1"));
  CHECK_THAT(tensor_complaint({16}, 3, 0), contains("not a multiple of Q4_1's block of 32"));
}

TEST_CASE("no byte belongs to two tensors", "[engine][gguf]") {
  Bytes body;
  for (const char* name : {"a", "b"})
    body.string(name).put<std::uint32_t>(1).put<std::uint64_t>(16).put<std::uint32_t>(0).put<std::uint64_t>(
        0);
  auto bytes = raw(2, 0, body);
  bytes.resize((bytes.size() + 31) / 32 * 32 + 64);
  CHECK_THAT(complaint(bytes), contains("overlaps another tensor"));
}

TEST_CASE("the alignment key is a power of two within its limit", "[engine][gguf]") {
  for (const std::uint32_t good : {1u, 8u, 64u, 4096u}) {
    const auto bytes = small_file().add_u32("general.alignment", good).bytes(good < 4 ? 4 : good);
    CAPTURE(good);
    CHECK((complaint(bytes).empty() || good < 4));
  }
  for (const std::uint32_t bad : {0u, 24u, 131072u, 0xffffffffu})
    CHECK_THAT(complaint(small_file().add_u32("general.alignment", bad)), contains(std::to_string(bad)));
}

TEST_CASE("hostile names are shown without their control characters", "[engine][gguf]") {
  File file;
  file.add_u32("\x1b[31mred\n", 1).add_u32("\x1b[31mred\n", 1);
  CHECK_THAT(complaint(file), contains("\"?[31mred?\" occurs twice"));
}

TEST_CASE("a path that is no file is refused, and a file on disk is read", "[engine][gguf]") {
  CHECK_THROWS_AS(GgufReader::open("does/not/exist.gguf"), Error);
  const auto folder = std::filesystem::temp_directory_path();
  CHECK_THROWS_AS(GgufReader::open(folder), Error);
  const auto path =
      folder / ("tightkv_gguf_test_" + std::to_string(std::filesystem::hash_value(folder)) + ".gguf");
  const auto bytes = small_file().bytes();
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  CHECK(GgufReader::open(path).tensors.size() == 2);
  std::filesystem::resize_file(path, bytes.size() - 1);
  CHECK_THROWS_AS(GgufReader::open(path), Error);
  std::filesystem::remove(path);
}
