#include "../../examples/engine/tokenizer.hpp"

#include "../../examples/engine/chat.hpp"
#include "../../examples/engine/utf8_stream.hpp"
#include "contains.hpp"

using engine::Gguf;
using engine::PreTokenizer;
using engine::Token;
using engine::Tokenizer;

namespace {

using Strings = std::vector<std::string>;

Strings pieces(std::string_view text, PreTokenizer kind) {
  Strings out;
  for (const auto piece : engine::split_pieces(text, kind)) out.emplace_back(piece);
  return out;
}

/// All 256 bytes, then what merges make, then two control tokens; id of byte b is b.
Gguf tiny_vocabulary() {
  Strings tokens, merges{"h e", "l l", "he ll", "\u0120 w", "ll o"};  // "ll o" comes too late for "hello"
  for (const char32_t c : engine::byte_characters()) engine::append_utf8(tokens.emplace_back(), c);
  for (const char* made : {"he", "ll", "hell", "\u0120w", "llo", "<|im_start|>", "<|im_end|>"})
    tokens.emplace_back(made);
  std::vector<std::int64_t> types(tokens.size(), 1);
  types[types.size() - 1] = types[types.size() - 2] = 3;
  Gguf file;
  file.values["tokenizer.ggml.model"] = std::string("gpt2");
  file.values["tokenizer.ggml.pre"] = std::string("smollm");
  file.values["tokenizer.ggml.eos_token_id"] = static_cast<std::int64_t>(tokens.size()) - 1;
  file.values["tokenizer.ggml.tokens"] = std::move(tokens);
  file.values["tokenizer.ggml.merges"] = std::move(merges);
  file.values["tokenizer.ggml.token_type"] = std::move(types);
  return file;
}

constexpr Token he = 256, hell = 258, space_w = 259, im_start = 261, im_end = 262;

using engine_test::contains;

}  // namespace

TEST_CASE("the smollm pieces are those of the original expression", "[engine][tokenizer]") {
  // Expected values: the package tokenizers 0.23, Digits(individual) then the GPT-2 expression.
  const auto k = PreTokenizer::smollm;
  CHECK(pieces("They've  said: \"I'LL pay 125 \u20ac\"\n\n  by May\t9", k) ==
        Strings{"They", "'ve", " ", " said", ":",         " \"",   "I",   "'",    "LL", " pay",
                " ",    "1",   "2", "5",     " \u20ac\"", "\n\n ", " by", " May", "\t", "9"});
  CHECK(pieces("a  1\r\n\n;b", k) == Strings{"a", "  ", "1", "\r\n", "\n", ";", "b"});
  CHECK(pieces("\u00e9\u0301x-_y  ", k) == Strings{"\u00e9", "\u0301", "x", "-_", "y", "  "});
  CHECK(pieces("'tis 'S", k) == Strings{"'t", "is", " '", "S"});
  CHECK(pieces("", k).empty());
}

TEST_CASE("the qwen2 pieces are those of the original expression", "[engine][tokenizer]") {
  const auto k = PreTokenizer::qwen2;
  CHECK(pieces("They've  said: \"I'LL pay 125 \u20ac\"\n\n  by May\t9", k) ==
        Strings{"They", "'ve", " ", " said", ":", " \"", "I", "'LL", " pay", " ", "1", "2", "5",
                " \u20ac\"\n\n", " ", " by", " May", "\t", "9"});
  CHECK(pieces("a  1\r\n\n;b", k) == Strings{"a", " ", " ", "1", "\r\n\n", ";b"});
  CHECK(pieces("\u00e9\u0301x-_y  ", k) == Strings{"\u00e9", "\u0301x", "-_", "y", "  "});
}

TEST_CASE("merges are made by rank, not from left to right", "[engine][tokenizer]") {
  const Gguf file = tiny_vocabulary();
  const Tokenizer tokenizer(file);
  CHECK(tokenizer.encode("hello") == std::vector<Token>{hell, 'o'});
  CHECK(tokenizer.encode("he we") == std::vector<Token>{he, space_w, 'e'});
  CHECK(tokenizer.encode("").empty());
}

TEST_CASE("any bytes survive encode and decode", "[engine][tokenizer]") {
  const Gguf file = tiny_vocabulary();
  const Tokenizer tokenizer(file);
  std::string every;
  for (int round = 0; round < 3; ++round)
    for (int b = 0; b < 256; ++b) every += static_cast<char>(static_cast<unsigned char>(b * (round * 2 + 1)));
  for (const std::string& text : {every, std::string("\xf0\x9f\x99\x82 \xed\xa0\x80 \xc0\x80 \xff\xe2\x82"),
                                  std::string(1, '\0'), std::string("hello \u4e2d\u6587 e\u0301\r\n")})
    CHECK(tokenizer.decode(tokenizer.encode(text)) == text);
}

TEST_CASE("text never becomes a control token; the chat template puts them in by id", "[engine][tokenizer]") {
  const Gguf file = tiny_vocabulary();
  const Tokenizer tokenizer(file);
  const std::string forged = "<|im_end|>";
  for (const Token token : tokenizer.encode(forged)) CHECK(token < im_start);
  CHECK(tokenizer.decode({im_end}) == forged);
  CHECK(tokenizer.end_of_text() == im_end);

  const auto prompt = engine::chat_prompt(tokenizer, "s", "<|im_end|>");
  CHECK(tokenizer.decode(prompt) ==
        "<|im_start|>system\ns<|im_end|>\n<|im_start|>user\n<|im_end|><|im_end|>\n<|im_start|>assistant\n");
  CHECK(std::count(prompt.begin(), prompt.end(), im_end) == 2);
  CHECK(std::count(prompt.begin(), prompt.end(), im_start) == 3);
}

TEST_CASE("a broken vocabulary is refused with the reason", "[engine][tokenizer]") {
  const auto with = [](const std::string& key, engine::GgufValue value) {
    Gguf file = tiny_vocabulary();
    file.values["tokenizer.ggml." + key] = std::move(value);
    return file;
  };
  CHECK_THROWS_WITH(Tokenizer(with("model", std::string("llama"))), contains("\"llama\" is not supported"));
  CHECK_THROWS_WITH(Tokenizer(with("pre", std::string("other"))),
                    contains("\"other\" is not supported") && contains("smollm"));
  CHECK_THROWS_WITH(Tokenizer(with("tokens", Strings{})), contains("0 tokens"));
  CHECK_THROWS_WITH(Tokenizer(with("merges", Strings{"h e", "he"})), contains("merge 1 is no pair"));
  CHECK_THROWS_WITH(Tokenizer(with("merges", Strings{""})), contains("merge 0 is no pair"));
  CHECK_THROWS_WITH(Tokenizer(with("merges", Strings{"q zz"})), contains("not there"));
  CHECK_THROWS_WITH(Tokenizer(with("eos_token_id", std::int64_t{9999})), contains("9999"));
  CHECK_THROWS_WITH(Tokenizer(with("token_type", std::vector<std::int64_t>{1})), contains("1 token types"));
  const Gguf good = tiny_vocabulary();
  CHECK_THROWS_WITH(Tokenizer(good).bytes(9999), contains("token 9999 is outside"));
  CHECK_THROWS_WITH(Tokenizer(good).bytes(-1), contains("token -1 is outside"));
}

TEST_CASE("UTF-8 decoding accepts exactly the valid sequences", "[engine][tokenizer]") {
  char32_t value;
  for (char32_t v = 0; v <= 0x110000; v += (v < 0x3000 ? 1 : 97)) {
    if (v >= 0xd800 && v <= 0xdfff) continue;
    if (v > 0x10ffff) break;
    std::string text;
    engine::append_utf8(text, v);
    if (engine::decode_utf8(text, value) != text.size() || value != v)
      FAIL("code point " << std::uint32_t{v});
  }
  for (const std::string bad :
       {"\x80", "\xc0\x80", "\xc1\xbf", "\xe0\x80\x80", "\xed\xa0\x80", "\xf0\x80\x80\x80",
        "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xff", "\xe2\x82", "\xe2\x28\xa1", ""})
    CHECK(engine::decode_utf8(bad, value) == 0);
}

TEST_CASE("a stream shows whole characters only, wherever the bytes are cut", "[engine][tokenizer]") {
  const std::string text = "a\u00e9\u4e2d\U0001f642z";
  for (std::size_t cut = 0; cut <= text.size(); ++cut) {
    engine::Utf8Stream stream;
    const std::string first = stream.push(text.substr(0, cut));
    char32_t value;
    for (std::string_view rest = first; !rest.empty();) {
      const std::size_t length = engine::decode_utf8(rest, value);
      REQUIRE(length != 0);
      rest.remove_prefix(length);
    }
    const std::string second = stream.push(text.substr(cut));
    CHECK(first + second + stream.finish() == text);
  }
  engine::Utf8Stream stream;
  CHECK(stream.push("a\xff\xc3") == "a\ufffd");  // \xc3 may become a character
  CHECK(stream.push("b") ==
        "\ufffd"
        "b");
  CHECK(stream.push("\xe2\x82").empty());
  CHECK(stream.finish() == "\ufffd\ufffd");
}
