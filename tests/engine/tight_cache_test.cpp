#include "../../examples/engine/cache.hpp"

#include <vector>

#include "../../examples/engine/evaluate.hpp"
#include "../../examples/engine/gguf_reader.hpp"
#include "../../examples/engine/model.hpp"
#include "contains.hpp"
#include "naive_cache.hpp"
#include "tiny_model.hpp"

using engine::GgufReader;
using engine::Index;
using engine::Matrix;
using engine::Model;
using engine::TightCache;
using engine::Token;

namespace {

/// Heads of 64, as SmolLM2's, and a context that fills several blocks.
gguf_test::File model_file() {
  gguf_test::Shape shape;
  shape.head_dim = 64;
  shape.context = 512;
  return gguf_test::tiny_model(shape);
}

std::vector<Token> tokens(std::size_t count) {
  std::vector<Token> out;
  for (std::size_t i = 0; i < count; ++i) out.push_back(static_cast<Token>(i * i * 7 % 37));
  return out;
}

/// Log-probabilities of all positions.
template <engine::KvCache C>
Matrix run(Model& model, C& cache, std::size_t count, std::size_t chunk) {
  Matrix out(static_cast<Index>(count), static_cast<Index>(model.vocabulary()));
  engine::teacher_force(model, tokens(count), cache, chunk, [&](std::size_t at, const Matrix& rows) {
    out.middleRows(static_cast<Index>(at), rows.rows()) = rows;
  });
  return out;
}

double divergence(const Matrix& reference, const Matrix& actual) {
  engine::Comparison comparison;
  comparison.add(reference, actual, {});
  return comparison.kld();
}

}  // namespace

TEST_CASE("the library's f32 cache gives the logits of the plain one", "[engine][cache]") {
  Model model(GgufReader::parse(model_file().bytes()), 1);
  NaiveCache naive(model.config());
  TightCache tight("f32", model.config());
  CHECK((run(model, naive, 300, 50) - run(model, tight, 300, 50)).cwiseAbs().maxCoeff() < 1e-3f);
  CHECK(tight.size() == 300);
}

TEST_CASE("packed caches stay near f16, more bits nearer, and hold fewer bytes", "[engine][cache]") {
  Model model(GgufReader::parse(model_file().bytes()), 1);
  TightCache f16("f16", model.config()), k4v4("k4v4", model.config()), k3v2("k3v2", model.config());
  const Matrix reference = run(model, f16, 400, 64);
  const double four = divergence(reference, run(model, k4v4, 400, 64));
  const double less = divergence(reference, run(model, k3v2, 400, 64));
  CHECK(four < less);
  CHECK(four > 0);
  CHECK(less < 0.05);
  CHECK(k4v4.bytes() < f16.bytes());
  CHECK(k4v4.block_bytes_per_token() < 0.3 * f16.block_bytes_per_token());
  CHECK(k3v2.block_bytes_per_token() < k4v4.block_bytes_per_token());
}

TEST_CASE("chunks of any size read the same packed blocks", "[engine][cache]") {
  Model model(GgufReader::parse(model_file().bytes()), 1);
  TightCache whole("k4v4", model.config());
  const Matrix want = run(model, whole, 300, 300);
  for (const std::size_t chunk : {1u, 70u}) {
    TightCache cut("k4v4", model.config());
    CHECK((run(model, cut, 300, chunk) - want).cwiseAbs().maxCoeff() < 1e-2f);
  }
}

TEST_CASE("in_blocks is what the library reports", "[engine][cache]") {
  Model model(GgufReader::parse(model_file().bytes()), 1);
  for (const char* preset : {"k4v4", "paper4", "f16"})
    for (const std::size_t count : {63u, 64u, 65u, 131u, 132u, 133u, 200u}) {
      TightCache cache(preset, model.config());
      run(model, cache, count, 32);
      CAPTURE(preset, count);
      CHECK(cache.in_blocks(count) == cache.packed_tokens());
    }
  CHECK(TightCache("paper4", model.config()).packs());
  CHECK_FALSE(TightCache("f16", model.config()).packs());
}

TEST_CASE("an unknown preset is refused and the known ones are listed", "[engine][cache]") {
  Model model(GgufReader::parse(model_file().bytes()), 1);
  CHECK_THROWS_WITH(TightCache("k5v5", model.config()), engine_test::contains("k4v4"));
}
