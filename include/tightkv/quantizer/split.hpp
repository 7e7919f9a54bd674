// quantizer/split.hpp: the first dims coded, the last ones raw: MLA's latent with its RoPE part, outlier
// channels.
#pragma once

#include "raw.hpp"

namespace tightkv::inline TIGHTKV_ABI {

/// Codes dims [0, coded.dim()) with C and keeps the following raw.dim() dims as they came.
template <class C>
class Split {
 public:
  Split(C coded, Raw raw) : coded_(std::move(coded)), raw_(std::move(raw)) {}

  std::size_t dim() const noexcept { return coded_.dim() + raw_.dim(); }
  /// Dims that a shared value reads, and that a conditioner may touch.
  std::size_t coded_dim() const noexcept { return coded_.dim(); }
  RecordShape shape() const noexcept {
    RecordShape s = coded_.shape();
    s.raw_bytes = raw_.shape().raw_bytes;
    return s;
  }
  std::uint64_t hash() const noexcept { return coded_.hash(); }
  CodecFormat format() const noexcept {
    CodecFormat f = coded_.format();
    f.raw_dims = static_cast<std::uint16_t>(raw_.dim());
    f.element = raw_.element();
    return f;
  }

  void encode(const VectorInput& in, Record& out) const noexcept {
    raw_.encode({{}, 0, in.row + coded_dim() * element_size(in.type), in.type}, out);
    coded_.encode({in.x.first(coded_dim()), in.unit, in.row, in.type}, out);
  }
  void prepare(std::span<const float> q, PreparedQuery& out) const {
    coded_.prepare(q.first(coded_dim()), out);
    out.raw.assign(q.begin() + static_cast<std::ptrdiff_t>(coded_dim()), q.end());
  }
  float score(const PreparedQuery& q, const RecordView& record, Arithmetic arithmetic) const noexcept {
    return coded_.score(q, record, arithmetic) + detail::dot_raw(q.raw, record.raw, raw_.element());
  }
  /// See PolarQuant::score_block.
  void score_block(const kernel::Kernels& on, const PreparedQuery* const* q, std::size_t n,
                   const PackedKeys& block, float* logits) const noexcept {
    coded_.score_block(on, q, n, block, logits);
    const float* rows[kernel::max_queries];
    float dots[kernel::max_queries * layout::block_tokens];
    for (std::size_t k = 0; k < n; ++k) rows[k] = q[k]->raw.data();
    on.dot_rows(block.raw, raw_.shape().raw_bytes, raw_.element(), layout::block_tokens, raw_.dim(), rows, n,
                dots);
    for (std::size_t i = 0; i < n * layout::block_tokens; ++i) logits[i] += dots[i];
  }
  void levels(std::span<const std::uint8_t> codes, std::span<std::int8_t> out) const noexcept {
    coded_.levels(codes, out);
  }
  void decode(const RecordView& record, std::span<float> out) const noexcept {
    coded_.decode(record, out.first(coded_dim()));
    if (out.size() > coded_dim()) raw_.decode(record, out.subspan(coded_dim()));
  }
  void accumulate(const BlockRows& rows, std::span<const float> weights, std::span<float> sum,
                  Arithmetic arithmetic) const noexcept {
    coded_.accumulate(rows, weights, sum, arithmetic);
  }
  void unrotate(std::span<float> y) const noexcept { coded_.unrotate(y); }

 private:
  C coded_;
  Raw raw_;
};

}  // namespace tightkv::inline TIGHTKV_ABI
