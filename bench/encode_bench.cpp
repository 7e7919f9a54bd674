// encode_bench.cpp: what it costs to make a vector a record, and 64 tokens a block.
#include "bench_support.hpp"

namespace {

using namespace tightkv;
using tightkv_bench::require;

constexpr std::size_t dim = 128, vectors = 256;

using LloydMax4 = PolarQuant<Hadamard, LloydMax<4>>;
using Trellis3 = PolarQuant<Hadamard, Trellis<3>>;
using Trellis4 = PolarQuant<Hadamard, Trellis<4>>;
using Trellis5 = PolarQuant<Hadamard, Trellis<5>>;
using Paper4 = TurboQuant<Haar, LloydMax<3>, Gaussian>;

const std::vector<float>& data() {
  static const std::vector<float> d = tightkv_bench::normal_vectors(1, vectors, dim);
  return d;
}

const std::byte* row(std::size_t i) { return reinterpret_cast<const std::byte*>(&data()[i * dim]); }

/// The integer rotation of one vector.
template <class R>
void rotate(benchmark::State& state) {
  const R rotation(dim, 7);
  std::vector<std::int32_t> x(dim);
  std::size_t i = 0;
  for (auto _ : state) {
    condition_row(row(i++ % vectors), ElementType::f32, {}, x);
    rotation.forward(std::span(x));
    benchmark::DoNotOptimize(x.data());
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations());
}

/// From an f32 row to codes and scale, of a whole key codec; SearchPoints encodings are tried a vector.
template <class Codec, unsigned SearchPoints>
void encode(benchmark::State& state) {
  const Codec codec = [&] {
    if constexpr (std::same_as<Codec, Paper4>)
      return Codec(dim, 7, 0, SearchPoints);
    else
      return Codec(dim, 7, SearchPoints);
  }();
  std::vector<std::int32_t> x(dim);
  std::vector<std::int8_t> levels(dim);
  std::vector<float> decoded(dim);
  Record record;
  record.resize(codec.shape());
  const auto once = [&](std::size_t i) {
    const int unit = condition_row(row(i), ElementType::f32, {}, x);
    codec.encode({x, unit}, record);
  };
  double error = 0, size = 0;
  for (std::size_t i = 0; i < vectors; ++i) {
    once(i);
    codec.levels(record.codes, levels);
    std::vector<float> scales;
    for (const fixed::Scale s : record.scales) scales.push_back(fixed::to_float(s));
    codec.decode({levels, record.signs, scales, nullptr}, decoded);
    for (std::size_t k = 0; k < dim; ++k) {
      const auto miss = static_cast<double>(decoded[k] - data()[i * dim + k]);
      error += miss * miss;
      size += static_cast<double>(data()[i * dim + k]) * static_cast<double>(data()[i * dim + k]);
    }
  }
  require(error < 0.15 * size, "the decoded vectors are not the ones that were encoded");
  std::size_t i = 0;
  for (auto _ : state) {
    once(i++ % vectors);
    benchmark::DoNotOptimize(record.codes.data());
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations());
  state.counters["error"] = error / size;  // |x^ - x|^2 / |x|^2
}

/// append + commit of 64 tokens, one kv head: conditioner, keys, values, packing.
void block(benchmark::State& state, const char* name) {
  Format format = preset(name, dim, dim);
  format.sinks = format.window = 0;
  AnyCompressor cache(format, 1, 7);
  const TensorView rows = contiguous(data().data(), layout::block_tokens, 1, dim);
  for (auto _ : state) {
    cache.append(rows, rows);
    cache.commit();
    state.PauseTiming();
    require(cache.blocks() == 1, "64 tokens are one block");
    cache.clear();
    state.ResumeTiming();
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(layout::block_tokens));
}

BENCHMARK(rotate<Haar>);
BENCHMARK(rotate<Hadamard>);
BENCHMARK_TEMPLATE(encode, LloydMax4, 1);
BENCHMARK_TEMPLATE(encode, LloydMax4, 9);
BENCHMARK_TEMPLATE(encode, Trellis3, 1);
BENCHMARK_TEMPLATE(encode, Trellis4, 1);
BENCHMARK_TEMPLATE(encode, Trellis5, 1);
BENCHMARK_TEMPLATE(encode, Trellis4, 5);
BENCHMARK_TEMPLATE(encode, Paper4, 1);
BENCHMARK_CAPTURE(block, k4v4, "k4v4");
BENCHMARK_CAPTURE(block, k3v3, "k3v3");
BENCHMARK_CAPTURE(block, turbo4, "turbo4");
BENCHMARK_CAPTURE(block, paper4, "paper4");
BENCHMARK_CAPTURE(block, q8_0, "q8_0");

}  // namespace

TIGHTKV_BENCH_MAIN();
