// compressor/any_codec.hpp: the codec that a CodecFormat names, made at run time.
#pragma once

#include <optional>
#include <variant>

#include "../codebook/any.hpp"
#include "../projection/any.hpp"
#include "../quantizer/group_quant.hpp"
#include "../quantizer/q8.hpp"
#include "../quantizer/split.hpp"
#include "../quantizer/turbo_quant.hpp"
#include "../rotation/any.hpp"
#include "options.hpp"

namespace tightkv::inline TIGHTKV_ABI {

using AnyPolarQuant = PolarQuant<AnyRotation, AnyCodebook, scale::Any>;
using AnyTurboQuant = TurboQuant<AnyRotation, AnyCodebook, AnyProjection, scale::Any>;

namespace detail {

/// One codec out of Codecs..., behind the Codec concept. visit() reaches the concrete one, once a block.
template <class... Codecs>
class CodecVariant {
 public:
  template <class C>
  requires(std::same_as<C, Codecs> || ...) explicit(false) CodecVariant(C codec) : held_(std::move(codec)) {}

  template <class F>
  decltype(auto) visit(F&& f) const {
    return std::visit(std::forward<F>(f), held_);
  }

  std::size_t dim() const noexcept {
    return visit([](const auto& c) { return c.dim(); });
  }
  std::size_t coded_dim() const noexcept {
    return visit([](const auto& c) {
      if constexpr (requires { c.coded_dim(); })
        return c.coded_dim();
      else
        return c.dim();
    });
  }
  RecordShape shape() const noexcept {
    return visit([](const auto& c) { return c.shape(); });
  }
  CodecFormat format() const noexcept {
    return visit([](const auto& c) { return c.format(); });
  }
  std::uint64_t hash() const noexcept {
    return visit([](const auto& c) { return c.hash(); });
  }
  void encode(const VectorInput& in, Record& out) const noexcept {
    visit([&](const auto& c) { c.encode(in, out); });
  }
  void levels(std::span<const std::uint8_t> codes, std::span<std::int8_t> out) const noexcept {
    visit([&](const auto& c) { c.levels(codes, out); });
  }
  void decode(const RecordView& record, std::span<float> out) const noexcept {
    visit([&](const auto& c) { c.decode(record, out); });
  }

 private:
  std::variant<Codecs...> held_;
};

}  // namespace detail

/// Any value codec, or SharedValue.
class AnyValueCodec : public detail::CodecVariant<AnyPolarQuant, GroupQuant, Q8, Raw> {
 public:
  using CodecVariant::CodecVariant;
  explicit(false) AnyValueCodec(SharedValue) : CodecVariant(Raw(2)), shared_(true) {}

  bool shared() const noexcept { return shared_; }
  void accumulate(const BlockRows& rows, std::span<const float> weights, std::span<float> sum,
                  Arithmetic arithmetic) const noexcept {
    visit([&](const auto& c) { c.accumulate(rows, weights, sum, arithmetic); });
  }
  void unrotate(std::span<float> y) const noexcept {
    visit([&](const auto& c) { c.unrotate(y); });
  }

 private:
  bool shared_ = false;
};

/// Any key codec. The ones that are value codecs too can hold a shared latent.
class AnyKeyCodec : public detail::CodecVariant<AnyPolarQuant, Split<AnyPolarQuant>, AnyTurboQuant,
                                                QJL<AnyProjection>, GroupQuant, Q8, Raw> {
 public:
  using CodecVariant::CodecVariant;

  bool can_be_shared() const noexcept {
    return visit([](const auto& c) { return ValueCodec<std::remove_cvref_t<decltype(c)>>; });
  }
  void prepare(std::span<const float> q, PreparedQuery& out) const {
    visit([&](const auto& c) { c.prepare(q, out); });
  }
  float score(const PreparedQuery& q, const RecordView& record, Arithmetic arithmetic) const noexcept {
    return visit([&](const auto& c) { return c.score(q, record, arithmetic); });
  }
  void accumulate(const BlockRows& rows, std::span<const float> weights, std::span<float> sum,
                  Arithmetic arithmetic) const noexcept {
    visit([&](const auto& c) {
      if constexpr (ValueCodec<std::remove_cvref_t<decltype(c)>>)
        c.accumulate(rows, weights, sum, arithmetic);
    });
  }
  void unrotate(std::span<float> y) const noexcept {
    visit([&](const auto& c) {
      if constexpr (ValueCodec<std::remove_cvref_t<decltype(c)>>) c.unrotate(y);
    });
  }
};

static_assert(KeyCodec<AnyKeyCodec> && ValueCodec<AnyKeyCodec> && ValueCodec<AnyValueCodec>);

namespace detail {

inline Status make_polar(const CodecFormat& f, unsigned code_bits, std::size_t dim, std::uint64_t seed,
                         std::optional<AnyPolarQuant>& out) {
  AnyRotation rotation = Identity(dim);
  AnyCodebook codebook = LloydMax<1>(dim);
  TIGHTKV_TRY(AnyRotation::try_make(f.rotation, dim, seed, rotation));
  TIGHTKV_TRY(AnyCodebook::try_make(f.codebook, dim, code_bits, codebook));
  out.emplace(std::move(rotation), codebook, scale::Any{f.scale}, f.search_points);
  return {};
}

}  // namespace detail

/// The codec of a key side; `f` has passed validate().
inline Status try_make_codec(const CodecFormat& f, std::size_t dim, std::uint64_t seed,
                             std::optional<AnyKeyCodec>& out) {
  std::optional<AnyPolarQuant> polar;
  std::optional<AnyProjection> projection;
  if (f.projection != ProjectionKind::none) {
    projection.emplace(Srht(2, 2, 0));
    TIGHTKV_TRY(AnyProjection::try_make(f.projection, dim, f.rows ? f.rows : dim, seed, *projection));
  }
  switch (f.kind) {
    case CodecKind::raw:
      out.emplace(Raw(dim, f.element));
      break;
    case CodecKind::q8:
      out.emplace(Q8(dim));
      break;
    case CodecKind::group_quant:
      out.emplace(GroupQuant(dim, f.bits, f.group));
      break;
    case CodecKind::qjl:
      out.emplace(QJL<AnyProjection>(std::move(*projection)));
      break;
    case CodecKind::polar_quant:
      TIGHTKV_TRY(detail::make_polar(f, f.bits, dim - f.raw_dims, seed, polar));
      if (f.raw_dims)
        out.emplace(Split<AnyPolarQuant>(std::move(*polar), Raw(f.raw_dims, f.element)));
      else
        out.emplace(std::move(*polar));
      break;
    case CodecKind::turbo_quant:
      TIGHTKV_TRY(detail::make_polar(f, f.bits - 1u, dim, seed, polar));
      out.emplace(AnyTurboQuant(std::move(*polar), std::move(*projection)));
      break;
  }
  return {};
}

/// The codec of a value side.
inline Status try_make_codec(const CodecFormat& f, std::size_t dim, std::uint64_t seed,
                             std::optional<AnyValueCodec>& out) {
  std::optional<AnyPolarQuant> polar;
  switch (f.kind) {
    case CodecKind::raw:
      out.emplace(Raw(dim, f.element));
      return {};
    case CodecKind::q8:
      out.emplace(Q8(dim));
      return {};
    case CodecKind::group_quant:
      out.emplace(GroupQuant(dim, f.bits, f.group));
      return {};
    case CodecKind::polar_quant:
      TIGHTKV_TRY(detail::make_polar(f, f.bits, dim, seed, polar));
      out.emplace(std::move(*polar));
      return {};
    default:
      return Status::failure(ErrorCode::unsupported,
                             "a sketch keeps inner products, not vectors: it is no value codec");
  }
}

}  // namespace tightkv::inline TIGHTKV_ABI
