#include <tightkv/codebook/json.hpp>

#include <clocale>
#include <cmath>
#include <fstream>
#include <iterator>
#include <limits>
#include <locale>
#include <string>
#include <tightkv/codebook/builtin.hpp>
#include <vector>

#include "catch.hpp"

using tightkv::load_codebook;
using tightkv::LoadedCodebook;
using tightkv::TableKind;
using tightkv::to_json;
using tightkv::try_load_codebook;

namespace {

std::string read(const std::string& name) {
  std::ifstream file(TIGHTKV_CODEBOOK_DIR "/" + name, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// A small valid codebook; its text is what the malformed cases are cut from.
LoadedCodebook small() {
  LoadedCodebook book;
  book.dim = 128, book.bits = 2;
  book.levels = {-1.5, -0.5, 0.5, 1.5};
  book.int8 = {-127, -42, 42, 127};
  book.gain_q16 = 5548715;  // 127 / 1.5 * 65536
  book.distortion = 0.125;
  book.hash = tightkv::codebook_hash(book.kind, book.bits, book.dim, book.gain_q16, book.int8);
  return book;
}

/// One line, so that replacements are easy to read.
std::string small_text() {
  return R"({"format":"tightkv-codebook","version":1,"kind":"lloyd_max","dim":128,"bits":2,)"
         R"("levels":[-1.5,-0.5,0.5,1.5],"int8":[-127,-42,42,127],"gain_q16":5548715,"distortion":0.125,"hash":")" +
         tightkv::detail::hex_text(small().hash) + "\"}";
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

/// The failure's sentence; the output must be as it was.
std::string refusal(const std::string& text) {
  LoadedCodebook out = small();
  const tightkv::Status status = try_load_codebook(text, out);
  CHECK_FALSE(status.ok());
  CHECK(status.code() == tightkv::ErrorCode::corrupt);
  CHECK(out == small());
  return status.message();
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

struct CommaDecimal : std::numpunct<char> {
  char do_decimal_point() const override { return ','; }
  char do_thousands_sep() const override { return '.'; }
  std::string do_grouping() const override { return "\3"; }
};

}  // namespace

TEST_CASE("every file of codebooks/ loads, writes itself again and is the built-in table",
          "[codebook][json]") {
  const auto compare = [](const std::string& name, TableKind kind, const tightkv::builtin::Table& table) {
    CAPTURE(name);
    const std::string text = read(name);
    REQUIRE_FALSE(text.empty());
    const LoadedCodebook book = load_codebook(text);
    CHECK(to_json(book) == text);
    CHECK(book.kind == kind);
    CHECK(book.dim == table.dim);
    CHECK(book.bits == table.bits);
    CHECK(book.gain_q16 == table.gain_q16);
    CHECK(book.int8 == std::vector<std::int8_t>(table.levels.begin(), table.levels.end()));
    CHECK(book.hash == tightkv::codebook_hash(kind, table.bits, table.dim, table.gain_q16, table.levels));
  };
  for (const unsigned dim : {64u, 80u, 96u, 112u, 128u, 192u, 256u, 512u, 576u, 0u})
    for (unsigned bits = 1; bits <= 8; ++bits)
      compare("lloyd_max_" + (dim == 0 ? "gauss" : "d" + std::to_string(dim)) + "_b" + std::to_string(bits) +
                  ".json",
              TableKind::lloyd_max, tightkv::builtin::lloyd_max(dim, bits));
  for (unsigned bits = 2; bits <= 5; ++bits)
    compare("trellis8_b" + std::to_string(bits) + ".json", TableKind::trellis8,
            tightkv::builtin::trellis8(bits));
}

TEST_CASE("a codebook comes back with the same bits", "[codebook][json]") {
  LoadedCodebook book = small();
  CHECK(load_codebook(small_text()) == book);
  book.distortion = 0.1 + 0.2;  // needs all 17 digits
  const double inner = std::nextafter(0.5, 1.0), outer = std::nextafter(1.5, 2.0);
  book.levels = {-outer, -inner, inner, outer};
  CHECK(load_codebook(to_json(book)) == book);
  book.distortion = std::numeric_limits<double>::denorm_min();
  CHECK(load_codebook(to_json(book)) == book);
  book.dim = 65535;
  book.hash = tightkv::codebook_hash(book.kind, book.bits, book.dim, book.gain_q16, book.int8);
  CHECK(load_codebook(to_json(book)) == book);
}

TEST_CASE("the order of fields and spaces do not matter", "[codebook][json]") {
  std::string text = replaced(small_text(), R"("dim":128,)", "");
  text = replaced(text, R"({"format")", "\n{ \"dim\" :\t128 ,\r\n \"format\"") + " \n";
  CHECK(load_codebook(text) == small());
  CHECK(load_codebook(replaced(small_text(), "-1.5,-0.5", "-15e-1,-5E-1")) == small());
}

TEST_CASE("the locale changes nothing", "[codebook][json]") {
  const std::string text = read("lloyd_max_d128_b4.json");
  const LoadedCodebook book = load_codebook(text);
  const std::string c_before = std::setlocale(LC_ALL, nullptr);
  const std::locale before = std::locale::global(std::locale(std::locale::classic(), new CommaDecimal));
  for (const char* name : {"C", "de_DE.UTF-8", "fr_FR.UTF-8"}) {  // C's locale too, where it is installed
    std::setlocale(LC_ALL, name);
    CAPTURE(name);
    LoadedCodebook again;
    CHECK(try_load_codebook(text, again).ok());
    CHECK(again == book);
    CHECK(to_json(again) == text);
    CHECK(contains(refusal(replaced(small_text(), "0.125", "1.5")), "distortion is 1.5,"));
    CHECK(contains(refusal(replaced(small_text(), R"("dim":128)", R"("dim":1000000)")), "dim is 1000000,"));
  }
  std::locale::global(before);
  std::setlocale(LC_ALL, c_before.c_str());
}

TEST_CASE("a malformed codebook is refused with a sentence", "[codebook][json]") {
  struct Case {
    std::string from, to, sentence;
  };
  const Case cases[] = {
      // wrong types
      {R"("format":"tightkv-codebook")", R"("format":1)",
       "field \"format\" holds a number, it must be a string"},
      {R"("version":1)", R"("version":"1")", "field \"version\" holds a string, it must be an integer"},
      {R"("version":1)", R"("version":1.0)",
       "holds a number with a fraction or an exponent, it must be an integer"},
      {R"("kind":"lloyd_max")", R"("kind":null)", "field \"kind\" holds null, it must be a string"},
      {R"("dim":128)", R"("dim":1e9)", "field \"dim\" holds a number with a fraction or an exponent"},
      {R"("dim":128)", R"("dim":-128)", "field \"dim\" holds a negative number, it must be an integer"},
      {R"("dim":128)", R"("dim":[128])", "field \"dim\" holds an array, it must be an integer"},
      {R"("bits":2)", R"("bits":true)", "field \"bits\" holds a truth value, it must be an integer"},
      {R"("bits":2)", R"("bits":{"a":2})", "field \"bits\" holds an object, it must be an integer"},
      {R"("levels":[-1.5,-0.5,0.5,1.5])", R"("levels":1.5)", "it must be a flat array of numbers"},
      {R"("levels":[-1.5,-0.5,0.5,1.5])", R"("levels":3)", "it must be a flat array of numbers"},
      {R"("levels":[-1.5,)", R"("levels":[[-1.5],)", "field \"levels\" holds an array"},
      {R"("levels":[-1.5,)", R"("levels":["-1.5",)", "field \"levels\" holds a string"},
      {R"("levels":[-1.5,)", R"("levels":[null,)", "field \"levels\" holds null"},
      {R"("int8":[-127,)", R"("int8":[-127.0,)", "field \"int8\" holds a number with a fraction"},
      {R"("int8":[-127,-42,42,127])", R"("int8":127)", "field \"int8\" holds a number"},
      {R"("int8":[-127,-42,42,127])", R"("int8":-127)", "field \"int8\" holds a negative number"},
      {R"("distortion":0.125)", R"("distortion":"0.125")", "field \"distortion\" holds a string"},
      {R"("distortion":0.125)", R"("distortion":[0.125])", "field \"distortion\" holds an array"},
      // values beyond their limits
      {R"("tightkv-codebook")", R"("tightkv-codebooks")", "format is \"tightkv-codebooks\""},
      {R"("version":1)", R"("version":2)", "version is 2, this reader knows version 1"},
      {R"("lloyd_max")", R"("uniform")", "kind is \"uniform\", it must be \"lloyd_max\" or \"trellis8\""},
      {R"("dim":128)", R"("dim":1000000000)", "dim is 1000000000, the limit is 65535"},
      {R"("dim":128)", R"("dim":18446744073709551615)", "dim is 18446744073709551615, the limit is 65535"},
      {R"("dim":128)", R"("dim":18446744073709551616)", "field \"dim\" holds a number with a fraction"},
      {R"("dim":128)", R"("dim":3)", "dim is 3, it must be 0 (the Gaussian limit) or 4 to 65535"},
      {R"("bits":2)", R"("bits":0)", "bits is 0, it must be 1 to 8"},
      {R"("bits":2)", R"("bits":9)", "bits is 9, the limit is 8"},
      {R"("bits":2)", R"("bits":3)", "there are 4 levels, it must be 8"},
      {R"("kind":"lloyd_max")", R"("kind":"trellis8")", "there are 4 levels, it must be 8"},
      {R"("int8":[-127,-42,42,127])", R"("int8":[-127,127])", "there are 2 int8 levels, it must be 4"},
      {R"("int8":[-127,-42,42,127])", R"("int8":[-127,-42,42,128])",
       "int8 level 3 is 128, it must be -127 to 127"},
      {R"("int8":[-127,)", R"("int8":[-128,)", "int8 level 0 is -128, it must be -127 to 127"},
      {R"("int8":[-127,)", R"("int8":[-9223372036854775808,)", "int8 level 0 is -9223372036854775808"},
      {R"("int8":[-127,-42,42,127])", R"("int8":[-126,-42,42,126])",
       "the largest int8 level is 126, it must be 127"},
      {R"("gain_q16":5548715)", R"("gain_q16":4294967296)",
       "gain_q16 is 4294967296, the limit is 4294967295"},
      {R"("gain_q16":5548715)", R"("gain_q16":5448715)", "int8 level 0 is -127, but level times gain_q16"},
      {R"("gain_q16":5548715)", R"("gain_q16":0)", "int8 level 0 is -127, but level times gain_q16"},
      {"-1.5,-0.5,0.5,1.5", "-150,-50,50,150", "the largest level is 150, it must be 0.25 to 64"},
      {"-1.5,-0.5,0.5,1.5", "-0.2,-0.1,0.1,0.2", "the largest level is 0.2, it must be 0.25 to 64"},
      {R"("distortion":0.125)", R"("distortion":0)", "distortion is 0, it must be above 0 and below 1"},
      {R"("distortion":0.125)", R"("distortion":-0.5)", "distortion is -0.5"},
      {R"("distortion":0.125)", R"("distortion":-1)", "distortion is -1,"},
      // order and symmetry
      {"-1.5,-0.5,0.5,1.5", "-0.5,-1.5,1.5,0.5", "level 1 is -1.5, not above the one before it"},
      {"-1.5,-0.5,0.5,1.5", "-1.5,0,0,1.5", "level 2 is 0, not above the one before it"},
      {"-1.5,-0.5,0.5,1.5", "-1.5,-0.5,0.5,1.25", "level 0 is -1.5, its mirror image"},
      {"[-127,-42,42,127]", "[-127,0,0,127]", "int8 level 2 is 0, not above the one before it"},
      {"[-127,-42,42,127]", "[-127,-42,43,127]", "int8 level 1 is -42, its mirror image"},
      // numbers that are none
      {"0.125", "1e400", "is beyond the range of double"},
      {"[-1.5,", "[-1e400,", "is beyond the range of double"},
      {"0.125", "NaN", "the JSON text breaks at byte"},
      {"0.125", "Infinity", "the JSON text breaks at byte"},
      {"0.125", "0,125", "the JSON text breaks at byte"},
      {"0.125", ".125", "the JSON text breaks at byte"},
      {"[-1.5,", "[-nan,", "the JSON text breaks at byte"},
      // fields
      {R"("dim":128,)", "", "field \"dim\" is missing"},
      {R"("distortion":0.125,)", "", "field \"distortion\" is missing"},
      {R"("dim":128)", R"("dim":128,"dim":64)", "field \"dim\" appears twice"},
      {R"("dim":128)", R"("dim":128,"color":64)", "unknown field \"color\""},
      {R"("dim":128)", R"("dim":128,"\u00e9\n":64)", "unknown field \"???\""},
      {R"("hash":")", R"("hash":"0)", "it must be 16 lower-case hex digits"},
      {R"("hash":")", R"("hash":"g)", "it must be 16 lower-case hex digits"},
  };
  for (const Case& c : cases) {
    CAPTURE(c.from, c.to);
    const std::string sentence = refusal(replaced(small_text(), c.from, c.to));
    CAPTURE(sentence, c.sentence);
    CHECK(contains(sentence, "codebook: "));
    CHECK(contains(sentence, c.sentence));
  }
}

TEST_CASE("a changed integer is found by the hash", "[codebook][json]") {
  CHECK(contains(refusal(replaced(small_text(), R"("dim":128)", R"("dim":64)")),
                 "the integers of the file have "));
  CHECK(contains(refusal(replaced(small_text(), "5548715", "5548716")), "the integers of the file have "));
  std::string text = small_text();
  char& digit = text[text.size() - 3];
  digit = digit == '0' ? '1' : '0';
  CHECK(contains(refusal(text), "hash is "));
}

TEST_CASE("a text that is no object is refused", "[codebook][json]") {
  CHECK(contains(refusal(""), "the JSON text breaks at byte"));
  CHECK(contains(refusal("{}"), "field \"format\" is missing"));
  CHECK(contains(refusal("[]"), "the text holds an array, it must be an object"));
  CHECK(contains(refusal("7"), "the text holds a number, it must be an object"));
  CHECK(contains(refusal("-7"), "the text holds a negative number, it must be an object"));
  CHECK(contains(refusal("7.5"), "the text holds a number with a fraction"));
  CHECK(contains(refusal("null"), "the text holds null, it must be an object"));
  CHECK(contains(refusal("\"{}\""), "the text holds a string, it must be an object"));
  CHECK(contains(refusal(small_text() + small_text()), "the JSON text breaks at byte"));
  CHECK(contains(refusal(small_text() + std::string(1, '\0')), "of the text is zero"));
  CHECK(contains(refusal("\xff\xfe{"), "the JSON text breaks at byte"));
}

TEST_CASE("every truncation is refused", "[codebook][json]") {
  const std::string text = small_text();
  for (std::size_t size = 0; size < text.size(); ++size) {
    CAPTURE(size);
    CHECK(contains(refusal(text.substr(0, size)), "the JSON text breaks at byte"));
  }
}

TEST_CASE("deep nesting, long arrays and long texts cost nothing", "[codebook][json]") {
  const std::string brackets(100000, '['), braces = [] {
    std::string text;
    for (int i = 0; i < 100000; ++i) text += "{\"levels\":";
    return text;
  }();
  CHECK(contains(refusal(brackets), "the text holds an array"));
  CHECK(contains(refusal(braces), "field \"levels\" holds an object"));
  CHECK(
      contains(refusal(replaced(small_text(), "[-1.5,", "[" + brackets)), "field \"levels\" holds an array"));

  std::string many;
  for (int i = 0; i < 100000; ++i) many += "1,";
  CHECK(contains(refusal(replaced(small_text(), "[-1.5,", "[" + many)),
                 "field \"levels\" has more than 256 numbers"));
  CHECK(contains(refusal(replaced(small_text(), "[-127,", "[" + many)),
                 "field \"int8\" has more than 256 numbers"));

  const std::string long_name(100000, 'x');
  const std::string sentence = refusal(replaced(small_text(), "lloyd_max", long_name));
  CHECK(contains(sentence, "xxx...\""));
  CHECK(sentence.size() < 200);
  CHECK(refusal(replaced(small_text(), "0.125", std::string(100000, '9'))).size() < 200);

  const std::string spaces(tightkv::max_codebook_text, ' ');
  CHECK(contains(refusal(spaces + " "), "the text has 1048577 bytes, the limit is 1048576"));
  CHECK(load_codebook(small_text() + spaces.substr(small_text().size())) == small());
}

TEST_CASE("load_codebook throws the sentence that try_load_codebook returns", "[codebook][json]") {
  LoadedCodebook book;
  const tightkv::Status status = try_load_codebook("[]", book);
  try {
    book = load_codebook("[]");
    FAIL("load_codebook(\"[]\") returned");
  } catch (const tightkv::Error& error) {
    CHECK(error.what() == status.message());
    CHECK(error.code() == tightkv::ErrorCode::corrupt);
  }
}
