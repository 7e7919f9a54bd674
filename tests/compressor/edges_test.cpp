// Edges that a review found: queries past the end, at the ends of the float range, and windows without an
// end.
#include <catch.hpp>
#include <cmath>
#include <limits>
#include <tightkv/tightkv.hpp>
#include <vector>

using namespace tightkv;

namespace {

std::vector<float> pattern(std::size_t n, float scale) {
  std::vector<float> values(n);
  for (std::size_t i = 0; i < n; ++i)
    values[i] = scale * (static_cast<float>((i * 2654435761u) >> 8 & 2047u) / 1024.0f - 1.0f);
  return values;
}

AnyCompressor filled(Format format, std::size_t tokens, float scale) {
  format.sinks = format.window = 0;
  AnyCompressor cache(format, 1, 3);
  const std::vector<float> rows = pattern(tokens * format.key_dim, scale);
  cache.append(contiguous(rows.data(), tokens, 1, format.key_dim),
               contiguous(rows.data(), tokens, 1, format.key_dim));
  return cache;
}

std::vector<float> attended(const AnyCompressor& cache, const std::vector<float>& q, AttendParams params) {
  Workspace workspace;
  std::vector<float> out(cache.value_dim());
  cache.attend(contiguous(q.data(), 1, 1, q.size()), out.data(), params, workspace);
  return out;
}

}  // namespace

TEST_CASE("a query past the end sees every token once, committed or not", "[compressor]") {
  const std::vector<float> q = pattern(64, 1);
  for (const bool committed : {false, true}) {
    AnyCompressor cache = filled(preset("k4v4", 64, 64), 100, 1);
    if (committed) cache.commit();
    const std::vector<std::size_t> last = {99}, far = {100000};
    AttendParams at_end, beyond;
    at_end.positions = last, beyond.positions = far;
    // The last query of a committed cache and any later one read the same blocks packed and the same rows
    // raw.
    const auto a = attended(cache, q, at_end), b = attended(cache, q, beyond);
    for (std::size_t i = 0; i < a.size(); ++i) CHECK(std::abs(a[i] - b[i]) < 0.1f);
    // No token lost: weights of ones give the sum of all values, and a window as long as the history hides
    // none.
    AttendParams endless;
    endless.window = (std::numeric_limits<std::size_t>::max)();
    CHECK(attended(cache, q, endless) == attended(cache, q, {}));
  }
}

TEST_CASE("tiny queries against huge keys keep their scores", "[compressor]") {
  Format format = preset("k4v4", 64, 64);
  format.tail = ElementType::f32;
  AnyCompressor cache = filled(format, 128, 1e30f);
  cache.commit();
  Workspace workspace;
  std::vector<float> integer(128), exact(128);
  const std::vector<float> q = pattern(64, 1e-37f);
  REQUIRE(cache.try_score(0, q, integer, workspace).ok());
  REQUIRE(cache.try_score(0, q, exact, workspace, Arithmetic::exact).ok());
  // An 8-bit query is off by at most largest / 254 a dim: 64 dims of 1e-37 / 254 against keys of 1e30.
  for (std::size_t t = 0; t < 128; ++t) CHECK(std::abs(integer[t] - exact[t]) < 64 * 3e-7f / 127);
}

TEST_CASE("a query that would leave the float range is refused by name", "[compressor]") {
  const AnyCompressor cache = filled(preset("k4v4", 64, 64), 64, 1);
  Workspace workspace;
  std::vector<float> logits(64), q(64, 1.0f);
  q[5] = 3e38f;
  const Status status = cache.try_score(0, q, logits, workspace);
  CHECK(status.code() == ErrorCode::invalid_argument);
  CHECK(status.message().find("dim 5") != std::string::npos);
}

TEST_CASE("keys of the largest float encode alike on every instruction set", "[compressor]") {
  const std::vector<float> rows(64 * 64, (std::numeric_limits<float>::max)());
  const AnyPolarQuant codec(Hadamard(64, 1), LloydMax<4>(64), scale::Any{}, 1);
  const RowsView view{reinterpret_cast<const std::byte*>(rows.data()), 16, 64, 256, ElementType::f32};
  Condition condition;
  condition.mean = mean_of_rows({view.data, 64, 64, 256, ElementType::f32});
  for (const kernel::Candidate& candidate : kernel::candidates()) {
    if (!candidate.available || !candidate.table->encode) continue;
    CAPTURE(candidate.table->name);
    BlockScratch scratch;
    std::vector<std::uint8_t> codes(64 * 16);
    std::vector<fixed::Scale> scales(16);
    if (!codec.encode_tile(*candidate.table, view, condition,
                           scratch.aligned_tile(kernel::EncodeTile::scratch_bytes(64)), codes.data(),
                           scales.data())) {
      SUCCEED("left to the definition");
      continue;
    }
    Record record;
    record.resize(codec.shape());
    std::vector<std::int32_t> x(64);
    const int unit = condition_row(view.data, ElementType::f32, condition, x);
    codec.encode({x, unit, view.data, ElementType::f32}, record);
    CHECK(record.scales[0] == scales[0]);
  }
}
