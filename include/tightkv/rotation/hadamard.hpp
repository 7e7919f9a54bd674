// rotation/hadamard.hpp: two rounds of (random signs, H_{2^k} (x) DCT_m) for any even dim = 2^k m. O(d (k +
// m)).
#pragma once

#include <memory>

#include "../core/concepts.hpp"
#include "../core/random.hpp"
#include "../detail/cosine.hpp"

namespace tightkv::inline TIGHTKV_ABI {

/// Orthogonal and exactly invertible, no padding. One round would be measurably biased (design.md, decision
/// 3); two are within 0.3 % of the vector's norm of unbiased on all inputs measured. The vector is seen as m
/// rows of 2^k: the Hadamard transform runs along a row, the DCT-II across the rows; the second round has
/// other rows.
class Hadamard {
 public:
  static constexpr RotationKind kind = RotationKind::hadamard;
  static constexpr int rounds = 2;

  explicit Hadamard(std::size_t dim, std::uint64_t seed, RandomStream stream = RandomStream::hadamard_signs)
      : dim_(dim) {
    for (width_ = 1; dim % (2 * width_) == 0;) width_ *= 2, ++log2_width_;
    auto tables = std::make_shared<Tables>();
    const Random random(seed, static_cast<std::uint64_t>(stream));
    tables->negative.resize(rounds * dim);
    for (std::size_t i = 0; i < rounds * dim; ++i)
      tables->negative[i] = (random.bits(i / 64) >> (i % 64)) & 1;
    const std::size_t m = dim / width_;
    tables->dct.resize(m * m);
    for (std::size_t row = 0; row < m; ++row) {
      // Orthonormal DCT-II: sqrt((row ? 2 : 1) / m) cos(pi (2 i + 1) row / (2 m)), in units of 2^-30.
      const auto norm = static_cast<std::int64_t>(fixed::isqrt((std::uint64_t{row ? 2u : 1u} << 60) / m));
      for (std::size_t i = 0; i < m; ++i)
        tables->dct[row * m + i] = static_cast<std::int32_t>(
            fixed::shift_round(norm * detail::cosine_q30((2 * i + 1) * row, 2 * m), 30));
    }
    const float norm = half_power(log2_width_);
    for (const std::uint8_t negative : tables->negative) tables->signs.push_back(negative ? -norm : norm);
    for (const std::int32_t c : tables->dct)
      tables->dct_floats.push_back(static_cast<float>(c) * fixed::power_of_two(-30));
    tables_ = std::move(tables);
  }

  std::size_t dim() const noexcept { return dim_; }

  // The tables, for kernels.
  std::size_t width() const noexcept { return width_; }  ///< 2^k
  int log2_width() const noexcept { return log2_width_; }
  const std::uint8_t* negative() const noexcept { return tables_->negative.data(); }  ///< (rounds, dim)
  const std::int32_t* dct() const noexcept { return tables_->dct.data(); }  ///< (m, m), units of 2^-30
  const float* signs() const noexcept { return tables_->signs.data(); }     ///< (rounds, dim): +-2^(-k/2)
  const float* dct_floats() const noexcept { return tables_->dct_floats.data(); }  ///< (m, m)

  void forward(std::span<std::int32_t> x) const noexcept {
    for (int round = 0; round < rounds; ++round) {
      flip_signs(x, round);
      butterflies(x);
      // H is left unnormalised: the two rounds together owe 2^-k, half of it each, the odd bit to the second.
      const int shift = round == 0 ? log2_width_ / 2 : log2_width_ - log2_width_ / 2;
      for (std::int32_t& v : x) v = static_cast<std::int32_t>(fixed::shift_round(v, shift));
      if (width_ != dim_) {
        across_rows(x, false);
        if (round == 0) regroup(x, false);
      }
    }
  }

  void forward(std::span<float> x) const noexcept {
    for (int round = 0; round < rounds; ++round) {
      flip_signs(x, round);
      normalise(x);  // first: sums of large values stay in range
      butterflies(x);
      if (width_ != dim_) {
        across_rows(x, false);
        if (round == 0) regroup(x, false);
      }
    }
  }

  void inverse(std::span<float> x) const noexcept {
    for (int round = rounds - 1; round >= 0; --round) {
      if (width_ != dim_) {
        if (round == 0) regroup(x, true);
        across_rows(x, true);
      }
      normalise(x);
      butterflies(x);  // symmetric, so its own inverse
      flip_signs(x, round);
    }
  }

  std::uint64_t hash() const noexcept {
    bytes::Hash hash;
    hash.add(static_cast<std::uint8_t>(kind))
        .add(static_cast<std::uint32_t>(dim_))
        .add(static_cast<std::uint8_t>(rounds));
    for (const std::uint8_t n : tables_->negative) hash.add(n);
    for (const std::int32_t c : tables_->dct) hash.add(c);
    return hash.value();
  }

 private:
  struct Tables {
    Buffer<std::uint8_t> negative;  // (rounds, dim): 1 where the sign is flipped
    Buffer<std::int32_t> dct;       // (m, m), units of 2^-30
    Buffer<float> signs, dct_floats;
  };

  template <class T>
  void flip_signs(std::span<T> x, int round) const noexcept {
    const std::uint8_t* negative = tables_->negative.data() + static_cast<std::size_t>(round) * dim_;
    for (std::size_t i = 0; i < dim_; ++i)
      if (negative[i]) x[i] = -x[i];
  }

  template <class T>
  void butterflies(std::span<T> x) const noexcept {
    for (std::size_t half = 1; half < width_; half *= 2)
      for (std::size_t begin = 0; begin < dim_; begin += 2 * half)
        for (std::size_t i = begin; i < begin + half; ++i) {
          const T a = x[i], b = x[i + half];
          x[i] = a + b;
          x[i + half] = a - b;
        }
  }

  /// 2^(-k / 2)
  static float half_power(int k) noexcept {
    constexpr float sqrt_half = 0.70710678118654752440f;
    return fixed::power_of_two(-(k / 2)) * (k % 2 ? sqrt_half : 1.0f);
  }

  void normalise(std::span<float> x) const noexcept {
    const float factor = half_power(log2_width_);
    for (float& v : x) v *= factor;
  }

  template <class T>
  void across_rows(std::span<T> x, bool transposed) const noexcept {
    const std::size_t m = dim_ / width_;
    T column[max_head_dim];
    for (std::size_t a = 0; a < width_; ++a) {
      for (std::size_t r = 0; r < m; ++r) column[r] = x[r * width_ + a];
      for (std::size_t r = 0; r < m; ++r) {
        if constexpr (std::same_as<T, float>) {
          constexpr float unit = fixed::power_of_two(-30);  // exact, and inside the sum: nothing overflows
          float sum = 0;
          for (std::size_t i = 0; i < m; ++i)
            sum += static_cast<float>(tables_->dct[transposed ? i * m + r : r * m + i]) * unit * column[i];
          x[r * width_ + a] = sum;
        } else {
          std::int64_t sum = 0;
          for (std::size_t i = 0; i < m; ++i) sum += std::int64_t{tables_->dct[r * m + i]} * column[i];
          x[r * width_ + a] = static_cast<std::int32_t>(fixed::shift_round(sum, 30));
        }
      }
    }
  }

  /// Between the rounds: row r of the second round is made of the coordinates i with i mod m = r, so each of
  /// them meets every row of the first. With the same rows twice, a vector whose energy lies in the middle
  /// row would keep uneven rows: the odd cosines vanish there (distortion up to 20 % higher at dim 192).
  template <class T>
  void regroup(std::span<T> x, bool back) const noexcept {
    const std::size_t m = dim_ / width_;
    T copy[max_head_dim];
    std::copy(x.begin(), x.end(), copy);
    for (std::size_t i = 0; i < dim_; ++i) {
      const std::size_t to = i % m * width_ + i / m;
      back ? x[i] = copy[to] : x[to] = copy[i];
    }
  }

  std::size_t dim_;
  std::size_t width_ = 1;  // 2^k
  int log2_width_ = 0;
  std::shared_ptr<const Tables> tables_;
};

static_assert(Rotation<Hadamard>);

}  // namespace tightkv::inline TIGHTKV_ABI
