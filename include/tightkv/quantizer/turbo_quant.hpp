// quantizer/turbo_quant.hpp: PolarQuant at b - 1 bits and a QJL of what it left over: E[score] = <q, k>.
#pragma once

#include "polar_quant.hpp"
#include "qjl.hpp"

namespace tightkv::inline TIGHTKV_ABI {

/// TurboQuant_prod of arXiv 2504.19874 (Algorithm 2). The sketch works in the rotated frame with randomness
/// of its own, on the residual against the scale as stored, so its unbiasedness does not depend on the first
/// stage at all. b bits * d + 32 bits a vector, b - 1 = the codebook's bits. At equal bits the unbiased scale
/// of PolarQuant has 1.6 to 6 times less variance (docs/accuracy.md); this type is the reference.
template <class R, class C, class P, class S = scale::Unit>
class TurboQuant {
  static_assert(Projection<P>,
                "tightkv: TurboQuant<Rotation, Codebook, Projection>: the third type does not model "
                "tightkv::Projection");

 public:
  /// `rows` of the sketch, at most 1024; 0 = dim.
  TurboQuant(std::size_t dim, std::uint64_t seed, std::size_t rows = 0, unsigned search_points = 1)
      : polar_(dim, seed, search_points), projection_(dim, rows ? rows : dim, seed) {}
  TurboQuant(PolarQuant<R, C, S> polar, P projection)
      : polar_(std::move(polar)), projection_(std::move(projection)) {}

  std::size_t dim() const noexcept { return polar_.dim(); }
  const PolarQuant<R, C, S>& polar() const noexcept { return polar_; }
  const P& projection() const noexcept { return projection_; }

  RecordShape shape() const noexcept {
    RecordShape s = polar_.shape();
    s.sign_rows = layout::padded(projection_.rows());
    s.scales = 2;
    return s;
  }

  CodecFormat format() const noexcept {
    CodecFormat f = polar_.format();
    f.kind = CodecKind::turbo_quant;
    f.bits = static_cast<std::uint8_t>(f.bits + 1);
    f.projection = P::kind;
    if constexpr (requires { projection_.which(); }) f.projection = projection_.which();
    f.rows = static_cast<std::uint16_t>(projection_.rows());
    return f;
  }
  std::uint64_t hash() const noexcept {
    return bytes::Hash{}.add(polar_.hash()).add(projection_.hash()).value();
  }

  /// scales: [0] of the codes, [1] the norm of the residual.
  void encode(const VectorInput& in, Record& out) const noexcept {
    polar_.rotation().forward(in.x);
    polar_.encode_rotated(in.x, in.unit, out);
    std::int8_t levels[max_head_dim];
    polar_.codebook().decode(out.codes, {levels, out.codes.size()});
    const std::int64_t mantissa = out.scales[0].mantissa;
    const int shift = out.scales[0].exponent - in.unit;  // the scale in units of x
    for (std::size_t i = 0; i < in.x.size(); ++i) {
      const std::int64_t part = mantissa * levels[i];
      in.x[i] -= static_cast<std::int32_t>(shift >= 0 ? part * (std::int64_t{1} << shift)
                                                      : fixed::shift_round(part, -shift));
    }
    detail::write_signs(projection_, in.x, out);
    out.scales[1] = detail::norm(in.x, in.unit);
  }

  void prepare(std::span<const float> q, PreparedQuery& out) const {
    polar_.prepare(q, out);
    detail::prepare_sketch(projection_, std::span<const float>(out.rotated).first(dim()), out);
  }

  float score(const PreparedQuery& q, const RecordView& record, Arithmetic arithmetic) const noexcept {
    return polar_.score(q, record, arithmetic) +
           record.scales[1] * kernel::dot_signs(record.signs, q.sketch_code, q.sketch, arithmetic);
  }

  /// See PolarQuant::score_block.
  void score_block(const kernel::Kernels& on, const PreparedQuery* const* q, std::size_t n,
                   const PackedKeys& block, float* logits) const noexcept {
    polar_.score_block(on, q, n, block, logits);
    const std::byte* planes =
        block.tiles + layout::key_tile_bytes(layout::padded(dim()), polar_.codebook().bits());
    const kernel::ScaleColumn residuals(block.scales, 1, 2);
    detail::sketch_scores(on, signs_, planes, block.tile_bytes, q, n, residuals.values, true, logits);
  }

  void levels(std::span<const std::uint8_t> codes, std::span<std::int8_t> out) const noexcept {
    polar_.levels(codes, out);
  }

  /// The vector whose inner products the score is. For study.
  void decode(const RecordView& record, std::span<float> out) const noexcept {
    float y[max_head_dim];
    const float kappa = record.scales[1] * static_cast<float>(projection_.constant());
    for (std::size_t i = 0; i < projection_.rows(); ++i) y[i] = record.signs[i] ? kappa : -kappa;
    projection_.adjoint({y, projection_.rows()}, out);
    for (std::size_t i = 0; i < out.size(); ++i)
      out[i] += record.scales[0] * static_cast<float>(record.levels[i]);
    polar_.unrotate(out);
  }

 private:
  PolarQuant<R, C, S> polar_;
  P projection_;
  kernel::LevelPlan signs_ = kernel::sign_plan(layout::padded(projection_.rows()));
};

}  // namespace tightkv::inline TIGHTKV_ABI
