// write_golden.cpp: prints the bytes of format version 0, one line a case, for v0.txt to pin. run_flags.sh
// builds it with many compilers and flags; all must print the same. `write_golden --decode` prints instead
// what the library decodes from the blocks shown in full, for check_reader.sh.
//
// Inputs are random words made into f32, f16 and bf16 bit patterns by integer arithmetic: no float operation
// of this program can differ between two builds.
#include <tightkv/tightkv.hpp>

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

namespace {

using namespace tightkv;

constexpr std::size_t heads = 2;
bool decode_only = false;

// --- inputs

struct Bits {
  unsigned mantissa, bias, largest;  // mantissa bits, exponent bias, exponent field of the largest numbers
};
constexpr Bits bits_of(ElementType type) {
  if (type == ElementType::f16) return {10, 15, 30};
  return {type == ElementType::bf16 ? 7u : 23u, 127, 254};
}

enum class Data { ordinary, extreme };

/// Element i of token t: about log-uniform below 2; every seventh channel is a constant with a little noise.
/// Extreme rows: zeros, subnormals, the largest exponent, one-hot.
std::uint32_t element(const Random& random, Data data, ElementType type, std::size_t t, std::size_t h,
                      std::size_t i) {
  const Bits b = bits_of(type);
  const std::uint64_t word = random.bits((t * heads + h) * 1024 + i);
  const auto mask = (1u << b.mantissa) - 1u;
  const auto noise = static_cast<std::uint32_t>(word) & mask;
  const auto pack = [&](std::uint32_t sign, std::uint32_t field, std::uint32_t mantissa) {
    const unsigned width = type == ElementType::f32 ? 31 : 15;
    return (sign << width) | (field << b.mantissa) | mantissa;
  };
  const auto sign = static_cast<std::uint32_t>(word >> 63);
  const auto drop = static_cast<unsigned>(std::countr_zero((word >> 32) | (std::uint64_t{1} << 20)));
  if (data == Data::extreme) switch (t % 8) {
      case 0:
        return 0;
      case 1:
        return pack(sign, 0, noise);
      case 2:
        return pack(sign, b.largest, noise);
      case 3:
        return i == t % 7 ? pack(sign, b.bias, noise) : 0;
      case 4:
        return pack(sign, b.largest - std::min(drop, b.largest), noise);
      default:
        break;
    }
  if (i % 7 == 3) {
    const auto channel = static_cast<std::uint32_t>(random.bits((std::uint64_t{1} << 40) + i));
    return pack(channel >> 31, b.bias + 3, (channel & mask & ~(mask >> 3)) | (noise >> 3));
  }
  const unsigned field = b.bias + 1 > drop ? b.bias + 1 - drop : 0;
  return pack(sign, field, noise);
}

/// (tokens, heads, dim) of one type.
struct Tensor {
  std::vector<std::byte> data;
  TensorView view;

  Tensor(std::uint64_t stream, Data kind, ElementType type, std::size_t first, std::size_t tokens,
         std::size_t dim) {
    const Random random(2024, stream);
    const std::size_t size = element_size(type);
    data.resize(tokens * heads * dim * size);
    std::byte* at = data.data();
    for (std::size_t t = 0; t < tokens; ++t)
      for (std::size_t h = 0; h < heads; ++h)
        for (std::size_t i = 0; i < dim; ++i, at += size) {
          const std::uint32_t bits = element(random, kind, type, first + t, h, i);
          std::memcpy(at, &bits, size);
        }
    view = {data.data(),
            type,
            tokens,
            heads,
            dim,
            static_cast<std::ptrdiff_t>(heads * dim),
            static_cast<std::ptrdiff_t>(dim)};
  }
};

// --- output

void print_hash(const std::string& name, std::uint64_t hash) {
  if (!decode_only) std::printf("%s: %016llx\n", name.c_str(), static_cast<unsigned long long>(hash));
}

void print_hex(const std::string& name, std::span<const std::byte> data) {
  std::printf("%s: ", name.c_str());
  for (const std::byte b : data) std::printf("%02x", static_cast<unsigned>(b));
  std::printf("\n");
}

[[noreturn]] void fail(const std::string& name, const Status& status) {
  std::fprintf(stderr, "%s: %s\n", name.c_str(), status.message().c_str());
  std::exit(1);
}

// --- cases

CodecFormat polar(unsigned bits, CodebookKind codebook, RotationKind rotation = RotationKind::hadamard,
                  ScaleKind scale = ScaleKind::unbiased, unsigned search_points = 1) {
  CodecFormat f;
  f.kind = CodecKind::polar_quant;
  f.bits = static_cast<std::uint8_t>(bits);
  f.rotation = rotation, f.codebook = codebook, f.scale = scale;
  f.search_points = static_cast<std::uint8_t>(search_points);
  return f;
}

CodecFormat turbo(unsigned bits, ProjectionKind projection, std::size_t rows = 0,
                  RotationKind rotation = RotationKind::haar) {
  CodecFormat f = polar(bits, CodebookKind::lloyd_max, rotation, ScaleKind::unit);
  f.kind = CodecKind::turbo_quant;
  f.projection = projection;
  f.rows = static_cast<std::uint16_t>(rows);
  return f;
}

CodecFormat qjl(ProjectionKind projection, std::size_t rows = 0) {
  CodecFormat f;
  f.kind = CodecKind::qjl;
  f.bits = 1;
  f.projection = projection;
  f.rows = static_cast<std::uint16_t>(rows);
  return f;
}

CodecFormat group(unsigned bits, std::size_t dims) {
  CodecFormat f;
  f.kind = CodecKind::group_quant;
  f.bits = static_cast<std::uint8_t>(bits);
  f.group = static_cast<std::uint16_t>(dims);
  return f;
}

CodecFormat q8() {
  CodecFormat f = group(8, 32);
  f.kind = CodecKind::q8;
  return f;
}

CodecFormat raw(ElementType element) {
  CodecFormat f;
  f.element = element;
  f.bits = element == ElementType::f32 ? 32 : 16;
  return f;
}

CodecFormat conditioned(CodecFormat f, ConditionerKind conditioner) {
  f.conditioner = conditioner;
  return f;
}

struct Case {
  std::string name;
  CodecFormat key, value;
  std::size_t dim = 128;
  Data data = Data::ordinary;
  ElementType type = ElementType::f16;
  std::size_t blocks = 1;
  bool queries = false, hex = false, shared = false;
};

constexpr std::uint64_t seed = 7;

/// Appends 64 tokens a block to two heads and prints the hash of all blocks and of what was frozen.
void print(const Case& c) {
  if (decode_only && !c.hex) return;
  Format f;
  f.key = c.key, f.value = c.value;
  f.key_dim = f.value_dim = static_cast<std::uint16_t>(c.dim);
  f.tail = c.type;
  if (c.shared) f.shared = true, f.value_dim = static_cast<std::uint16_t>(c.dim - c.key.raw_dims);
  std::optional<AnyCompressor> cache;
  if (Status s = AnyCompressor::try_make(f, heads, seed, cache); !s.ok()) fail(c.name, s);
  for (std::size_t b = 0; b < c.blocks; ++b) {
    const std::size_t first = b * layout::block_tokens;
    const Tensor k(1, c.data, c.type, first, layout::block_tokens, c.dim);
    const Tensor v(2, c.data, c.type, first, layout::block_tokens, c.dim);
    const Tensor q(3, Data::ordinary, ElementType::f32, first, layout::block_tokens, c.dim);
    if (Status s = cache->try_append(k.view, v.view, c.queries ? q.view : TensorView{}); !s.ok())
      fail(c.name, s);
    if (Status s = cache->try_commit(); !s.ok()) fail(c.name, s);
  }
  bytes::Hash hash;
  for (std::size_t h = 0; h < heads; ++h) {
    for (std::size_t b = 0; b < c.blocks; ++b) hash.add_bytes(cache->block(h, b));
    const Condition& condition = cache->key_condition(h);
    hash.add(static_cast<std::int16_t>(condition.mean.exponent));
    for (const Half m : condition.mean.values) hash.add(m.bits);
    for (const Half g : condition.channel_scale) hash.add(g.bits);
  }
  print_hash(c.name, hash.value());
  if (!c.hex) return;
  if (!decode_only) {
    print_hex(c.name + " format", to_bytes(f));
    print_hex(c.name + " block", cache->block(0, 0));
    return;
  }
  Workspace workspace;
  std::vector<float> out(c.dim);
  for (std::size_t t = 0; t < layout::block_tokens; ++t)
    for (const bool key : {true, false}) {
      const Status s =
          key ? cache->try_decode_key(0, t, out, workspace) : cache->try_decode_value(0, t, out, workspace);
      if (!s.ok()) fail(c.name, s);
      std::printf("%s %s %zu:", c.name.c_str(), key ? "key" : "value", t);
      for (const float x : out) std::printf(" %.9g", static_cast<double>(x));
      std::printf("\n");
    }
}

// --- the list

constexpr CodebookKind codebooks[] = {CodebookKind::lloyd_max, CodebookKind::uniform, CodebookKind::grid,
                                      CodebookKind::trellis};
constexpr ProjectionKind projections[] = {ProjectionKind::gaussian, ProjectionKind::orthogonal,
                                          ProjectionKind::srht};
constexpr ScaleKind scales[] = {ScaleKind::unbiased, ScaleKind::min_mse, ScaleKind::norm_corrected,
                                ScaleKind::unit};

void for_each_width(CodebookKind codebook, auto&& f) {
  const bool trellis = codebook == CodebookKind::trellis;
  for (unsigned bits = trellis ? 2 : 1; bits <= (trellis ? 5u : 8u); ++bits) f(bits);
}

void tables() {
  using detail::join;
  for (const std::size_t dim : {16u, 64u, 80u, 96u, 112u, 128u, 192u, 256u, 512u, 576u})
    for (const CodebookKind kind : codebooks) {
      if (dim != 128 && kind != CodebookKind::lloyd_max) continue;  // one table for all dims
      for_each_width(kind, [&](unsigned bits) {
        AnyCodebook codebook = LloydMax<1>(dim);
        if (Status s = AnyCodebook::try_make(kind, dim, bits, codebook); !s.ok()) fail("codebook", s);
        print_hash(join("codebook ", name(kind), " dim ", dim, " bits ", bits), codebook.hash());
      });
    }
  for (const std::size_t dim : {2u, 6u, 16u, 64u, 80u, 96u, 112u, 128u, 192u, 256u}) {
    print_hash(join("rotation haar dim ", dim), Haar(dim, seed).hash());
    print_hash(join("rotation hadamard dim ", dim), Hadamard(dim, seed).hash());
    print_hash(join("projection gaussian dim ", dim), Gaussian(dim, dim, seed).hash());
    print_hash(join("projection orthogonal dim ", dim), Orthogonal(dim, dim + 16, seed).hash());
    print_hash(join("projection srht dim ", dim), Srht(dim, dim, seed).hash());
  }
  print_hash("rotation hadamard dim 512", Hadamard(512, seed).hash());
  print_hash("rotation hadamard dim 576", Hadamard(576, seed).hash());
}

void polar_cases() {
  using detail::join;
  for (const std::size_t dim : {80u, 128u})
    for (const CodebookKind kind : codebooks)
      for_each_width(kind, [&](unsigned bits) {
        const CodecFormat f = polar(bits, kind);
        print({.name = join("polar ", name(kind), " bits ", bits, " dim ", dim),
               .key = f,
               .value = f,
               .dim = dim});
      });
  for (const RotationKind rotation : {RotationKind::identity, RotationKind::haar, RotationKind::hadamard})
    for (const std::size_t dim : {2u, 6u, 34u, 64u, 80u, 96u, 112u, 128u, 192u, 256u, 576u}) {
      if (dim == 576 && rotation == RotationKind::haar) continue;
      const CodecFormat f = polar(4, CodebookKind::lloyd_max, rotation);
      print({.name = join("polar ", name(rotation), " dim ", dim), .key = f, .value = f, .dim = dim});
    }
  for (const CodebookKind kind : codebooks)
    for (const ScaleKind scale : scales)
      for (const unsigned points : {1u, 3u, 5u, 9u}) {
        const CodecFormat f = polar(3, kind, RotationKind::haar, scale, points);
        print({.name = join("polar ", name(kind), " bits 3 ", name(scale), " search ", points),
               .key = f,
               .value = f});
      }
}

void other_codecs() {
  using detail::join;
  for (const std::size_t dim : {80u, 128u}) {
    for (const ProjectionKind p : projections) {
      for (const unsigned bits : {2u, 3u, 4u, 5u, 8u})
        print({.name = join("turbo ", name(p), " bits ", bits, " dim ", dim),
               .key = turbo(bits, p),
               .value = q8(),
               .dim = dim});
      print({.name = join("turbo ", name(p), " rows 48 dim ", dim),
             .key = turbo(4, p, 48, RotationKind::hadamard),
             .value = q8(),
             .dim = dim});
      print({.name = join("qjl ", name(p), " dim ", dim), .key = qjl(p), .value = q8(), .dim = dim});
      if (p != ProjectionKind::srht)
        print({.name = join("qjl ", name(p), " rows 200 dim ", dim),
               .key = qjl(p, 200),
               .value = q8(),
               .dim = dim});
    }
    for (const unsigned bits : {2u, 3u, 4u, 8u})
      for (const std::size_t dims : {0u, 32u, 64u})
        print({.name = join("group bits ", bits, " group ", dims, " dim ", dim),
               .key = group(bits, dims),
               .value = group(bits, dims),
               .dim = dim});
  }
  for (const std::size_t dim : {34u, 80u, 128u})
    print({.name = join("q8 dim ", dim), .key = q8(), .value = q8(), .dim = dim});
  for (const ElementType element : {ElementType::f32, ElementType::f16, ElementType::bf16})
    for (const ElementType type : {ElementType::f32, ElementType::f16, ElementType::bf16})
      print({.name = join("raw ", name(element), " from ", name(type)),
             .key = raw(element),
             .value = raw(element),
             .type = type});
  CodecFormat split = polar(4, CodebookKind::trellis);
  split.raw_dims = 16, split.element = ElementType::bf16;
  for (const auto conditioner :
       {ConditionerKind::none, ConditionerKind::frozen_mean, ConditionerKind::block_mean})
    print({.name = join("split shared ", name(conditioner)),
           .key = conditioned(split, conditioner),
           .value = conditioned(split, ConditionerKind::none),
           .dim = 96,
           .blocks = 2,
           .shared = true});
}

void inputs_and_conditioners() {
  using detail::join;
  const std::pair<const char*, CodecFormat> kinds[] = {
      {"trellis", polar(4, CodebookKind::trellis, RotationKind::hadamard, ScaleKind::unbiased, 5)},
      {"grid", polar(8, CodebookKind::grid)},
      {"group", group(4, 32)},
      {"q8", q8()},
      {"turbo", turbo(4, ProjectionKind::gaussian)},
      {"qjl", qjl(ProjectionKind::orthogonal)}};
  for (const ElementType type : {ElementType::f32, ElementType::f16, ElementType::bf16}) {
    for (const auto& [label, codec] : kinds) {
      const bool sketch = codec.kind == CodecKind::turbo_quant || codec.kind == CodecKind::qjl;
      for (const auto mean : {ConditionerKind::none, ConditionerKind::block_mean})
        print({.name = join("extreme ", name(type), " ", label, " ", name(mean)),
               .key = conditioned(codec, mean),
               .value = conditioned(sketch ? q8() : codec, mean),
               .data = Data::extreme,
               .type = type,
               .blocks = 2});
    }
    for (const std::size_t dim : {80u, 128u})
      for (const auto k : {ConditionerKind::none, ConditionerKind::frozen_mean, ConditionerKind::balanced,
                           ConditionerKind::block_mean})
        for (const bool queries : {false, true}) {
          if (queries && k != ConditionerKind::balanced) continue;
          const CodecFormat f = kinds[0].second;
          print({.name = join("conditioner ", name(type), " ", name(k), queries ? " with queries" : "",
                              " dim ", dim),
                 .key = conditioned(f, k),
                 .value = conditioned(f, k == ConditionerKind::balanced ? ConditionerKind::none : k),
                 .dim = dim,
                 .type = type,
                 .blocks = 3,
                 .queries = queries});
        }
  }
  print({.name = "conditioner f32 balanced with queries, extreme",
         .key = conditioned(kinds[0].second, ConditionerKind::balanced),
         .value = kinds[0].second,
         .data = Data::extreme,
         .type = ElementType::f32,
         .blocks = 2,
         .queries = true});
}

/// Small blocks byte by byte: what a second reader can be tested on (tools/read_block.py).
void whole_blocks() {
  const auto show = [](std::string name, CodecFormat f, std::size_t dim,
                       ElementType type = ElementType::f16) {
    print({.name = "whole " + std::move(name), .key = f, .value = f, .dim = dim, .type = type, .hex = true});
  };
  show("lloyd_max 4 bits, identity", polar(4, CodebookKind::lloyd_max, RotationKind::identity), 16);
  show("trellis 4 bits, hadamard", polar(4, CodebookKind::trellis), 16);
  show("trellis 5 bits, hadamard, padded",
       polar(5, CodebookKind::trellis, RotationKind::hadamard, ScaleKind::min_mse, 9), 24, ElementType::bf16);
  show("lloyd_max 3 bits, haar, block mean",
       conditioned(polar(3, CodebookKind::lloyd_max, RotationKind::haar), ConditionerKind::block_mean), 16);
  show("uniform 7 bits, hadamard",
       polar(7, CodebookKind::uniform, RotationKind::hadamard, ScaleKind::norm_corrected), 20,
       ElementType::f32);
  show("grid 8 bits, identity", polar(8, CodebookKind::grid, RotationKind::identity), 16);
  show("group 3 bits, last group shorter", group(3, 32), 48);
  show("q8", q8(), 34, ElementType::bf16);
}

void presets() {
  if (decode_only) return;
  for (const auto& p : detail::presets) {
    Format f;
    if (Status s = try_preset(p.name, 128, 128, f); !s.ok()) fail(std::string(p.name), s);
    print_hex("preset " + std::string(p.name), to_bytes(f));
  }
}

}  // namespace

int main(int argc, char** argv) {
  decode_only = argc > 1 && std::strcmp(argv[1], "--decode") == 0;
  if (!decode_only) tables();
  polar_cases();
  other_codecs();
  inputs_and_conditioners();
  whole_blocks();
  presets();
}
