// core/concepts.hpp: every customisation point of the library, on one page.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>

#include "record.hpp"

namespace tightkv::inline TIGHTKV_ABI {

/// A fixed orthogonal map of R^dim, made from (dim, seed). Const and noexcept: one object serves all heads
/// and threads.
///
/// forward(integers) decides stored bytes: integer arithmetic only, |x|_2 <= 2^25, result rounded to
/// integers. forward(floats) is the same map on a query, inverse(floats) its transpose on an output; both up
/// to float rounding.
template <class R>
concept Rotation = std::copyable<R> &&
    requires(const R r, std::span<std::int32_t> integers, std::span<float> floats) {
  { R::kind } -> std::convertible_to<RotationKind>;
  { r.dim() }
  noexcept->std::same_as<std::size_t>;
  { r.forward(integers) }
  noexcept;  // in place; size() == dim()
  { r.forward(floats) }
  noexcept;
  { r.inverse(floats) }
  noexcept;
  { r.hash() }
  noexcept->std::same_as<std::uint64_t>;  // part of the written format
};

/// A map from a rotated vector to codes and back to int8 levels; level bits may exceed code bits (trellis).
///
/// w is the vector in units of 1/256 of a level unit: w = 256 gain z, z the coordinate with variance 1.
/// levels() has 2^level_bits ascending values with |level| <= 127. encode and decode work on whole vectors,
/// so a codebook may give its codes memory (trellis) or choose its own range (grid). Any deterministic map
/// keeps the unbiased scale unbiased.
template <class C>
concept Codebook = std::copyable<C> &&
    requires(const C c, std::span<const std::int32_t> w, std::span<std::uint8_t> codes,
             std::span<const std::uint8_t> read, std::span<std::int8_t> out) {
  { C::kind } -> std::convertible_to<CodebookKind>;
  { c.bits() }
  noexcept->std::same_as<unsigned>;  // of a stored code, 1..8
  { c.levels() }
  noexcept->std::same_as<std::span<const std::int8_t>>;
  { c.gain_q16() }
  noexcept->std::same_as<std::uint32_t>;  // level units in one z unit, times 2^16
  { c.encode(w, codes) }
  noexcept;  // sizes equal, a multiple of 16
  { c.decode(read, out) }
  noexcept;
  { c.hash() }
  noexcept->std::same_as<std::uint64_t>;
};

/// The matrix S of a sign sketch, rows x dim, made from (dim, rows, seed). constant() is the exact kappa with
/// E[kappa |r| <Sq, sign(Sr)>] = <q, r> for this kind of matrix.
template <class P>
concept Projection = std::copyable<P> &&
    requires(const P p, std::span<const std::int32_t> x, std::span<std::int64_t> sketch,
             std::span<const float> y, std::span<float> out) {
  { P::kind } -> std::convertible_to<ProjectionKind>;
  { p.dim() }
  noexcept->std::same_as<std::size_t>;
  { p.rows() }
  noexcept->std::same_as<std::size_t>;
  { p.sketch(x, sketch) }
  noexcept;  // integers: the signs are stored
  { p.sketch(y, out) }
  noexcept;  // S y of a query; out.size() == rows()
  { p.adjoint(y, out) }
  noexcept;  // S^T y; y.size() == rows(), out.size() == dim()
  { p.constant() }
  noexcept->std::same_as<double>;
  { p.hash() }
  noexcept->std::same_as<std::uint64_t>;
};

/// The integer sums of a rotated vector Y and its levels c that decide a scale.
struct ScaleSums {
  std::uint64_t n2 = 0;        ///< <Y, Y>, above 0
  std::int64_t ip = 0;         ///< <Y, c>
  std::uint64_t cc = 0;        ///< <c, c>
  std::uint64_t norm_q6 = 0;   ///< |Y| in units of 2^-6
  std::uint64_t unit_q22 = 0;  ///< sqrt(d) gain in units of 2^-22: the length of a unit vector in level units
};

/// How PolarQuant chooses its one scale s: the decoded vector is s * c, in the units of Y.
template <class S>
concept ScalePolicy = std::copyable<S> && requires(const S s, const ScaleSums& sums) {
  { s.kind() }
  noexcept->std::same_as<ScaleKind>;
  { s.choose(sums) }
  noexcept->std::same_as<fixed::Scale>;
};

struct PreparedQuery;  // kernel/query.hpp

/// What both sides of a cache do: encode vectors into records, and read records back.
template <class C>
concept Codec = std::copyable<C> &&
    requires(const C c, const VectorInput& in, Record& record, const RecordView& view,
             std::span<const std::uint8_t> codes, std::span<std::int8_t> levels, std::span<float> out) {
  { c.dim() }
  noexcept->std::same_as<std::size_t>;
  { c.shape() }
  noexcept->std::same_as<RecordShape>;
  { c.format() }
  noexcept->std::same_as<CodecFormat>;
  { c.hash() }
  noexcept->std::same_as<std::uint64_t>;  // of every table that decides a byte
  { c.encode(in, record) }
  noexcept;  // record is sized by shape()
  { c.levels(codes, levels) }
  noexcept;  // codes of one vector, padded, to int8 levels
  { c.decode(view, out) }
  noexcept;  // x^; out.size() == dim()
};

/// A side that answers inner products: score(q, record) estimates <q, x>.
template <class K>
concept KeyCodec = Codec<K> &&
    requires(const K k, std::span<const float> q, PreparedQuery& prepared, const PreparedQuery& ready,
             const RecordView& view, Arithmetic arithmetic) {
  {k.prepare(q, prepared)};  // once per query; may grow buffers
  { k.score(ready, view, arithmetic) }
  noexcept->std::same_as<float>;
};

/// A side that answers weighted sums: sum += sum_t weights[t] x^_t in the codec's own domain, unrotate() once
/// at the end.
template <class V>
concept ValueCodec = Codec<V> && requires(const V v, const BlockRows& rows, std::span<const float> weights,
                                          std::span<float> sum, Arithmetic arithmetic) {
  { v.accumulate(rows, weights, sum, arithmetic) }
  noexcept;  // sum.size() == shape().dim
  { v.unrotate(sum) }
  noexcept;  // the first dim() values, in place
};

namespace detail {

/// Calls f with the codec itself, or with the one that a run-time codec holds: one dispatch a block, none a
/// token.
template <class C, class F>
decltype(auto) with_concrete(const C& codec, F&& f) {
  if constexpr (requires { codec.visit(f); })
    return codec.visit(f);
  else
    return f(codec);
}

}  // namespace detail

/// Where blocks live. allocate returns 64-byte aligned storage or nullptr when the source is exhausted.
template <class P>
concept PageSource = requires(P p, std::byte* page, std::size_t bytes) {
  { p.allocate(bytes) }
  noexcept->std::same_as<std::byte*>;
  { p.release(page, bytes) }
  noexcept;
};

}  // namespace tightkv::inline TIGHTKV_ABI
