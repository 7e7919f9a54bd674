// chat.hpp: a question as the ChatML conversation that the instruct models were trained on.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tokenizer.hpp"

namespace engine {

/// <|im_start|>role\ntext<|im_end|>\n for system and user, then the opening of the answer. The control tokens
/// are put in by id: text that spells them out stays text.
inline std::vector<Token> chat_prompt(const Tokenizer& tokenizer, std::string_view system,
                                      std::string_view user) {
  const Token start = tokenizer.find("<|im_start|>"), end = tokenizer.find("<|im_end|>");
  if (start == Tokenizer::none || end == Tokenizer::none)
    throw Error("this vocabulary has no <|im_start|> and <|im_end|>, so it is no ChatML model");
  std::vector<Token> out;
  const auto add = [&](std::string_view text) {
    const std::vector<Token> more = tokenizer.encode(text);
    out.insert(out.end(), more.begin(), more.end());
  };
  const auto message = [&](std::string_view role, std::string_view text) {
    out.push_back(start);
    add(std::string(role) + "\n" + std::string(text));
    out.push_back(end);
    add("\n");
  };
  message("system", system);
  message("user", user);
  out.push_back(start);
  add("assistant\n");
  return out;
}

/// The system text of SmolLM2's own template, used when a conversation brings none.
inline constexpr std::string_view smollm_system =
    "You are a helpful AI assistant named SmolLM, trained by Hugging Face";

}  // namespace engine
