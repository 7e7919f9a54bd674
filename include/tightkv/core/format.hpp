// core/format.hpp: the run-time value behind the types: everything that decides a stored byte, and its
// written form.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "bytes.hpp"
#include "layout.hpp"
#include "status.hpp"
#include "types.hpp"

namespace tightkv::inline TIGHTKV_ABI {

enum class CodecKind : std::uint8_t {
  raw = 0,
  polar_quant = 1,
  turbo_quant = 2,
  qjl = 3,
  group_quant = 4,
  q8 = 5
};
enum class RotationKind : std::uint8_t { identity = 0, haar = 1, hadamard = 2, matrix = 3 };
enum class CodebookKind : std::uint8_t {
  none = 0,
  lloyd_max = 1,
  uniform = 2,
  grid = 3,
  trellis = 4,
  table = 5
};
enum class ProjectionKind : std::uint8_t { none = 0, gaussian = 1, orthogonal = 2, srht = 3 };
enum class ScaleKind : std::uint8_t { unbiased = 0, min_mse = 1, norm_corrected = 2, unit = 3 };
enum class ConditionerKind : std::uint8_t { none = 0, frozen_mean = 1, balanced = 2, block_mean = 3 };

/// One side (K or V) of a Format. Fields that a codec does not use are zero.
struct CodecFormat {
  CodecKind kind = CodecKind::raw;
  std::uint8_t bits = 16;                  ///< per value: codes, and for turbo_quant codes + sign
  ElementType element = ElementType::f16;  ///< raw only
  RotationKind rotation = RotationKind::identity;
  CodebookKind codebook = CodebookKind::none;
  ProjectionKind projection = ProjectionKind::none;
  ScaleKind scale = ScaleKind::unbiased;
  std::uint8_t search_points = 1;  ///< scale search: 1, 3, 5 or 9
  ConditionerKind conditioner = ConditionerKind::none;
  std::uint16_t group = 0;     ///< group_quant: dims a group, 0 = the whole vector; q8: 32
  std::uint16_t rows = 0;      ///< rows of the sketch; 0 = head dim
  std::uint16_t raw_dims = 0;  ///< split codec: the last dims kept raw (MLA's RoPE part)
  friend bool operator==(const CodecFormat&, const CodecFormat&) = default;
};

/// What one layer's cache is made of. Printed by report(), stored in snapshots.
struct Format {
  CodecFormat key, value;
  std::uint16_t key_dim = 0, value_dim = 0;
  std::uint32_t sinks = 0;  ///< first tokens that stay raw
  std::uint32_t window =
      0;  ///< latest committed tokens that stay raw (at least; up to 63 more wait for their block)
  ElementType tail = ElementType::f16;  ///< element type of sinks and tail: the engine's own
  bool shared =
      false;  ///< one store read by both sides (MLA latent): value = first value_dim coded dims of the key
  friend bool operator==(const Format&, const Format&) = default;
};

inline constexpr std::uint16_t format_version =
    0;  ///< becomes 1 when CPU and GPU kernels have been measured on it
inline constexpr std::size_t max_head_dim = 1024;

namespace detail {

inline Status check_side(const CodecFormat& c, std::size_t dim, const char* side) {
  if (dim < 2 || dim > max_head_dim || dim % 2 != 0)
    return Status::failure(ErrorCode::invalid_argument, side, "_dim is ", dim, "; it must be even and 2 to ",
                           max_head_dim);
  const auto bad = [&](const char* field, auto value, const char* limit) {
    return Status::failure(ErrorCode::invalid_argument, side, " ", field, " is ",
                           static_cast<unsigned>(value), "; it must be ", limit);
  };
  const auto bits_in = [&](unsigned low, unsigned high) { return c.bits >= low && c.bits <= high; };
  if (c.element > ElementType::bf16) return bad("element", c.element, "f32, f16 or bf16");
  if (c.rotation > RotationKind::matrix) return bad("rotation", c.rotation, "a known rotation");
  if (c.codebook > CodebookKind::table) return bad("codebook", c.codebook, "a known codebook");
  if (c.projection > ProjectionKind::srht) return bad("projection", c.projection, "a known projection");
  if (c.scale > ScaleKind::unit) return bad("scale", c.scale, "a known scale policy");
  if (c.conditioner > ConditionerKind::block_mean)
    return bad("conditioner", c.conditioner, "a known conditioner");
  switch (c.kind) {
    case CodecKind::raw:
      return {};
    case CodecKind::polar_quant:
      if (c.codebook == CodebookKind::trellis && !bits_in(2, 5))
        return bad("bits", c.bits, "2 to 5 with the trellis");
      if (!bits_in(1, 8)) return bad("bits", c.bits, "1 to 8");
      if (c.codebook == CodebookKind::none)
        return bad("codebook", c.codebook, "one of lloyd_max, uniform, grid, trellis, table");
      break;
    case CodecKind::turbo_quant:
      if (!bits_in(2, 8)) return bad("bits", c.bits, "2 to 8 (codes and one sign bit)");
      if (c.projection == ProjectionKind::none)
        return bad("projection", c.projection, "gaussian, orthogonal or srht");
      break;
    case CodecKind::qjl:
      if (c.projection == ProjectionKind::none)
        return bad("projection", c.projection, "gaussian, orthogonal or srht");
      break;
    case CodecKind::group_quant:
      if (c.bits != 2 && c.bits != 3 && c.bits != 4 && c.bits != 8)
        return bad("bits", c.bits, "2, 3, 4 or 8 for groups");
      if (c.group % 32 != 0) return bad("group", c.group, "a multiple of 32, or 0 for the whole vector");
      break;
    case CodecKind::q8:
      break;
    default:
      return bad("codec", c.kind, "a known codec");
  }
  if (c.search_points != 1 && c.search_points != 3 && c.search_points != 5 && c.search_points != 9)
    return bad("search_points", c.search_points, "1, 3, 5 or 9");
  if (c.rows > max_head_dim) return bad("rows", c.rows, "at most 1024");
  if (c.raw_dims >= dim || c.raw_dims % 2 != 0)
    return bad("raw_dims", c.raw_dims, "even and below the head dim");
  return {};
}

}  // namespace detail

/// Checks every field against its limits; the sentence names field, value and limit.
inline Status validate(const Format& f) {
  TIGHTKV_TRY(detail::check_side(f.key, f.key_dim, "key"));
  if (f.shared && f.value_dim + f.key.raw_dims != f.key_dim)
    return Status::failure(ErrorCode::unsupported, "shared value_dim is ", f.value_dim,
                           "; it must be the key's coded dims, ", f.key_dim - f.key.raw_dims);
  if (!f.shared) TIGHTKV_TRY(detail::check_side(f.value, f.value_dim, "value"));
  if (f.value.kind == CodecKind::qjl || f.value.kind == CodecKind::turbo_quant)
    return Status::failure(
        ErrorCode::unsupported, "value codec is ", f.value.kind == CodecKind::qjl ? "QJL" : "TurboQuant",
        "; a sketch keeps inner products, not vectors: values take PolarQuant, GroupQuant, Q8 or Raw");
  if (f.value.conditioner == ConditionerKind::balanced)
    return Status::failure(
        ErrorCode::unsupported,
        "value conditioner is balanced; a channel scale needs a query, so values take none, "
        "frozen_mean or block_mean");
  if (f.tail > ElementType::bf16)
    return Status::failure(ErrorCode::invalid_argument, "tail is ", static_cast<unsigned>(f.tail),
                           "; it must be f32, f16 or bf16");
  if (f.window > (1u << 20))
    return Status::failure(ErrorCode::invalid_argument, "window is ", f.window, "; the limit is ", 1u << 20);
  if (f.sinks > (1u << 16))
    return Status::failure(ErrorCode::invalid_argument, "sinks is ", f.sinks, "; the limit is ", 1u << 16);
  return {};
}

inline constexpr std::size_t format_bytes = 64;

namespace detail {

inline void write_side(std::byte* to, const CodecFormat& c) {
  const std::array<std::uint8_t, 9> fields = {
      static_cast<std::uint8_t>(c.kind),       c.bits,
      static_cast<std::uint8_t>(c.element),    static_cast<std::uint8_t>(c.rotation),
      static_cast<std::uint8_t>(c.codebook),   static_cast<std::uint8_t>(c.projection),
      static_cast<std::uint8_t>(c.scale),      c.search_points,
      static_cast<std::uint8_t>(c.conditioner)};
  for (std::size_t i = 0; i < fields.size(); ++i) to[i] = static_cast<std::byte>(fields[i]);
  bytes::store(to + 10, c.group);
  bytes::store(to + 12, c.rows);
  bytes::store(to + 14, c.raw_dims);
}

inline CodecFormat read_side(const std::byte* from) {
  const auto field = [&](std::size_t i) { return static_cast<std::uint8_t>(from[i]); };
  CodecFormat c;
  c.kind = CodecKind{field(0)}, c.bits = field(1), c.element = ElementType{field(2)};
  c.rotation = RotationKind{field(3)}, c.codebook = CodebookKind{field(4)},
  c.projection = ProjectionKind{field(5)};
  c.scale = ScaleKind{field(6)}, c.search_points = field(7), c.conditioner = ConditionerKind{field(8)};
  c.group = bytes::load<std::uint16_t>(from + 10);
  c.rows = bytes::load<std::uint16_t>(from + 12);
  c.raw_dims = bytes::load<std::uint16_t>(from + 14);
  return c;
}

}  // namespace detail

/// The written form: 64 bytes, little-endian, described in docs/format.md; ends in a hash of the bytes before
/// it.
inline std::array<std::byte, format_bytes> to_bytes(const Format& f) {
  std::array<std::byte, format_bytes> out{};
  bytes::store(out.data(), std::uint32_t{0x564b4754});  // "TGKV"
  bytes::store(out.data() + 4, format_version);
  bytes::store(out.data() + 6, f.key_dim);
  bytes::store(out.data() + 8, f.value_dim);
  out[10] = static_cast<std::byte>(f.tail);
  out[11] = static_cast<std::byte>(f.shared);
  bytes::store(out.data() + 12, f.sinks);
  bytes::store(out.data() + 16, f.window);
  detail::write_side(out.data() + 20, f.key);
  detail::write_side(out.data() + 36, f.value);
  bytes::store(out.data() + 56, bytes::Hash{}.add_bytes({out.data(), 56}).value());
  return out;
}

/// Reads to_bytes()'s form; everything in it is checked before it is believed.
inline Status from_bytes(std::span<const std::byte> data, Format& out) {
  if (data.size() < format_bytes)
    return Status::failure(ErrorCode::corrupt, "format has ", data.size(), " bytes; it needs ", format_bytes);
  if (bytes::load<std::uint32_t>(data.data()) != 0x564b4754)
    return Status::failure(ErrorCode::corrupt, "format does not begin with TGKV");
  if (const auto version = bytes::load<std::uint16_t>(data.data() + 4); version != format_version)
    return Status::failure(ErrorCode::unsupported, "format version is ", version, "; this build reads ",
                           format_version);
  if (bytes::load<std::uint64_t>(data.data() + 56) != bytes::Hash{}.add_bytes(data.first(56)).value())
    return Status::failure(ErrorCode::corrupt, "format checksum does not match its bytes");
  Format f;
  f.key_dim = bytes::load<std::uint16_t>(data.data() + 6);
  f.value_dim = bytes::load<std::uint16_t>(data.data() + 8);
  f.tail = ElementType{static_cast<std::uint8_t>(data[10])};
  f.shared = data[11] != std::byte{0};
  f.sinks = bytes::load<std::uint32_t>(data.data() + 12);
  f.window = bytes::load<std::uint32_t>(data.data() + 16);
  f.key = detail::read_side(data.data() + 20);
  f.value = detail::read_side(data.data() + 36);
  TIGHTKV_TRY(validate(f));
  if (const auto again = to_bytes(f); !std::equal(again.begin(), again.end(), data.begin()))
    return Status::failure(ErrorCode::corrupt, "format holds values that no version wrote");
  out = f;
  return {};
}

}  // namespace tightkv::inline TIGHTKV_ABI
