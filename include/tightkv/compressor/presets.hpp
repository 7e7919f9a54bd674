// compressor/presets.hpp: names <-> Formats.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "../core/describe.hpp"

namespace tightkv::inline TIGHTKV_ABI {

namespace detail {

/// One side of a preset by its name.
struct NamedSide {
  std::string_view name;
  CodecFormat codec;
};

constexpr CodecFormat raw_side(ElementType element) noexcept {
  CodecFormat f;
  f.element = element;
  f.bits = element == ElementType::f32 ? 32 : 16;
  return f;
}

/// This library's own codecs: trellis of 2 to 5 bits with 5 search points, grid above.
constexpr CodecFormat own_side(unsigned bits) noexcept {
  CodecFormat f;
  f.kind = CodecKind::polar_quant;
  f.bits = static_cast<std::uint8_t>(bits);
  f.rotation = RotationKind::hadamard;
  f.codebook = bits >= 6 ? CodebookKind::grid : bits == 1 ? CodebookKind::lloyd_max : CodebookKind::trellis;
  f.scale = ScaleKind::unbiased;
  f.search_points = bits >= 6 ? 1 : 5;
  return f;
}

/// turboquant_plus: Hadamard, Lloyd-Max, norm correction; 8 bits are an int8 grid.
constexpr CodecFormat turbo_side(unsigned bits) noexcept {
  CodecFormat f = own_side(bits);
  f.codebook = bits >= 6 ? CodebookKind::grid : CodebookKind::lloyd_max;
  f.scale = bits >= 6 ? ScaleKind::unbiased : ScaleKind::norm_corrected;
  f.search_points = 1;
  return f;
}

/// arXiv 2504.19874: Haar, Lloyd-Max at its own scale; keys spend one bit on a Gaussian sketch of the
/// residual.
constexpr CodecFormat paper_side(unsigned bits, bool key) noexcept {
  CodecFormat f = own_side(bits);
  f.kind = key ? CodecKind::turbo_quant : CodecKind::polar_quant;
  f.rotation = RotationKind::haar;
  f.codebook = CodebookKind::lloyd_max;
  f.scale = ScaleKind::unit;
  f.search_points = 1;
  if (key) f.projection = ProjectionKind::gaussian;
  return f;
}

constexpr CodecFormat q8_side() noexcept {
  CodecFormat f;
  f.kind = CodecKind::q8;
  f.bits = 8;
  f.group = 32;
  return f;
}

/// vLLM's values: asymmetric codes with one scale and zero point a vector.
constexpr CodecFormat uniform_side(unsigned bits) noexcept {
  CodecFormat f;
  f.kind = CodecKind::group_quant;
  f.bits = static_cast<std::uint8_t>(bits);
  return f;
}

constexpr CodecFormat with(CodecFormat f, ConditionerKind conditioner) noexcept {
  f.conditioner = conditioner;
  return f;
}

inline constexpr std::array<NamedSide, 8> sides = {{{"f32", raw_side(ElementType::f32)},
                                                    {"f16", raw_side(ElementType::f16)},
                                                    {"bf16", raw_side(ElementType::bf16)},
                                                    {"q8_0", q8_side()},
                                                    {"turbo2", turbo_side(2)},
                                                    {"turbo3", turbo_side(3)},
                                                    {"turbo4", turbo_side(4)},
                                                    {"turbo8", turbo_side(8)}}};

struct NamedPreset {
  std::string_view name;
  CodecFormat key, value;
  std::uint32_t sinks, window;
};

constexpr NamedPreset own(std::string_view name, unsigned key_bits, unsigned value_bits) noexcept {
  return {name, with(own_side(key_bits), ConditionerKind::block_mean), own_side(value_bits), 4, 64};
}

constexpr NamedPreset plain(std::string_view name, CodecFormat key, CodecFormat value) noexcept {
  return {name, key, value, 0, 0};
}

inline constexpr std::array<NamedPreset, 27> presets = {{
    own("k8v4", 8, 4),
    own("k5v4", 5, 4),
    own("k4v4", 4, 4),
    own("k5v3", 5, 3),
    own("k4v3", 4, 3),
    own("k3v3", 3, 3),
    own("k3v2", 3, 2),
    plain("paper4", paper_side(4, true), paper_side(4, false)),
    plain("paper3", paper_side(3, true), paper_side(3, false)),
    plain("paper2", paper_side(2, true), paper_side(2, false)),
    plain("turbo4", turbo_side(4), turbo_side(4)),
    plain("turbo3", turbo_side(3), turbo_side(3)),
    plain("turbo2", turbo_side(2), turbo_side(2)),
    plain("turbo8v4", turbo_side(8), turbo_side(4)),
    plain("turbo4v2", turbo_side(4), turbo_side(2)),
    plain("turbo0v4", raw_side(ElementType::f16), turbo_side(4)),
    plain("f32", raw_side(ElementType::f32), raw_side(ElementType::f32)),
    plain("f16", raw_side(ElementType::f16), raw_side(ElementType::f16)),
    plain("bf16", raw_side(ElementType::bf16), raw_side(ElementType::bf16)),
    plain("q8_0", q8_side(), q8_side()),
    plain("auto", raw_side(ElementType::f16), raw_side(ElementType::f16)),
    plain("turboquant_k8v4", turbo_side(8), uniform_side(4)),
    plain("turboquant_k8v3", turbo_side(8), uniform_side(3)),
    plain("turboquant_4bit_nc", turbo_side(4), uniform_side(4)),
    plain("turboquant_k4v3_nc", turbo_side(4), uniform_side(3)),
    plain("turboquant_k3v4_nc", turbo_side(3), uniform_side(4)),
    plain("turboquant_3bit_nc", turbo_side(3), uniform_side(3)),
}};

inline const CodecFormat* find_side(std::string_view name) noexcept {
  for (const NamedSide& s : sides)
    if (s.name == name) return &s.codec;
  return nullptr;
}

/// Takes "key" and "value" from "K/V" or "ctk=K,ctv=V"; false if the text has neither form.
inline bool split_pair(std::string_view text, std::string_view& key, std::string_view& value) noexcept {
  constexpr std::string_view ctk = "ctk=", ctv = ",ctv=";
  if (text.starts_with(ctk)) {
    const auto comma = text.find(ctv);
    if (comma == std::string_view::npos) return false;
    key = text.substr(ctk.size(), comma - ctk.size()), value = text.substr(comma + ctv.size());
    return true;
  }
  const auto slash = text.find('/');
  if (slash == std::string_view::npos) return false;
  key = text.substr(0, slash), value = text.substr(slash + 1);
  return true;
}

}  // namespace detail

/// The names that preset() knows, and the sides that pair as "q8_0/turbo4" or "ctk=turbo4,ctv=turbo3".
inline std::string known_presets() {
  std::string text;
  for (const auto& p : detail::presets) (text += text.empty() ? "" : ", ") += p.name;
  text += "; pairs K/V or ctk=K,ctv=V of ";
  for (const auto& s : detail::sides) (text += &s == detail::sides.data() ? "" : ", ") += s.name;
  return text;
}

/// The Format of a preset for a head shape. Errors: an unknown name or pair (the sentence lists the known
/// ones); a head dim outside its limits. The tail is f16; set Format::tail for an engine that works in bf16
/// or f32.
inline Status try_preset(std::string_view name, std::size_t key_dim, std::size_t value_dim, Format& out) {
  if (key_dim > max_head_dim || value_dim > max_head_dim)
    return Status::failure(ErrorCode::invalid_argument, "head dims are ", key_dim, " and ", value_dim,
                           "; the limit is ", max_head_dim);
  Format f;
  f.key_dim = static_cast<std::uint16_t>(key_dim), f.value_dim = static_cast<std::uint16_t>(value_dim);
  std::string_view key, value;
  bool found = false;
  if (detail::split_pair(name, key, value)) {
    const CodecFormat *k = detail::find_side(key), *v = detail::find_side(value);
    if (k && v) f.key = *k, f.value = *v, found = true;
  } else {
    for (const auto& p : detail::presets)
      if (p.name == name)
        f.key = p.key, f.value = p.value, f.sinks = p.sinks, f.window = p.window, found = true;
  }
  if (!found)
    return Status::failure(ErrorCode::unsupported, "no preset is called '", name.substr(0, 64),
                           "'; known are ", known_presets());
  if (f.key.kind == CodecKind::raw && f.key.element != ElementType::f16 && f.value.kind == CodecKind::raw)
    f.tail = f.key.element;
  TIGHTKV_TRY(validate(f));
  out = f;
  return {};
}

#if TIGHTKV_HAS_EXCEPTIONS
/// Throws Error where try_preset fails.
inline Format preset(std::string_view name, std::size_t key_dim, std::size_t value_dim) {
  Format f;
  throw_if_failed(try_preset(name, key_dim, value_dim, f));
  return f;
}
#endif

/// The first preset name that gives this Format's codecs, or "" if none does.
inline std::string_view preset_name(Format f) noexcept {
  if (f.key.rows == f.key_dim) f.key.rows = 0;  // a codec says in full what 0 stands for
  for (const auto& p : detail::presets)
    if (p.key == f.key && p.value == f.value && p.sinks == f.sinks && p.window == f.window) return p.name;
  return {};
}

}  // namespace tightkv::inline TIGHTKV_ABI
