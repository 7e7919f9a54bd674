// projection/dense.hpp: what the dense sketch matrices share: integer entries, S x, S q and S^T y.
#pragma once

#include <memory>

#include "../core/concepts.hpp"

namespace tightkv::inline TIGHTKV_ABI {

/// A rows x dim matrix of integers in units of 2^-grid. Copies share the storage.
class DenseSketch {
 public:
  std::size_t dim() const noexcept { return dim_; }
  std::size_t rows() const noexcept { return rows_; }

  /// S x in units of 2^-grid times those of x; only the signs are kept by the caller.
  void sketch(std::span<const std::int32_t> x, std::span<std::int64_t> out) const noexcept {
    for (std::size_t i = 0; i < rows_; ++i) {
      const std::int32_t* row = values_->data() + i * dim_;
      std::int64_t sum = 0;
      for (std::size_t k = 0; k < dim_; ++k) sum += std::int64_t{row[k]} * x[k];
      out[i] = sum;
    }
  }

  void sketch(std::span<const float> q, std::span<float> out) const noexcept {
    for (std::size_t i = 0; i < rows_; ++i) {
      const std::int32_t* row = values_->data() + i * dim_;
      float sum = 0;
      for (std::size_t k = 0; k < dim_; ++k) sum += static_cast<float>(row[k]) * q[k];
      out[i] = sum * unit_;
    }
  }

  void adjoint(std::span<const float> y, std::span<float> out) const noexcept {
    for (float& v : out) v = 0;
    for (std::size_t i = 0; i < rows_; ++i) {
      const std::int32_t* row = values_->data() + i * dim_;
      const float scaled = y[i] * unit_;
      for (std::size_t k = 0; k < dim_; ++k) out[k] += static_cast<float>(row[k]) * scaled;
    }
  }

  std::uint64_t hash() const noexcept { return hash_; }

 protected:
  DenseSketch(std::size_t dim, std::size_t rows, Buffer<std::int32_t> values, int grid)
      : dim_(dim),
        rows_(rows),
        unit_(fixed::power_of_two(-grid)),
        values_(std::make_shared<const Buffer<std::int32_t>>(std::move(values))) {
    bytes::Hash hash;
    for (const std::int32_t v : *values_) hash.add(v);
    hash_ = hash.value();
  }

 private:
  std::size_t dim_, rows_;
  float unit_;
  std::shared_ptr<const Buffer<std::int32_t>> values_;
  std::uint64_t hash_ = 0;
};

}  // namespace tightkv::inline TIGHTKV_ABI
