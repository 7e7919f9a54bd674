// quantizer/q8.hpp: 8-bit codes with one scale per 32 dims, as ggml's q8_0: 34 bytes per 32 values.
#pragma once

#include "../kernel/accumulate.hpp"
#include "../kernel/block.hpp"
#include "../kernel/score.hpp"

namespace tightkv::inline TIGHTKV_ABI {

/// x = scale * code, |code| <= 127, scale = largest / 127 of its 32 dims. No rotation. Stored as code + 128.
class Q8 {
 public:
  static constexpr std::size_t group = 32;

  explicit Q8(std::size_t dim) noexcept
      : dim_(dim), plan_(kernel::Decode::identity, 8, layout::padded(dim), {}, 128) {}

  std::size_t dim() const noexcept { return dim_; }
  std::size_t groups() const noexcept { return (dim_ + group - 1) / group; }
  RecordShape shape() const noexcept { return {layout::padded(dim_), 8, 0, groups(), 0}; }
  std::uint64_t hash() const noexcept { return 0; }
  CodecFormat format() const noexcept {
    CodecFormat f;
    f.kind = CodecKind::q8;
    f.bits = 8;
    f.group = group;
    return f;
  }

  void encode(const VectorInput& in, Record& out) const noexcept {
    std::fill(out.codes.begin(), out.codes.end(), std::uint8_t{128});
    for (std::size_t g = 0; g < groups(); ++g) {
      const auto part = in.x.subspan(g * group, (std::min)(group, dim_ - g * group));
      std::int64_t largest = 0;
      for (const std::int32_t v : part)
        largest = (std::max<std::int64_t>)(largest, v < 0 ? -std::int64_t{v} : v);
      if (largest == 0) continue;
      fixed::Scale scale = fixed::ratio(static_cast<std::uint64_t>(largest), 127, 0);
      // code = x / scale with the scale as stored: 2^32 / scale in integers, rounded once.
      const int shift = 32 - scale.exponent;
      const std::int64_t inverse = (std::int64_t{1} << shift) / scale.mantissa;
      for (std::size_t i = 0; i < part.size(); ++i) {
        const std::int64_t code = fixed::shift_round(part[i] * inverse, 32);
        out.codes[g * group + i] = static_cast<std::uint8_t>(std::clamp<std::int64_t>(code, -127, 127) + 128);
      }
      scale.exponent += in.unit;
      out.scales[g] = scale;
    }
  }

  void prepare(std::span<const float> q, PreparedQuery& out) const {
    out.rotated.assign(layout::padded(dim_), 0.0f);
    std::copy(q.begin(), q.end(), out.rotated.begin());
    out.code.assign(out.rotated, true);
  }

  float score(const PreparedQuery& q, const RecordView& record, Arithmetic arithmetic) const noexcept {
    float sum = 0;
    for (std::size_t g = 0; g < groups(); ++g) {
      const std::size_t begin = g * group, width = (std::min)(group, record.levels.size() - begin);
      sum += record.scales[g] *
             kernel::dot_range(record.levels.subspan(begin, width), begin, q.code, q.rotated, arithmetic);
    }
    return sum;
  }

  void accumulate(const BlockRows& rows, std::span<const float> weights, std::span<float> sum,
                  Arithmetic arithmetic) const noexcept {
    const std::size_t n = layout::padded(dim_);
    for (std::size_t g = 0; g < groups(); ++g) {
      float scaled[layout::block_tokens];
      for (std::size_t t = 0; t < weights.size(); ++t) scaled[t] = weights[t] * rows.scales[t * groups() + g];
      kernel::accumulate(rows.levels.subspan(g * group), n, {scaled, weights.size()},
                         sum.subspan(g * group, (std::min)(group, n - g * group)), arithmetic);
    }
  }

  /// See PolarQuant::score_block.
  void score_block(const kernel::Kernels& on, const PreparedQuery* const* q, std::size_t n,
                   const PackedKeys& block, float* logits) const noexcept {
    const IntegerVector* codes[kernel::max_queries] = {};
    for (std::size_t k = 0; k < n; ++k) codes[k] = &q[k]->code;
    for (std::size_t g = 0; g < groups(); ++g) {
      const kernel::ScaleColumn scales(block.scales, g, groups());
      kernel::dot_block(on, plan_, block.tiles, block.tile_bytes, g * group,
                        (std::min)((g + 1) * group, plan_.dim), codes, n, scales.values, g != 0, logits);
    }
  }

  /// See PolarQuant::accumulate_block.
  void accumulate_block(const kernel::Kernels& on, const float* weights, std::size_t n,
                        const PackedValues& block, float* const* sums) const noexcept {
    for (std::size_t g = 0; g < groups(); ++g) {
      const std::size_t begin = g * group, end = (std::min)(begin + group, plan_.dim);
      const kernel::ScaleColumn scales(block.scales, g, groups());
      kernel::sum_block(on, plan_, block.words, begin, end, scales.values, weights, n, sums);
    }
  }

  void unrotate(std::span<float>) const noexcept {}
  void levels(std::span<const std::uint8_t> codes, std::span<std::int8_t> out) const noexcept {
    for (std::size_t i = 0; i < codes.size(); ++i)
      out[i] = static_cast<std::int8_t>(static_cast<int>(codes[i]) - 128);
  }
  void decode(const RecordView& record, std::span<float> out) const noexcept {
    for (std::size_t i = 0; i < out.size(); ++i)
      out[i] = record.scales[i / group] * static_cast<float>(record.levels[i]);
  }

 private:
  std::size_t dim_;
  kernel::LevelPlan plan_;
};

static_assert(KeyCodec<Q8> && ValueCodec<Q8>);

}  // namespace tightkv::inline TIGHTKV_ABI
