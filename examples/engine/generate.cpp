// generate.cpp: one model, one question, one text, and several KV caches: what each costs and what it
// changes.
//
//   tools/fetch_model.py smollm2
//   tightkv_generate --model models/SmolLM2-135M-Instruct.Q4_1.gguf --preset f16,k4v4,k3v3,paper4
//
// Every cache answers the same question greedily, then reads the same text, whose predictions are compared
// with those of the f16 cache.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <exception>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include "cache.hpp"
#include "chat.hpp"
#include "evaluate.hpp"
#include "gguf_reader.hpp"
#include "model.hpp"
#include "progress.hpp"
#include "sampler.hpp"
#include "tokenizer.hpp"
#include "utf8_stream.hpp"

namespace {

using namespace engine;

struct Options {
  std::string model = "models/SmolLM2-135M-Instruct.Q4_1.gguf";
  std::vector<std::string> presets{"f16", "k4v4", "k3v3", "paper4"};
  std::string prompt = "What is the capital of France, and why is it famous?";
  std::string system{smollm_system};
  std::string text = "examples/engine/text.txt";
  bool raw_prompt = false, report = false;
  std::size_t tokens = 96, kld_tokens = 2048, chunk = 128;
  std::size_t threads = std::max(1u, std::thread::hardware_concurrency());
  Sampling sampling;
};

struct Row {
  std::string preset;
  Comparison quality;
  std::size_t bytes = 0;            // held after the whole text
  double block_bytes = 0;           // of them per token in blocks
  double read_packed = 0;           // tokens that a query of the text read from packed blocks, mean
  double reading = 0, writing = 0;  // tokens a second: the text in chunks, the answer one by one
};

class Stopwatch {
 public:
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

std::string read_text(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw Error("cannot read the text " + path);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// Prints the answer while it comes; returns tokens a second.
double answer(Model& model, const Tokenizer& tokenizer, const std::vector<Token>& prompt,
              const Options& options, TightCache& cache) {
  const std::span<const Token> all(prompt);
  Matrix logits;
  for (std::size_t at = 0; at < all.size(); at += options.chunk)
    logits =
        model.forward(all.subspan(at, std::min(options.chunk, all.size() - at)), cache, Logits::last_token);
  Sampler sampler(options.sampling);
  Utf8Stream stream;
  const auto show = [](const std::string& text) {
    std::fputs(text.c_str(), stdout);
    std::fflush(stdout);
  };
  std::size_t written = 0;
  const Stopwatch watch;
  while (written < options.tokens) {
    const Token next = sampler.pick({logits.data(), static_cast<std::size_t>(logits.cols())});
    if (next == tokenizer.end_of_text()) break;
    show(stream.push(tokenizer.bytes(next)));
    logits = model.forward({&next, 1}, cache, Logits::last_token);
    ++written;
  }
  const double seconds = watch.seconds();
  show(stream.finish() + "\n\n");
  return written == 0 ? 0 : static_cast<double>(written) / seconds;
}

/// Reads the text through a fresh cache. The f16 run comes first and fills `reference`.
void score(Model& model, std::span<const Token> text, const Options& options, Matrix& reference, Row& row) {
  const bool first = reference.rows() == 0;
  if (first) reference.resize(static_cast<Index>(text.size()), static_cast<Index>(model.vocabulary()));
  TightCache cache(row.preset, model.config());
  const Progress progress(row.preset);
  const Stopwatch watch;
  teacher_force(model, text, cache, options.chunk, [&](std::size_t at, const Matrix& rows) {
    auto expected = reference.middleRows(static_cast<Index>(at), rows.rows());
    if (first) expected = rows;
    row.quality.add(
        expected, rows,
        text.subspan(at + 1, std::min(text.size() - at - 1, static_cast<std::size_t>(rows.rows()))));
    progress.show(at + static_cast<std::size_t>(rows.rows()), text.size());
  });
  row.reading = static_cast<double>(text.size()) / watch.seconds();
  row.bytes = cache.bytes();
  row.block_bytes = cache.block_bytes_per_token();
  if (cache.packs())
    for (std::size_t p = 0; p < text.size(); ++p)
      row.read_packed += static_cast<double>(cache.in_blocks(p)) / static_cast<double>(text.size());
  if (options.report) std::printf("layer 0 of %s:\n%s\n", row.preset.c_str(), cache.report(0).c_str());
}

void print_table(const std::vector<Row>& rows, const Row& f16, std::size_t tokens) {
  const auto share = [](double part, double whole) { return whole == 0 ? 0 : 100 * part / whole; };
  const auto held = [](const Row& row) { return static_cast<double>(row.bytes); };
  if (tokens == 0) {
    for (const Row& row : rows) std::printf("%-12s %8.1f tokens/s\n", row.preset.c_str(), row.writing);
    return;
  }
  std::printf("All %zu positions of the text, against f16:\n", tokens);
  std::printf("%-12s | %9s %8s %7s %8s %7s | %8s %7s %7s | %8s %8s %8s\n", "", "KV KiB", "B/token", "of f16",
              "B/packed", "of f16", "KLD", "top-1", "PPL", "q reads", "read t/s", "gen t/s");
  for (const Row& row : rows)
    std::printf("%-12s | %9.1f %8.0f %6.1f%% %8.0f %6.1f%% | %8.5f %6.2f%% %7.3f | %8.1f %8.1f %8.1f\n",
                row.preset.c_str(), held(row) / 1024, held(row) / static_cast<double>(tokens),
                share(held(row), held(f16)), row.block_bytes, share(row.block_bytes, f16.block_bytes),
                row.quality.kld(), 100 * row.quality.top1(), row.quality.perplexity(), row.read_packed,
                row.reading, row.writing);
  std::puts(
      "KV KiB and B/token: all that is held after the text. B/packed: a token in a block, which is the cost "
      "of a long\n"
      "sequence. q reads: tokens that a query reads from packed blocks, on average; the first and the latest "
      "ones are\n"
      "held and read as fp16. Speeds: the text in chunks, the answer token by token.");
}

int run(const Options& options) {
  Gguf file = GgufReader::open(options.model);
  const Tokenizer tokenizer(file);
  Model model(file, options.threads);
  if (model.vocabulary() != tokenizer.size()) throw Error("vocabulary and embedding differ in size");
  file = Gguf();  // everything needed is in float now

  std::vector<Token> text = tokenizer.encode(options.kld_tokens == 0 ? "" : read_text(options.text));
  text.resize(std::min(text.size(), options.kld_tokens));
  const std::vector<Token> prompt = options.raw_prompt
                                        ? tokenizer.encode(options.prompt)
                                        : chat_prompt(tokenizer, options.system, options.prompt);

  Matrix reference;  // log-probabilities with f16, (text, vocabulary)
  Row f16;
  f16.preset = "f16";
  if (!text.empty()) score(model, text, options, reference, f16);
  std::vector<Row> rows;
  for (const std::string& preset : options.presets) {
    Row row;
    row.preset = preset;
    if (preset == "f16")
      row = f16;
    else if (!text.empty())
      score(model, text, options, reference, row);
    if (options.tokens != 0) {
      std::printf("== %s ==\n", preset.c_str());
      TightCache cache(preset, model.config());
      row.writing = answer(model, tokenizer, prompt, options, cache);
    }
    rows.push_back(std::move(row));
  }
  print_table(rows, f16, text.size());
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app{"Runs a GGUF model with KV caches of tightkv and compares them with an f16 cache."};
  app.add_option("--model", options.model, "GGUF file; tools/fetch_model.py smollm2 brings the default one")
      ->capture_default_str();
  app.add_option("--preset", options.presets, "cache formats, separated by commas")
      ->delimiter(',')
      ->capture_default_str();
  app.add_option("--prompt", options.prompt, "the question")->capture_default_str();
  app.add_option("--system", options.system, "the system message of the chat")->capture_default_str();
  app.add_flag("--raw", options.raw_prompt, "continue the prompt as plain text, without chat markers");
  app.add_option("--tokens", options.tokens, "longest answer; 0: no answer")->capture_default_str();
  app.add_option("--text", options.text, "text to compare predictions on")->capture_default_str();
  app.add_option("--kld-tokens", options.kld_tokens, "its first tokens, at most this many; 0: none")
      ->capture_default_str();
  app.add_option("--chunk", options.chunk, "tokens per forward pass of known text")
      ->check(CLI::Range(1, 4096))
      ->capture_default_str();
  app.add_option("--threads", options.threads, "threads of the matrix products")
      ->check(CLI::Range(1, 256))
      ->capture_default_str();
  app.add_option("--temperature", options.sampling.temperature, "0: greedy")->capture_default_str();
  app.add_option("--top-k", options.sampling.top_k, "0: no limit")->capture_default_str();
  app.add_option("--top-p", options.sampling.top_p, "1: no limit")->capture_default_str();
  app.add_option("--seed", options.sampling.seed, "of the sampler")->capture_default_str();
  app.add_flag("--report", options.report, "print the library's report of layer 0");
  CLI11_PARSE(app, argc, argv);
  try {
    return run(options);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 1;
  }
}
