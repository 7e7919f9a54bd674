// quantizer/group_quant.hpp: asymmetric min/max codes in groups of dims: the rival that engines know, and
// vLLM's values.
#pragma once

#include "../kernel/accumulate.hpp"
#include "../kernel/block.hpp"
#include "../kernel/score.hpp"

namespace tightkv::inline TIGHTKV_ABI {

/// x = minimum + step * code within a group of dims; no rotation. bits 2, 3, 4 or 8; bits * d + 32 bits a
/// group. Codes are chosen against minimum and step as they are stored, so a vector decodes within half a
/// step.
class GroupQuant {
 public:
  /// `group`: a multiple of 32 (32, 64, 128 are usual), 0 = the whole vector; the last group may be shorter.
  GroupQuant(std::size_t dim, unsigned bits, std::size_t group) noexcept
      : dim_(dim), group_(group == 0 || group > dim ? layout::padded(dim) : group), bits_(bits) {
    std::array<std::int8_t, 16> levels{};
    for (std::size_t i = 0; i < levels.size(); ++i) levels[i] = static_cast<std::int8_t>(i);
    const std::size_t count = bits < 4 ? std::size_t{1} << bits : 16;
    plan_ = kernel::LevelPlan(bits == 8 ? kernel::Decode::identity : kernel::Decode::table, bits,
                              layout::padded(dim), std::span<const std::int8_t>(levels).first(count),
                              bits == 8 ? 128 : 0);
  }

  std::size_t dim() const noexcept { return dim_; }
  std::size_t groups() const noexcept { return (dim_ + group_ - 1) / group_; }
  RecordShape shape() const noexcept { return {layout::padded(dim_), bits_, 0, 2 * groups(), 0}; }
  std::uint64_t hash() const noexcept { return 0; }

  CodecFormat format() const noexcept {
    CodecFormat f;
    f.kind = CodecKind::group_quant;
    f.bits = static_cast<std::uint8_t>(bits_);
    f.group = static_cast<std::uint16_t>(group_ >= dim_ ? 0 : group_);
    return f;
  }

  /// scales: step of group g at [2 g], minimum at [2 g + 1]; of 8 bits the value of code 128, so that levels
  /// fit int8.
  void encode(const VectorInput& in, Record& out) const noexcept {
    const int top = (1 << bits_) - 1, zero_code = bits_ == 8 ? 128 : 0;
    for (std::size_t g = 0; g < groups(); ++g) {
      const auto part = in.x.subspan(g * group_, (std::min)(group_, dim_ - g * group_));
      const auto [low, high] = std::minmax_element(part.begin(), part.end());
      const std::int64_t range = std::int64_t{*high} - *low;
      fixed::Scale step =
          range == 0 ? fixed::Scale{}
                     : fixed::ratio(static_cast<std::uint64_t>(range), static_cast<std::uint64_t>(top), 0);
      const fixed::Scale minimum = fixed::round_to_scale(*low + (range * zero_code + top / 2) / top, 0);
      const std::int64_t base = at_q8(minimum), step_q8 = at_q8(step);
      for (std::size_t i = 0; i < part.size(); ++i) {
        std::int64_t code = zero_code;
        if (step_q8 > 0) {
          const std::int64_t above = std::int64_t{part[i]} * 256 - base + step_q8 / 2;
          code += above >= 0 ? above / step_q8 : -((-above + step_q8 - 1) / step_q8);
        }
        out.codes[g * group_ + i] = static_cast<std::uint8_t>(std::clamp<std::int64_t>(code, 0, top));
      }
      step.exponent += in.unit;
      out.scales[2 * g] = step;
      out.scales[2 * g + 1] = {minimum.mantissa, minimum.exponent + in.unit};
    }
  }

  void prepare(std::span<const float> q, PreparedQuery& out) const {
    out.rotated.assign(layout::padded(dim_), 0.0f);
    std::copy(q.begin(), q.end(), out.rotated.begin());
    out.code.assign(out.rotated, bits_ >= 6);
    out.group_sum.assign(groups(), 0.0f);
    for (std::size_t i = 0; i < dim_; ++i) out.group_sum[i / group_] += q[i];
  }

  float score(const PreparedQuery& q, const RecordView& record, Arithmetic arithmetic) const noexcept {
    float sum = 0;
    for (std::size_t g = 0; g < groups(); ++g)
      sum += record.scales[2 * g] * group_dot(q, record.levels, g, arithmetic) +
             record.scales[2 * g + 1] * q.group_sum[g];
    return sum;
  }

  void accumulate(const BlockRows& rows, std::span<const float> weights, std::span<float> sum,
                  Arithmetic arithmetic) const noexcept {
    const std::size_t n = layout::padded(dim_), per_vector = 2 * groups();
    for (std::size_t g = 0; g < groups(); ++g) {
      const std::size_t begin = g * group_, width = (std::min)(group_, n - begin);
      float scaled[layout::block_tokens], minimum = 0;
      for (std::size_t t = 0; t < weights.size(); ++t) {
        scaled[t] = weights[t] * rows.scales[t * per_vector + 2 * g];
        minimum += weights[t] * rows.scales[t * per_vector + 2 * g + 1];
      }
      const auto part = sum.subspan(begin, width);
      kernel::accumulate(rows.levels.subspan(begin), n, {scaled, weights.size()}, part, arithmetic);
      for (float& v : part) v += minimum;
    }
  }

  /// See PolarQuant::score_block.
  void score_block(const kernel::Kernels& on, const PreparedQuery* const* q, std::size_t n,
                   const PackedKeys& block, float* logits) const noexcept {
    const IntegerVector* codes[kernel::max_queries] = {};
    for (std::size_t k = 0; k < n; ++k) codes[k] = &q[k]->code;
    for (std::size_t g = 0; g < groups(); ++g) {
      const kernel::ScaleColumn steps(block.scales, 2 * g, 2 * groups()),
          minima(block.scales, 2 * g + 1, 2 * groups());
      kernel::dot_block(on, plan_, block.tiles, block.tile_bytes, g * group_,
                        (std::min)((g + 1) * group_, plan_.dim), codes, n, steps.values, g != 0, logits);
      for (std::size_t k = 0; k < n; ++k)
        for (std::size_t t = 0; t < layout::block_tokens; ++t)
          logits[k * layout::block_tokens + t] += minima.values[t] * q[k]->group_sum[g];
    }
  }

  /// See PolarQuant::accumulate_block.
  void accumulate_block(const kernel::Kernels& on, const float* weights, std::size_t n,
                        const PackedValues& block, float* const* sums) const noexcept {
    for (std::size_t g = 0; g < groups(); ++g) {
      const std::size_t begin = g * group_, end = (std::min)(begin + group_, plan_.dim);
      const kernel::ScaleColumn scales(block.scales, 2 * g, 2 * groups());
      kernel::sum_block(on, plan_, block.words, begin, end, scales.values, weights, n, sums);
      for (std::size_t k = 0; k < n; ++k) {
        float minimum = 0;
        for (std::size_t t = 0; t < layout::block_tokens; ++t)
          minimum += weights[k * layout::block_tokens + t] * block.scales[(t * groups() + g) * 2 + 1];
        for (std::size_t i = begin; i < end; ++i) sums[k][i] += minimum;
      }
    }
  }

  void unrotate(std::span<float>) const noexcept {}
  void levels(std::span<const std::uint8_t> codes, std::span<std::int8_t> out) const noexcept {
    const int zero_code = bits_ == 8 ? 128 : 0;
    for (std::size_t i = 0; i < codes.size(); ++i)
      out[i] = static_cast<std::int8_t>(static_cast<int>(codes[i]) - zero_code);
  }
  void decode(const RecordView& record, std::span<float> out) const noexcept {
    for (std::size_t i = 0; i < out.size(); ++i) {
      const std::size_t g = i / group_;
      out[i] = record.scales[2 * g] * static_cast<float>(record.levels[i]) + record.scales[2 * g + 1];
    }
  }

 private:
  /// A scale in units of 2^-8 of those of the vector.
  static std::int64_t at_q8(fixed::Scale s) noexcept {
    const int shift = s.exponent + 8;
    return shift >= 0 ? std::int64_t{s.mantissa} * (std::int64_t{1} << shift)
                      : fixed::shift_round(s.mantissa, -shift);
  }

  float group_dot(const PreparedQuery& q, std::span<const std::int8_t> levels, std::size_t g,
                  Arithmetic arithmetic) const noexcept {
    const std::size_t begin = g * group_, width = (std::min)(group_, levels.size() - begin);
    return kernel::dot_range(levels.subspan(begin, width), begin, q.code, q.rotated, arithmetic);
  }

  std::size_t dim_, group_;
  unsigned bits_;
  kernel::LevelPlan plan_;
};

static_assert(KeyCodec<GroupQuant> && ValueCodec<GroupQuant>);

}  // namespace tightkv::inline TIGHTKV_ABI
