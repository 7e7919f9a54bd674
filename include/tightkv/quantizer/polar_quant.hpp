// quantizer/polar_quant.hpp: rotated codes and one scale. The codec for values, and the default for keys.
#pragma once

#include <array>

#include "../conditioner/condition.hpp"
#include "../kernel/accumulate.hpp"
#include "../kernel/block.hpp"
#include "../kernel/dispatch.hpp"
#include "../kernel/score.hpp"
#include "../rotation/hadamard.hpp"
#include "scale.hpp"

namespace tightkv::inline TIGHTKV_ABI {

namespace detail {

/// Factors tried on w before coding, in units of 2^-14, the neutral one first so that it wins ties. The best
/// codeword of a product codebook is nearest-level coding at some factor (algorithms 2.2); the factor itself
/// is not stored.
inline std::span<const std::uint32_t> search_factors(unsigned points) noexcept {
  static constexpr std::array<std::uint32_t, 9> nine = {16384, 15663, 17138, 14974, 17927,
                                                        14315, 18752, 13685, 19615};
  static constexpr std::array<std::uint32_t, 5> five = {16384, 15276, 17572, 14244, 18846};
  static constexpr std::array<std::uint32_t, 3> three = {16384, 14974, 17927};
  if (points >= 9) return nine;
  if (points >= 5) return five;
  if (points >= 3) return three;
  return std::span(nine).first(1);
}

}  // namespace detail

/// x -> Y = R x -> codes of Y sqrt(d) / |Y| -> scale s; decoded R^T (s c). bits * d + 16 bits a vector.
/// (arXiv 2502.02617 calls another method PolarQuant; this one is TurboQuant's first stage.)
///
/// Under Haar with scale::Unbiased: E[<q, x^>] = <q, x> for all q, x, and with unit vectors
/// Var = (1 - <q, x>^2) V / d with V = d / (d - 1) E[tan^2 angle(Y, c)] (algorithms 2.1).
template <class R, class C, class S = scale::Unbiased>
class PolarQuant {
  static_assert(
      Rotation<R>,
      "tightkv: PolarQuant<Rotation, Codebook, Scale>: the first type does not model tightkv::Rotation");
  static_assert(
      Codebook<C>,
      "tightkv: PolarQuant<Rotation, Codebook, Scale>: the second type does not model tightkv::Codebook");
  static_assert(
      ScalePolicy<S>,
      "tightkv: PolarQuant<Rotation, Codebook, Scale>: the third type does not model tightkv::ScalePolicy");

 public:
  /// `dim` even, 2 to 1024. `search_points`: 1, 3, 5 or 9 encodings tried a vector.
  PolarQuant(std::size_t dim, std::uint64_t seed, unsigned search_points = 1)
      : PolarQuant(R(dim, seed), C(dim), S{}, search_points) {}

  PolarQuant(R rotation, C codebook, S scale_policy, unsigned search_points)
      : rotation_(std::move(rotation)),
        codebook_(std::move(codebook)),
        scale_(scale_policy),
        search_points_(search_points),
        unit_q32_(fixed::isqrt(std::uint64_t{rotation_.dim()} << 32) * codebook_.gain_q16()),
        plan_(kernel::plan_of(codebook_, layout::padded(rotation_.dim()))) {}

  std::size_t dim() const noexcept { return rotation_.dim(); }
  const R& rotation() const noexcept { return rotation_; }
  const C& codebook() const noexcept { return codebook_; }

  RecordShape shape() const noexcept { return {layout::padded(dim()), codebook_.bits(), 0, 1}; }

  CodecFormat format() const noexcept {
    CodecFormat f;
    f.kind = CodecKind::polar_quant;
    f.bits = static_cast<std::uint8_t>(codebook_.bits());
    f.rotation = R::kind, f.codebook = C::kind, f.scale = scale_.kind();
    if constexpr (requires { rotation_.which(); }) f.rotation = rotation_.which();
    if constexpr (requires { codebook_.which(); }) f.codebook = codebook_.which();
    f.search_points = static_cast<std::uint8_t>(search_points_);
    return f;
  }

  std::uint64_t hash() const noexcept {
    return bytes::Hash{}.add(rotation_.hash()).add(codebook_.hash()).value();
  }

  /// A zero vector gets scale 0, so it decodes to zeros and scores exactly 0.
  void encode(const VectorInput& in, Record& out) const noexcept {
    rotation_.forward(in.x);
    encode_rotated(in.x, in.unit, out);
  }

  /// The same for a vector that is rotated already (TurboQuant needs R x for its residual).
  void encode_rotated(std::span<const std::int32_t> y, int unit, Record& out) const noexcept {
    const std::size_t padded = layout::padded(dim());
    ScaleSums sums;
    for (const std::int32_t v : y) sums.n2 += static_cast<std::uint64_t>(std::int64_t{v} * v);
    sums.norm_q6 = fixed::isqrt(sums.n2 << 12);
    sums.unit_q22 = unit_q32_ >> 10;
    std::int32_t w[max_head_dim] = {};
    if (sums.n2 == 0) {
      codebook_.encode({w, padded}, out.codes);
      out.scales[0] = {};
      return;
    }
    const std::uint64_t gain_q26 = (unit_q32_ << 8) / sums.norm_q6;  // w = 256 gain sqrt(d) y / |y|
    std::uint8_t candidate[max_head_dim];
    std::int8_t levels[max_head_dim];
    std::uint64_t best = 0;
    const auto factors = detail::search_factors(search_points_);
    for (const std::uint32_t factor : factors) {
      const auto gain = static_cast<std::int64_t>((gain_q26 * factor) >> 14);
      for (std::size_t i = 0; i < y.size(); ++i)
        w[i] = static_cast<std::int32_t>(fixed::shift_round(y[i] * gain, 26));
      codebook_.encode({w, padded}, {candidate, padded});
      codebook_.decode({candidate, padded}, {levels, padded});
      std::int64_t ip = 0, cc = 0;
      for (std::size_t i = 0; i < y.size(); ++i) {
        ip += std::int64_t{y[i]} * levels[i];
        cc += std::int64_t{levels[i]} * levels[i];
      }
      // cos^2 = ip^2 / (n2 cc); ip is below 2^37, so its top 32 bits squared fit.
      const std::uint64_t top = ip <= 0 ? 0 : static_cast<std::uint64_t>(ip) >> 5;
      const std::uint64_t fit = cc == 0 ? 0 : top * top / static_cast<std::uint64_t>(cc);
      if (&factor != factors.data() && fit <= best) continue;
      best = fit;
      sums.ip = ip, sums.cc = static_cast<std::uint64_t>(cc);
      std::copy_n(candidate, padded, out.codes.begin());
    }
    out.scales[0] = scale_.choose(sums);
    out.scales[0].exponent += unit;
  }

  /// Encodes 16 rows at once where `on` has a kernel for this codec: codes (padded dim, 16), 16 scales.
  /// False: nothing was done, encode() row by row. The bytes are the same. `scratch`:
  /// kernel::EncodeTile::scratch_bytes, 64-byte aligned.
  bool encode_tile(const kernel::Kernels& on, const RowsView& rows, const Condition& condition,
                   std::byte* scratch, std::uint8_t* codes, fixed::Scale* scales) const noexcept {
    if (!on.encode || !condition.channel_scale.empty()) return false;
    kernel::EncodeTile tile;
    if (!view_rotation(tile.rotation)) return false;
    tile.rows = rows.data, tile.stride = rows.stride, tile.type = rows.type, tile.dim = dim();
    tile.mean = condition.mean.values.data(),
    tile.mean_dims = (std::min)(condition.mean.values.size(), dim());
    tile.mean_exponent = condition.mean.exponent;
    tile.plan = &plan_;
    tile.stretch = format().codebook == CodebookKind::grid;
    tile.unit_q32 = unit_q32_;
    tile.factors = detail::search_factors(search_points_);
    tile.codes = codes, tile.scratch = scratch;
    if (!on.encode(tile)) return false;
    for (std::size_t t = 0; t < layout::tile_tokens; ++t) {
      const ScaleSums sums{tile.n2[t], tile.ip[t], tile.cc[t], tile.norm_q6[t], unit_q32_ >> 10};
      scales[t] = sums.n2 == 0 ? fixed::Scale{} : scale_.choose(sums);
      scales[t].exponent += sums.n2 == 0 ? 0 : tile.unit[t];
    }
    return true;
  }

  /// Rotates q (dim floats, conditioned) and rounds it: 8 bits for codes below 6 bits, else 16.
  void prepare(std::span<const float> q, PreparedQuery& out) const {
    out.rotated.assign(layout::padded(dim()), 0.0f);
    std::copy(q.begin(), q.end(), out.rotated.begin());
    rotate_floats(std::span(out.rotated).first(dim()), false);
    out.code.assign(out.rotated, codebook_.bits() >= 6);
  }

  /// The logit <q, x^> of one record.
  float score(const PreparedQuery& q, const RecordView& record, Arithmetic arithmetic) const noexcept {
    return record.scales[0] * kernel::dot(record.levels, q.code, q.rotated, arithmetic);
  }

  /// sum_t weights[t] x^_t in the rotated domain, added to sum (dim padded); unrotate() at the end of all
  /// blocks.
  void accumulate(const BlockRows& rows, std::span<const float> weights, std::span<float> sum,
                  Arithmetic arithmetic) const noexcept {
    float scaled[layout::block_tokens];
    for (std::size_t t = 0; t < weights.size(); ++t) scaled[t] = weights[t] * rows.scales[t];
    kernel::accumulate(rows.levels, sum.size(), {scaled, weights.size()}, sum, arithmetic);
  }

  /// logits[k * 64 + t] = <q_k, x^_t> for the 64 tokens of a block, integer arithmetic; n <= max_queries.
  void score_block(const kernel::Kernels& on, const PreparedQuery* const* q, std::size_t n,
                   const PackedKeys& block, float* logits) const noexcept {
    const IntegerVector* codes[kernel::max_queries] = {};
    for (std::size_t k = 0; k < n; ++k) codes[k] = &q[k]->code;
    const std::size_t per_vector = block.scales.size() / layout::block_tokens;
    if (per_vector == 1)
      return kernel::dot_block(on, plan_, block.tiles, block.tile_bytes, 0, plan_.dim, codes, n,
                               block.scales.data(), false, logits);
    const kernel::ScaleColumn scales(block.scales, 0, per_vector);
    kernel::dot_block(on, plan_, block.tiles, block.tile_bytes, 0, plan_.dim, codes, n, scales.values, false,
                      logits);
  }

  /// sums[k] += sum_t weights[k * 64 + t] x^_t in the rotated domain; n <= max_queries.
  void accumulate_block(const kernel::Kernels& on, const float* weights, std::size_t n,
                        const PackedValues& block, float* const* sums) const noexcept {
    kernel::sum_block(on, plan_, block.words, 0, plan_.dim, block.scales.data(), weights, n, sums);
  }

  /// The int8 levels of codes; sizes equal, the padded dim.
  void levels(std::span<const std::uint8_t> codes, std::span<std::int8_t> out) const noexcept {
    codebook_.decode(codes, out);
  }

  /// x^, out.size() == dim().
  void decode(const RecordView& record, std::span<float> out) const noexcept {
    for (std::size_t i = 0; i < out.size(); ++i)
      out[i] = record.scales[0] * static_cast<float>(record.levels[i]);
    rotation_.inverse(out);
  }

  /// Back from the rotated domain, in place.
  void unrotate(std::span<float> y) const noexcept { rotate_floats(y, true); }

 private:
  /// The rotation of a query or an output, by a kernel where there is one.
  void rotate_floats(std::span<float> x, bool inverse) const noexcept {
    const kernel::Kernels& on = kernel::kernels_or_scalar();
    kernel::HadamardView view;
    if (on.rotate && view_rotation(view) && view.width >= 16)
      return on.rotate(view, x.data(), 1, x.size(), inverse);
    inverse ? rotation_.inverse(x) : rotation_.forward(x);
  }

  /// The rotation's tables for a kernel; false if kernels do not know it.
  bool view_rotation(kernel::HadamardView& view) const noexcept {
    const auto from = [&](const Hadamard& h) {
      view = {h.width(), h.log2_width(), h.negative(), h.dct(), h.signs(), h.dct_floats()};
    };
    if constexpr (std::same_as<R, Hadamard>) {
      from(rotation_);
      return true;
    } else if constexpr (requires { rotation_.hadamard(); }) {
      if (const Hadamard* h = rotation_.hadamard()) from(*h);
      return rotation_.hadamard() || rotation_.which() == RotationKind::identity;
    } else {
      return R::kind == RotationKind::identity;
    }
  }

  R rotation_;
  C codebook_;
  [[no_unique_address]] S scale_;
  unsigned search_points_;
  std::uint64_t unit_q32_;  // sqrt(d) gain
  kernel::LevelPlan plan_;
};

}  // namespace tightkv::inline TIGHTKV_ABI
