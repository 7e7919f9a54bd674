// rotation/matrix.hpp: a dense orthogonal matrix on a 2^-24 grid: loaded from outside, or the result of Haar.
#pragma once

#include <memory>

#include "../core/concepts.hpp"

namespace tightkv::inline TIGHTKV_ABI {

/// A row-major dim x dim matrix in units of 2^-24. Copies share the storage.
class Matrix {
 public:
  static constexpr RotationKind kind = RotationKind::matrix;
  static constexpr int grid = 24;

  /// `values` in units of 2^-24; checked to be orthogonal: every entry of R R^T - I below 1e-5.
  static Status try_make(std::size_t dim, std::span<const std::int32_t> values, Matrix& out) {
    if (dim == 0 || dim > max_head_dim || values.size() != dim * dim)
      return Status::failure(ErrorCode::invalid_argument, "matrix has ", values.size(), " values; dim ", dim,
                             " needs ", dim * dim, " and dim at most ", max_head_dim);
    constexpr std::int64_t one = std::int64_t{1} << grid, limit = one / 100000;
    for (const std::int32_t v : values)
      if (v > one + limit || v < -one - limit)
        return Status::failure(ErrorCode::invalid_argument, "matrix value ", v,
                               " is outside [-1, 1] on the 2^-24 grid");
    for (std::size_t i = 0; i < dim; ++i)
      for (std::size_t j = 0; j <= i; ++j) {
        std::int64_t dot = 0;
        for (std::size_t k = 0; k < dim; ++k) dot += std::int64_t{values[i * dim + k]} * values[j * dim + k];
        dot = fixed::shift_round(dot, grid) - (i == j ? one : 0);
        if (dot > limit || dot < -limit)
          return Status::failure(ErrorCode::invalid_argument, "matrix is not orthogonal: rows ", i, " and ",
                                 j, " miss by ", dot, " * 2^-24; the limit is ", limit);
      }
    out = Matrix(dim, Buffer<std::int32_t>(values.begin(), values.end()));
    return {};
  }

  Matrix() = default;

  std::size_t dim() const noexcept { return dim_; }
  std::span<const std::int32_t> values() const noexcept { return *values_; }

  void forward(std::span<std::int32_t> x) const noexcept {
    std::int32_t result[max_head_dim];
    for (std::size_t i = 0; i < dim_; ++i) {
      const std::int32_t* row = values_->data() + i * dim_;
      std::int64_t sum = 0;
      for (std::size_t k = 0; k < dim_; ++k) sum += std::int64_t{row[k]} * x[k];
      result[i] = static_cast<std::int32_t>(fixed::shift_round(sum, grid));
    }
    for (std::size_t i = 0; i < dim_; ++i) x[i] = result[i];
  }

  void forward(std::span<float> x) const noexcept {
    float result[max_head_dim];
    for (std::size_t i = 0; i < dim_; ++i) {
      const std::int32_t* row = values_->data() + i * dim_;
      float sum = 0;
      for (std::size_t k = 0; k < dim_; ++k) sum += static_cast<float>(row[k]) * unit * x[k];
      result[i] = sum;
    }
    for (std::size_t i = 0; i < dim_; ++i) x[i] = result[i];
  }

  void inverse(std::span<float> x) const noexcept {
    float result[max_head_dim] = {};
    for (std::size_t i = 0; i < dim_; ++i) {
      const std::int32_t* row = values_->data() + i * dim_;
      for (std::size_t k = 0; k < dim_; ++k) result[k] += static_cast<float>(row[k]) * unit * x[i];
    }
    for (std::size_t k = 0; k < dim_; ++k) x[k] = result[k];
  }

  std::uint64_t hash() const noexcept { return hash_; }

 protected:
  Matrix(std::size_t dim, Buffer<std::int32_t> values)
      : dim_(dim), values_(std::make_shared<const Buffer<std::int32_t>>(std::move(values))) {
    bytes::Hash hash;
    for (const std::int32_t v : *values_) hash.add(v);
    hash_ = hash.value();
  }

 private:
  static constexpr float unit = fixed::power_of_two(-grid);  // exact, and inside the sums: nothing overflows

  std::size_t dim_ = 0;
  std::shared_ptr<const Buffer<std::int32_t>> values_ = std::make_shared<const Buffer<std::int32_t>>();
  std::uint64_t hash_ = 0;
};

static_assert(Rotation<Matrix>);

}  // namespace tightkv::inline TIGHTKV_ABI
