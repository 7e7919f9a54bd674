// quantizer/qjl.hpp: one sign bit per row of a sketch and the norm. Keeps inner products only, so it is no
// value codec.
#pragma once

#include "../kernel/block.hpp"
#include "../kernel/score.hpp"

namespace tightkv::inline TIGHTKV_ABI {

namespace detail {

/// Signs of S x, 1 = not negative; the padding rows stay 0.
template <class P>
void write_signs(const P& projection, std::span<const std::int32_t> x, Record& out) noexcept {
  std::int64_t sketch[max_head_dim];
  projection.sketch(x, {sketch, projection.rows()});
  for (std::size_t i = 0; i < projection.rows(); ++i) out.signs[i] = sketch[i] >= 0 ? 1 : 0;
}

/// kappa S q, padded with zeros, as floats and as 8-bit integers.
template <class P>
void prepare_sketch(const P& projection, std::span<const float> q, PreparedQuery& out) {
  out.sketch.assign(layout::padded(projection.rows()), 0.0f);
  projection.sketch(q, std::span(out.sketch).first(projection.rows()));
  const auto kappa = static_cast<float>(projection.constant());
  for (float& v : out.sketch) v *= kappa;
  out.sketch_code.assign(out.sketch, false);
}

/// logits[k * 64 + t] = scales[t] <signs of token t, sketch of q_k>, or added to logits.
inline void sketch_scores(const kernel::Kernels& on, const kernel::LevelPlan& signs, const std::byte* planes,
                          std::size_t tile_bytes, const PreparedQuery* const* q, std::size_t n,
                          const float* scales, bool add, float* logits) noexcept {
  const IntegerVector* codes[kernel::max_queries] = {};
  for (std::size_t k = 0; k < n; ++k) codes[k] = &q[k]->sketch_code;
  kernel::dot_block(on, signs, planes, tile_bytes, 0, signs.dim, codes, n, scales, add, logits);
}

/// |x| * 2^unit, rounded to 11 bits.
inline fixed::Scale norm(std::span<const std::int32_t> x, int unit) noexcept {
  std::uint64_t n2 = 0;
  for (const std::int32_t v : x) n2 += static_cast<std::uint64_t>(std::int64_t{v} * v);
  return fixed::ratio(fixed::isqrt(n2 << 12), 1, unit - 6);
}

}  // namespace detail

/// score = |x| kappa <S q, sign(S x)>, unbiased over S (arXiv 2406.03482). rows / 8 + 2 bytes a vector.
template <class P>
class QJL {
  static_assert(Projection<P>, "tightkv: QJL<Projection>: the type does not model tightkv::Projection");

 public:
  /// `rows` of the sketch, at most 1024; 0 = dim.
  QJL(std::size_t dim, std::uint64_t seed, std::size_t rows = 0) : QJL(P(dim, rows ? rows : dim, seed)) {}
  explicit QJL(P projection)
      : projection_(std::move(projection)), signs_(kernel::sign_plan(layout::padded(projection_.rows()))) {}

  std::size_t dim() const noexcept { return projection_.dim(); }
  const P& projection() const noexcept { return projection_; }
  RecordShape shape() const noexcept {
    return {layout::padded(dim()), 0, layout::padded(projection_.rows()), 1, 0};
  }

  CodecFormat format() const noexcept {
    CodecFormat f;
    f.kind = CodecKind::qjl;
    f.bits = 1;
    f.projection = P::kind;
    if constexpr (requires { projection_.which(); }) f.projection = projection_.which();
    f.rows = static_cast<std::uint16_t>(projection_.rows());
    return f;
  }
  std::uint64_t hash() const noexcept { return projection_.hash(); }

  void encode(const VectorInput& in, Record& out) const noexcept {
    detail::write_signs(projection_, in.x, out);
    out.scales[0] = detail::norm(in.x, in.unit);
  }

  void prepare(std::span<const float> q, PreparedQuery& out) const {
    detail::prepare_sketch(projection_, q, out);
  }

  float score(const PreparedQuery& q, const RecordView& record, Arithmetic arithmetic) const noexcept {
    return record.scales[0] * kernel::dot_signs(record.signs, q.sketch_code, q.sketch, arithmetic);
  }

  /// See PolarQuant::score_block.
  void score_block(const kernel::Kernels& on, const PreparedQuery* const* q, std::size_t n,
                   const PackedKeys& block, float* logits) const noexcept {
    detail::sketch_scores(on, signs_, block.tiles, block.tile_bytes, q, n, block.scales.data(), false,
                          logits);
  }

  void levels(std::span<const std::uint8_t>, std::span<std::int8_t>) const noexcept {}

  /// The vector whose inner products the score is: |x| kappa S^T sign(S x). For study; far from x.
  void decode(const RecordView& record, std::span<float> out) const noexcept {
    float y[max_head_dim];
    const float scale = record.scales[0] * static_cast<float>(projection_.constant());
    for (std::size_t i = 0; i < projection_.rows(); ++i) y[i] = record.signs[i] ? scale : -scale;
    projection_.adjoint({y, projection_.rows()}, out);
  }

 private:
  P projection_;
  kernel::LevelPlan signs_;
};

}  // namespace tightkv::inline TIGHTKV_ABI
