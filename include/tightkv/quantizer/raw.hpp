// quantizer/raw.hpp: values kept as fp16, bf16 or fp32: the honest rival, and one side of an asymmetric pair.
#pragma once

#include "../kernel/block.hpp"
#include "../kernel/dispatch.hpp"

namespace tightkv::inline TIGHTKV_ABI {

namespace detail {

/// <q, row>, the row in any element type.
inline float dot_raw(std::span<const float> q, const std::byte* row, ElementType type) noexcept {
  float sum = 0;
  for (std::size_t i = 0; i < q.size(); ++i) sum += q[i] * load_element(row, type, i);
  return sum;
}

/// sum += weight * row.
inline void add_raw(float weight, const std::byte* row, ElementType type, std::span<float> sum) noexcept {
  for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += weight * load_element(row, type, i);
}

}  // namespace detail

/// The vector as it came, in the element type given. Conditioning and Arithmetic do not touch it.
class Raw {
 public:
  explicit Raw(std::size_t dim, ElementType element = ElementType::f16) noexcept
      : dim_(dim), element_(element) {}

  std::size_t dim() const noexcept { return dim_; }
  ElementType element() const noexcept { return element_; }
  RecordShape shape() const noexcept {
    return {layout::padded(dim_), 0, 0, 0, dim_ * element_size(element_)};
  }
  std::uint64_t hash() const noexcept { return 0; }
  CodecFormat format() const noexcept {
    CodecFormat f;
    f.kind = CodecKind::raw;
    f.bits = static_cast<std::uint8_t>(8 * element_size(element_));
    f.element = element_;
    return f;
  }

  void encode(const VectorInput& in, Record& out) const noexcept {
    kernel::kernels_or_scalar().convert(in.row, in.type, dim_, out.raw.data(), element_);
  }
  void prepare(std::span<const float> q, PreparedQuery& out) const { out.rotated.assign(q.begin(), q.end()); }
  float score(const PreparedQuery& q, const RecordView& record, Arithmetic) const noexcept {
    return detail::dot_raw(q.rotated, record.raw, element_);
  }
  void accumulate(const BlockRows& rows, std::span<const float> weights, std::span<float> sum,
                  Arithmetic) const noexcept {
    for (std::size_t t = 0; t < weights.size(); ++t)
      if (weights[t] != 0)
        detail::add_raw(weights[t], rows.raw + t * dim_ * element_size(element_), element_, sum.first(dim_));
  }
  /// See PolarQuant::score_block.
  void score_block(const kernel::Kernels& on, const PreparedQuery* const* q, std::size_t n,
                   const PackedKeys& block, float* logits) const noexcept {
    const float* rows[kernel::max_queries];
    for (std::size_t k = 0; k < n; ++k) rows[k] = q[k]->rotated.data();
    on.dot_rows(block.raw, dim_ * element_size(element_), element_, layout::block_tokens, dim_, rows, n,
                logits);
  }
  void accumulate_block(const kernel::Kernels& on, const float* weights, std::size_t n,
                        const PackedValues& block, float* const* sums) const noexcept {
    on.add_rows(block.raw, dim_ * element_size(element_), element_, layout::block_tokens, dim_, weights, n,
                sums);
  }
  void unrotate(std::span<float>) const noexcept {}
  void levels(std::span<const std::uint8_t>, std::span<std::int8_t>) const noexcept {}
  void decode(const RecordView& record, std::span<float> out) const noexcept {
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = detail::load_element(record.raw, element_, i);
  }

 private:
  std::size_t dim_;
  ElementType element_;
};

static_assert(KeyCodec<Raw> && ValueCodec<Raw>);

}  // namespace tightkv::inline TIGHTKV_ABI
