#include "../../examples/engine/model.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include "../../examples/engine/gguf_reader.hpp"
#include "contains.hpp"
#include "naive_cache.hpp"
#include "tiny_model.hpp"

using engine::GgufReader;
using engine::Index;
using engine::Logits;
using engine::Matrix;
using engine::Model;
using engine::Token;
using namespace gguf_test;

namespace {

const std::vector<Token> sequence{3, 14, 15, 9, 26, 5, 35, 8, 9, 7, 9, 3, 0, 36};

/// The same mathematics once more, in double and by plain loops, straight from the tensors. One whole
/// sequence.
std::vector<std::vector<double>> plain_forward(const File& source, const Shape& s,
                                               const std::vector<Token>& tokens) {
  File file = source;
  std::map<std::string, std::vector<float>> w;
  for (const Tensor& t : file.tensors()) w[t.name] = t.values;
  using Row = std::vector<double>;
  const auto times = [&](const std::string& name,
                         const Row& x) {  // weight (outputs, inputs) times x, plus bias
    const auto& m = w.at(name + ".weight");
    Row out(m.size() / x.size());
    for (std::size_t o = 0; o < out.size(); ++o)
      for (std::size_t i = 0; i < x.size(); ++i) out[o] += double{m[o * x.size() + i]} * x[i];
    if (w.contains(name + ".bias"))
      for (std::size_t o = 0; o < out.size(); ++o) out[o] += double{w.at(name + ".bias")[o]};
    return out;
  };
  const auto norm = [&](const std::string& name, const Row& x) {
    double square = 0;
    for (const double v : x) square += v * v;
    Row out;
    for (std::size_t i = 0; i < x.size(); ++i)
      out.push_back(x[i] / std::sqrt(square / static_cast<double>(x.size()) + double{1e-5f}) *
                    double{w.at(name + ".weight")[i]});
    return out;
  };
  const std::size_t d = s.head_dim, pairs = d / 2;
  const auto turn = [&](Row& x, std::size_t position) {
    for (std::size_t h = 0; h < x.size(); h += d)
      for (std::size_t i = 0; i < pairs; ++i) {
        const double a = static_cast<double>(position) *
                         std::pow(1000.0, -2.0 * static_cast<double>(i) / static_cast<double>(d));
        double& u = s.arch == "llama" ? x[h + 2 * i] : x[h + i];
        double& v = s.arch == "llama" ? x[h + 2 * i + 1] : x[h + i + pairs];
        const double turned = u * std::cos(a) - v * std::sin(a);
        v = u * std::sin(a) + v * std::cos(a);
        u = turned;
      }
  };
  std::vector<Row> x;
  for (const Token t : tokens) {
    const auto from = w.at("token_embd.weight").begin() + t * static_cast<std::ptrdiff_t>(s.embedding);
    x.emplace_back(from, from + s.embedding);
  }
  for (std::uint32_t layer = 0; layer < s.layers; ++layer) {
    const std::string p = "blk." + std::to_string(layer) + ".";
    std::vector<Row> keys, values;
    for (std::size_t t = 0; t < x.size(); ++t) {
      const Row h = norm(p + "attn_norm", x[t]);
      Row q = times(p + "attn_q", h);
      keys.push_back(times(p + "attn_k", h));
      values.push_back(times(p + "attn_v", h));
      turn(q, t);
      turn(keys.back(), t);
      Row read(q.size());
      for (std::size_t head = 0; head < s.heads; ++head) {
        const std::size_t from = head / (s.heads / s.kv_heads) * d;
        Row weight;
        double mass = 0;
        for (std::size_t past = 0; past <= t; ++past) {
          double dot = 0;
          for (std::size_t i = 0; i < d; ++i) dot += q[head * d + i] * keys[past][from + i];
          weight.push_back(std::exp(dot / std::sqrt(static_cast<double>(d))));
          mass += weight.back();
        }
        for (std::size_t past = 0; past <= t; ++past)
          for (std::size_t i = 0; i < d; ++i)
            read[head * d + i] += weight[past] / mass * values[past][from + i];
      }
      const Row o = times(p + "attn_output", read);
      for (std::size_t i = 0; i < o.size(); ++i) x[t][i] += o[i];
      const Row f = norm(p + "ffn_norm", x[t]), up = times(p + "ffn_up", f);
      Row gate = times(p + "ffn_gate", f);
      for (std::size_t i = 0; i < gate.size(); ++i) gate[i] *= up[i] / (1 + std::exp(-gate[i]));
      const Row down = times(p + "ffn_down", gate);
      for (std::size_t i = 0; i < down.size(); ++i) x[t][i] += down[i];
    }
  }
  std::vector<Row> logits;
  for (const Row& row : x) logits.push_back(times("token_embd", norm("output_norm", row)));
  return logits;
}

Matrix run(Model& model, const std::vector<Token>& tokens, std::size_t chunk) {
  NaiveCache cache(model.config());
  Matrix out(static_cast<Index>(tokens.size()), static_cast<Index>(model.vocabulary()));
  for (std::size_t at = 0; at < tokens.size(); at += chunk) {
    const std::size_t count = std::min(chunk, tokens.size() - at);
    out.middleRows(static_cast<Index>(at), static_cast<Index>(count)) =
        model.forward(std::span(tokens).subspan(at, count), cache, Logits::all_tokens);
  }
  return out;
}

using engine_test::contains;

}  // namespace

TEST_CASE("the logits are those of a plain double implementation", "[engine][model]") {
  Shape shape;
  shape.arch = GENERATE("llama", "qwen2");
  shape.kv_heads = GENERATE(1u, 2u, 4u);
  CAPTURE(shape.arch, shape.kv_heads);
  const File file = tiny_model(shape);
  const auto want = plain_forward(file, shape, sequence);
  Model model(GgufReader::parse(file.bytes()), 2);
  const Matrix got = run(model, sequence, sequence.size());
  double worst = 0;
  for (std::size_t t = 0; t < sequence.size(); ++t)
    for (std::size_t i = 0; i < shape.vocabulary; ++i)
      worst =
          std::max(worst, std::abs(want[t][i] - double{got(static_cast<Index>(t), static_cast<Index>(i))}));
  CHECK(worst < 1e-4);  // logits of size 3, a few hundred float roundings of 2^-24 each
}

TEST_CASE("token by token, in chunks and at once give the same logits", "[engine][model]") {
  Shape shape;
  shape.arch = GENERATE("llama", "qwen2");
  Model model(GgufReader::parse(tiny_model(shape).bytes()), 1);
  const Matrix whole = run(model, sequence, sequence.size());
  for (const std::size_t chunk : {1u, 3u, 5u})
    CHECK((run(model, sequence, chunk) - whole).cwiseAbs().maxCoeff() < 1e-4f);
}

TEST_CASE("the number of threads does not change the result", "[engine][model]") {
  const File file = tiny_model({});
  Model one(GgufReader::parse(file.bytes()), 1), three(GgufReader::parse(file.bytes()), 3);
  CHECK((run(one, sequence, 4) - run(three, sequence, 4)).cwiseAbs().maxCoeff() < 1e-5f);
}

TEST_CASE("the last token's logits are the last row of all", "[engine][model]") {
  Model model(GgufReader::parse(tiny_model({}).bytes()), 1);
  NaiveCache a(model.config()), b(model.config());
  const Matrix all = model.forward(sequence, a, Logits::all_tokens),
               last = model.forward(sequence, b, Logits::last_token);
  REQUIRE(last.rows() == 1);
  CHECK((all.bottomRows(1) - last).cwiseAbs().maxCoeff() < 1e-5f);
}

TEST_CASE("the two RoPE pairings are different functions of the same weights", "[engine][model]") {
  Shape llama, qwen;
  qwen.arch = "qwen2";
  const auto config = [](const Shape& s) { return engine::Config(GgufReader::parse(tiny_model(s).bytes())); };
  Matrix a = Matrix::Random(3, 32), b = a;
  engine::Rope(config(llama), 5, 3).apply(a, 8);
  engine::Rope(config(qwen), 5, 3).apply(b, 8);
  CHECK((a - b).cwiseAbs().maxCoeff() > 0.1f);
  CHECK(std::abs(a.norm() - b.norm()) < 1e-4f);  // why a wrong one goes unnoticed
}

TEST_CASE("a model that this engine does not know is refused by name", "[engine][model]") {
  const auto complaint = [](const File& file) -> std::string {
    try {
      Model(GgufReader::parse(file.bytes()), 1);
    } catch (const engine::Error& error) {
      return error.what();
    }
    return "";
  };
  Shape other;
  other.arch = "gemma9";
  CHECK_THAT(complaint(tiny_model(other)), contains("\"gemma9\" is not supported; known: llama, qwen2"));
  CHECK_THAT(complaint(tiny_model({}).add_text("llama.rope.scaling.type", "yarn")), contains("\"yarn\""));
  CHECK_THAT(complaint(tiny_model({}).add_u32("llama.expert_count", 8)), contains("llama.expert_count"));
  CHECK_THAT(complaint(tiny_model({}).add_u32("llama.rope.dimension_count", 7)), contains("7 of 8"));
  CHECK_THAT(complaint(tiny_model({}).add_tensor({"blk.0.attn_sinks", {1}, 0, {0}})), contains("no place"));
  File bent = tiny_model({}), torn = tiny_model({});
  bent.tensors()[2].dims = {16, 48};  // as many values, another shape
  CHECK_THAT(complaint(bent), contains("attn_q.weight") && contains("16 x 48") && contains("24 x 32"));
  torn.tensors().pop_back();
  CHECK_THAT(complaint(torn), contains("output_norm.weight\" is missing"));
  Shape odd;
  odd.kv_heads = 3;
  CHECK_THAT(complaint(tiny_model(odd)), contains("4 query heads cannot share 3"));
}

TEST_CASE("tokens and positions outside the model are refused before anything is stored", "[engine][model]") {
  Model model(GgufReader::parse(tiny_model({}).bytes()), 1);
  NaiveCache cache(model.config());
  const auto forward = [&](std::vector<Token> tokens) {
    return model.forward(tokens, cache, Logits::last_token);
  };
  CHECK_THROWS_WITH(forward({}), contains("at least one token"));
  CHECK_THROWS_WITH(forward({0, 37}), contains("token 37"));
  CHECK_THROWS_WITH(forward({-1}), contains("token -1"));
  CHECK_THROWS_WITH(forward(std::vector<Token>(65, 1)), contains("65") && contains("64"));
  CHECK(cache.size() == 0);
}
