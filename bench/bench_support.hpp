// bench_support.hpp: the data that every benchmark times, and what it says about the machine.
#pragma once

#include <benchmark/benchmark.h>
#include <tightkv/tightkv.hpp>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

namespace tightkv_bench {

/// (rows, dim) standard normal numbers: two runs time the same data.
inline std::vector<float> normal_vectors(std::uint64_t seed, std::size_t rows, std::size_t dim) {
  tightkv::IntegerNormal normal(seed, tightkv::RandomStream{100});
  std::vector<float> data(rows * dim);
  for (float& x : data) x = static_cast<float>(normal.next()) / 65536;
  return data;
}

inline double dot(const float* a, const float* b, std::size_t n) {
  double sum = 0;
  for (std::size_t i = 0; i < n; ++i) sum += static_cast<double>(a[i]) * static_cast<double>(b[i]);
  return sum;
}

/// A benchmark of wrong results is worth nothing: stops the program.
inline void require(bool good, const char* what) {
  if (good) return;
  std::fprintf(stderr, "verification failed: %s\n", what);
  std::exit(1);
}

inline std::string cpu_model() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);)
    if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
  return "unknown";
}

/// Goes into the printed header and the JSON file.
inline void add_context() {
#if defined(__clang__)
  benchmark::AddCustomContext("compiler", "clang " __VERSION__);
#else
  benchmark::AddCustomContext("compiler", "g++ " __VERSION__);
#endif
  std::string flags;
#if defined(__OPTIMIZE__)
  flags += "optimized";
#else
  flags += "NOT OPTIMIZED";
#endif
#if defined(__FAST_MATH__)
  flags += ", -ffast-math";
#endif
#if defined(__AVX512F__)
  flags += ", for AVX-512";
#elif defined(__AVX2__)
  flags += ", for AVX2";
#else
  flags += ", for the baseline of its architecture";
#endif
  benchmark::AddCustomContext("build", flags);
  benchmark::AddCustomContext("cpu", cpu_model());
  benchmark::AddCustomContext("kernels", tightkv::kernel::isa_report());
}

}  // namespace tightkv_bench

#define TIGHTKV_BENCH_MAIN()                                          \
  int main(int argc, char** argv) {                                   \
    tightkv_bench::add_context();                                     \
    benchmark::Initialize(&argc, argv);                               \
    if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1; \
    benchmark::RunSpecifiedBenchmarks();                              \
    benchmark::Shutdown();                                            \
  }                                                                   \
  static_assert(true)
