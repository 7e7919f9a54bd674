// matrix.hpp: the matrix type of the engine, and threads that share the rows of a product.
#pragma once

// GCC 12 takes its own AVX-512 intrinsics for uninitialized (GCC bug 105593). The mark holds for the place
// where they are first included, so this header comes before others that use them.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <Eigen/Core>
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif

#include <algorithm>
#include <barrier>
#include <cstddef>
#include <functional>
#include <thread>
#include <vector>

namespace engine {

using Index = Eigen::Index;
using Matrix =
    Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;  // row = token, or output
using Vector = Eigen::RowVectorXf;

/// A few threads that run one function at a time, each on its own part. They sleep between calls.
class Workers {
 public:
  explicit Workers(std::size_t count)
      : count_(std::max<std::size_t>(count, 1)),
        start_(static_cast<std::ptrdiff_t>(count_)),
        done_(static_cast<std::ptrdiff_t>(count_)) {
    for (std::size_t part = 1; part < count_; ++part)
      threads_.emplace_back([this, part] {
        for (;;) {
          start_.arrive_and_wait();
          if (stop_) return;
          task_(part);
          done_.arrive_and_wait();
        }
      });
  }
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;
  ~Workers() {
    stop_ = true;
    start_.arrive_and_wait();
    for (std::thread& thread : threads_) thread.join();
  }

  /// Calls work(first, last) so that all of [0, size) is covered once; `work` must not throw.
  template <class Work>
  void split(Index size, const Work& work) {
    const auto count = static_cast<Index>(count_);
    task_ = [&](std::size_t part) {
      const auto p = static_cast<Index>(part);
      work(size * p / count, size * (p + 1) / count);
    };
    start_.arrive_and_wait();
    task_(0);
    done_.arrive_and_wait();
  }

 private:
  std::size_t count_;
  std::barrier<> start_, done_;  // their arrivals order every access to task_ and stop_
  std::function<void(std::size_t)> task_;
  bool stop_ = false;
  std::vector<std::thread> threads_;
};

/// out = x * weight^T, (tokens, inputs) x (outputs, inputs) -> (tokens, outputs).
inline void multiply(Workers& workers, const Matrix& x, const Matrix& weight, Matrix& out) {
  out.resize(x.rows(), weight.rows());
  workers.split(weight.rows(), [&](Index first, Index last) {
    out.middleCols(first, last - first).noalias() = x * weight.middleRows(first, last - first).transpose();
  });
}

}  // namespace engine
