// tokenizer.hpp: byte-level byte-pair encoding as GPT-2 made it, with vocabulary and merges from a GGUF file.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "gguf.hpp"
#include "pre_tokenizer.hpp"
#include "unicode.hpp"

namespace engine {

using Token = std::int32_t;

/// GPT-2 writes each byte as a printable character: the printable ones of Latin-1 as themselves, the others
/// as U+0100, U+0101, ... in order.
inline const std::array<char32_t, 256>& byte_characters() {
  static const std::array<char32_t, 256> table = [] {
    std::array<char32_t, 256> out{};
    char32_t next = 0x100;
    for (char32_t b = 0; b < 256; ++b) {
      const bool printable_byte = (b >= '!' && b <= '~') || (b >= 0xa1 && b <= 0xac) || b >= 0xae;
      out[b] = printable_byte ? b : next++;
    }
    return out;
  }();
  return table;
}

class Tokenizer {
 public:
  static constexpr Token none = -1;

  explicit Tokenizer(const Gguf& file) {
    if (const auto& model = file.get<std::string>("tokenizer.ggml.model"); model != "gpt2")
      throw Error("the tokenizer " + printable(model) + " is not supported; known: gpt2");
    kind_ = pre_tokenizer(file.get<std::string>("tokenizer.ggml.pre"));
    text_ = file.get<std::vector<std::string>>("tokenizer.ggml.tokens");
    if (text_.empty() || text_.size() > std::size_t{1} << 24)
      throw Error("the vocabulary has " + std::to_string(text_.size()) + " tokens, allowed: 1 to 2^24");
    for (std::size_t i = 0; i < text_.size(); ++i) id_.emplace(text_[i], static_cast<Token>(i));
    read_types(file);
    read_merges(file.get<std::vector<std::string>>("tokenizer.ggml.merges"));
    end_ = special_id(file, "tokenizer.ggml.eos_token_id");
    for (std::size_t b = 0; b < 256; ++b) {
      std::string character;
      append_utf8(character, byte_characters()[b]);
      byte_id_[b] = find(character);
      byte_of_.emplace(byte_characters()[b], static_cast<char>(static_cast<unsigned char>(b)));
    }
  }

  std::size_t size() const noexcept { return text_.size(); }
  Token end_of_text() const noexcept { return end_; }

  /// The id of a token by its exact vocabulary text (special tokens as "<|im_end|>"), or none.
  Token find(const std::string& text) const {
    const auto found = id_.find(text);
    return found == id_.end() ? none : found->second;
  }

  /// Text to tokens. Special tokens are never made from text, so no prompt can forge one: use find() for
  /// them. A byte that the vocabulary lacks (SmolLM2: a few control characters) is left out, as the original
  /// does.
  std::vector<Token> encode(std::string_view text) const {
    std::vector<Token> out;
    for (const std::string_view piece : split_pieces(text, kind_)) encode_piece(piece, out);
    return out;
  }

  /// The bytes of one token; a multi-byte character may be cut, see Utf8Stream. Special tokens are their
  /// text.
  std::string bytes(Token token) const {
    const auto index = static_cast<std::size_t>(token);
    if (token < 0 || index >= text_.size())
      throw Error("token " + std::to_string(token) + " is outside the vocabulary of " +
                  std::to_string(text_.size()));
    if (special_[index]) return text_[index];
    std::string out;
    for (const CodePoint& point : code_points(text_[index])) {
      const auto byte = byte_of_.find(point.value);
      if (byte != byte_of_.end())
        out += byte->second;
      else  // not written in the byte alphabet (hand-added tokens): taken as it stands
        out += text_[index].substr(point.begin, point.end - point.begin);
    }
    return out;
  }

  std::string decode(const std::vector<Token>& tokens) const {
    std::string out;
    for (const Token token : tokens) out += bytes(token);
    return out;
  }

 private:
  struct Merge {
    std::size_t rank;  // lower merges first
    Token result;
  };

  static std::uint64_t pair_key(Token left, Token right) noexcept {
    return std::uint64_t{static_cast<std::uint32_t>(left)} << 32 | static_cast<std::uint32_t>(right);
  }

  /// Joins the neighbours of lowest rank until none can be joined. Quadratic in the piece, and pieces are
  /// words.
  void encode_piece(std::string_view piece, std::vector<Token>& out) const {
    std::vector<Token> word;
    for (const char c : piece) {
      const Token id = byte_id_[static_cast<unsigned char>(c)];
      if (id != none) word.push_back(id);
    }
    for (;;) {
      Merge best{std::numeric_limits<std::size_t>::max(), none};
      std::size_t where = 0;
      for (std::size_t i = 0; i + 1 < word.size(); ++i) {
        const auto merge = merges_.find(pair_key(word[i], word[i + 1]));
        if (merge != merges_.end() && merge->second.rank < best.rank) {
          best = merge->second;
          where = i;
        }
      }
      if (best.result == none) break;
      word[where] = best.result;
      word.erase(word.begin() + static_cast<std::ptrdiff_t>(where) + 1);
    }
    out.insert(out.end(), word.begin(), word.end());
  }

  void read_types(const Gguf& file) {
    constexpr std::int64_t control = 3, user_defined = 4;
    special_.assign(text_.size(), false);
    if (!file.has("tokenizer.ggml.token_type")) return;
    const auto& types = file.get<std::vector<std::int64_t>>("tokenizer.ggml.token_type");
    if (types.size() != text_.size())
      throw Error(std::to_string(types.size()) + " token types for " + std::to_string(text_.size()) +
                  " tokens");
    for (std::size_t i = 0; i < types.size(); ++i)
      special_[i] = types[i] == control || types[i] == user_defined;
  }

  /// A merge is written "left right"; a space inside a token is another character, so the first one
  /// separates.
  void read_merges(const std::vector<std::string>& lines) {
    for (std::size_t rank = 0; rank < lines.size(); ++rank) {
      const std::string& line = lines[rank];
      const std::size_t gap = line.find(' ', 1);
      if (gap == std::string::npos)
        throw Error("merge " + std::to_string(rank) + " is no pair: " + printable(line));
      const std::string left = line.substr(0, gap), right = line.substr(gap + 1);
      const Token a = find(left), b = find(right), joined = find(left + right);
      if (a == none || b == none || joined == none)
        throw Error("merge " + std::to_string(rank) + " names a token that is not there: " + printable(line));
      merges_.emplace(pair_key(a, b), Merge{rank, joined});
    }
  }

  Token special_id(const Gguf& file, const std::string& key) const {
    if (!file.has(key)) return none;
    return static_cast<Token>(file.integer(key, 0, static_cast<std::int64_t>(text_.size()) - 1));
  }

  PreTokenizer kind_{};
  std::vector<std::string> text_;
  std::vector<bool> special_;
  std::unordered_map<std::string, Token> id_;
  std::unordered_map<std::uint64_t, Merge> merges_;
  std::array<Token, 256> byte_id_{};
  std::unordered_map<char32_t, char> byte_of_;
  Token end_ = none;
};

}  // namespace engine
