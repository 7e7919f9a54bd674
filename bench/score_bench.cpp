// score_bench.cpp: logits of one query against a packed history, beside what reading the bytes costs and
// beside a plain fp16 cache.
#include "bench_support.hpp"

#include <map>
#include <memory>
#include <numeric>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace {

using namespace tightkv;
using tightkv_bench::require;

constexpr std::size_t dim = 128, most_keys = 16384;  // 2 MiB in 8 bits: beyond L2 on most machines

const std::vector<float>& keys() {
  static const std::vector<float> k = tightkv_bench::normal_vectors(2, most_keys, dim);
  return k;
}
const std::vector<float>& query() {
  static const std::vector<float> q = tightkv_bench::normal_vectors(3, 1, dim);
  return q;
}

/// The integer scores against the exact ones, and those against decoded keys. An 8-bit query is off by at
/// most max|q| / 254 a coordinate, so a score by at most sqrt(dim) |k| |q| / 254, twice for a sketch's norm
/// and signs.
void verify(const AnyCompressor& cache) {
  Workspace workspace;
  std::vector<float> integer(cache.size()), exact(cache.size()), key(dim);
  throw_if_failed(cache.try_score(0, query(), integer, workspace));
  throw_if_failed(cache.try_score(0, query(), exact, workspace, Arithmetic::exact));
  const double q = std::sqrt(tightkv_bench::dot(query().data(), query().data(), dim));
  for (std::size_t t = 0; t < cache.size(); t += 61) {
    const double k = std::sqrt(tightkv_bench::dot(&keys()[t * dim], &keys()[t * dim], dim));
    require(std::abs(integer[t] - exact[t]) < 2 * std::sqrt(static_cast<double>(dim)) * k * q / 254,
            "an integer score is outside its bound");
    if (t % 16 != 0) continue;
    throw_if_failed(cache.try_decode_key(0, t, key, workspace));
    const double want = tightkv_bench::dot(query().data(), key.data(), dim);
    require(std::abs(static_cast<double>(exact[t]) - want) < 1e-4 * k * q, "a score is not <q, decoded key>");
  }
}

/// A cache of n keys in blocks, made and verified once. Values are raw: they are not read here.
const AnyCompressor& cache_of(const std::string& name, std::size_t n) {
  static std::map<std::pair<std::string, std::size_t>, std::unique_ptr<AnyCompressor>> made;
  auto& cache = made[{name, n}];
  if (!cache) {
    Format format = preset(name, dim, dim);
    format.value = preset("f16", dim, dim).value;
    format.sinks = format.window = 0;
    cache = std::make_unique<AnyCompressor>(format, 1, 7);
    const TensorView rows = contiguous(keys().data(), n, 1, dim);
    cache->append(rows, rows);
    cache->commit();
    require(cache->bytes().packed_tokens == n, "all tokens are packed");
    verify(*cache);
  }
  return *cache;
}

void report(benchmark::State& state, std::size_t n, std::size_t bytes_per_key) {
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(n));                  // keys/s
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(n * bytes_per_key));  // packed
}

void score(benchmark::State& state, const char* name) {
  const auto n = static_cast<std::size_t>(state.range(0));
  const AnyCompressor& cache = cache_of(name, n);
  Workspace workspace;
  std::vector<float> logits(n);
  for (auto _ : state) {
    benchmark::DoNotOptimize(cache.try_score(0, query(), logits, workspace).ok());
    benchmark::DoNotOptimize(logits.data());
    benchmark::ClobberMemory();
  }
  report(state, n, cache.block_layout().key.bytes_per_vector());
}

// --- what the machine can do with as many bytes

void read_bytes(benchmark::State& state) {
  const auto n = static_cast<std::size_t>(state.range(0));
  std::vector<std::uint64_t> words(n * 66 / 8, 1);
  for (auto _ : state)
    benchmark::DoNotOptimize(std::accumulate(words.begin(), words.end(), std::uint64_t{0}));
  report(state, n, 66);
}

void copy_bytes(benchmark::State& state) {
  const auto n = static_cast<std::size_t>(state.range(0));
  std::vector<char> from(n * 66, 1), to(n * 66);
  for (auto _ : state) {
    std::memcpy(to.data(), from.data(), from.size());
    benchmark::DoNotOptimize(to.data());
    benchmark::ClobberMemory();
  }
  report(state, n, 66);
}

// --- the rival: keys in fp16, scored without unpacking anything else

std::vector<std::uint16_t> half_keys(std::size_t n) {
  std::vector<std::uint16_t> half(n * dim);
  for (std::size_t i = 0; i < half.size(); ++i) half[i] = to_half(keys()[i]).bits;
  return half;
}

#if defined(__x86_64__)
__attribute__((target("avx2,fma,f16c"))) float dot_f16(const std::uint16_t* k, const float* q) {
  __m256 sum[4] = {_mm256_setzero_ps(), _mm256_setzero_ps(), _mm256_setzero_ps(), _mm256_setzero_ps()};
  for (std::size_t i = 0; i < dim; i += 32)
    for (std::size_t j = 0; j < 4; ++j) {
      const __m128i h = _mm_loadu_si128(reinterpret_cast<const __m128i*>(k + i + 8 * j));
      sum[j] = _mm256_fmadd_ps(_mm256_cvtph_ps(h), _mm256_loadu_ps(q + i + 8 * j), sum[j]);
    }
  const __m256 all = _mm256_add_ps(_mm256_add_ps(sum[0], sum[1]), _mm256_add_ps(sum[2], sum[3]));
  const __m128 half = _mm_add_ps(_mm256_castps256_ps128(all), _mm256_extractf128_ps(all, 1));
  const __m128 two = _mm_add_ps(half, _mm_movehl_ps(half, half));
  return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
}

void rival_fp16_avx2(benchmark::State& state) {
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("f16c") || !__builtin_cpu_supports("fma"))
    return state.SkipWithError("this CPU lacks AVX2, FMA or F16C");
  const auto n = static_cast<std::size_t>(state.range(0));
  const auto half = half_keys(n);
  const double want = tightkv_bench::dot(keys().data(), query().data(), dim);
  require(std::abs(static_cast<double>(dot_f16(half.data(), query().data())) - want) < 0.1,
          "the fp16 rival gives another score");
  std::vector<float> logits(n);
  for (auto _ : state) {
    for (std::size_t t = 0; t < n; ++t) logits[t] = dot_f16(half.data() + t * dim, query().data());
    benchmark::DoNotOptimize(logits.data());
    benchmark::ClobberMemory();
  }
  report(state, n, 2 * dim);
}
#endif

constexpr auto key_counts = [](auto* b) { b->ArgName("keys")->Arg(1024)->Arg(most_keys); };

BENCHMARK_CAPTURE(score, k4v4, "k4v4")->Apply(key_counts);
BENCHMARK_CAPTURE(score, k3v3, "k3v3")->Apply(key_counts);
BENCHMARK_CAPTURE(score, turbo4, "turbo4")->Apply(key_counts);
BENCHMARK_CAPTURE(score, paper4, "paper4")->Apply(key_counts);
BENCHMARK_CAPTURE(score, q8_0, "q8_0")->Apply(key_counts);
BENCHMARK_CAPTURE(score, f16, "f16")->Apply(key_counts);
BENCHMARK(read_bytes)->Apply(key_counts);
BENCHMARK(copy_bytes)->Apply(key_counts);
#if defined(__x86_64__)
BENCHMARK(rival_fp16_avx2)->Apply(key_counts);
#endif

}  // namespace

TIGHTKV_BENCH_MAIN();
