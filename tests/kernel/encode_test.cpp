// Encoding 16 vectors at once gives the codes, scales and packed words of the definition, on every table that
// has it.
#include <catch.hpp>
#include <cmath>
#include <random>
#include <tightkv/tightkv.hpp>
#include <vector>

using namespace tightkv;

namespace {

/// 16 rows of very different size, one of them zero and one with a single value.
std::vector<std::byte> rows_of(std::size_t dim, ElementType type, unsigned seed) {
  std::mt19937 rng(seed);
  std::normal_distribution<float> normal;
  std::vector<std::byte> rows(16 * dim * element_size(type));
  for (std::size_t t = 0; t < 16; ++t)
    for (std::size_t i = 0; i < dim; ++i) {
      float x = t == 3 || (t == 5 && i != 1) ? 0.0f : normal(rng) * std::ldexp(1.0f, static_cast<int>(t) - 8);
      if (type == ElementType::f32 && t == 7) x *= 1e30f;
      tightkv::detail::convert_element(reinterpret_cast<const std::byte*>(&x), ElementType::f32, 0, type,
                                       rows.data() + (t * dim + i) * element_size(type));
    }
  return rows;
}

/// Differences between the tile and the definition in codes and scales; -1 if the table has no kernel for it.
int differences(const kernel::Kernels& on, const AnyPolarQuant& codec, const RowsView& rows,
                const Condition& condition) {
  const std::size_t padded = layout::padded(codec.dim());
  BlockScratch scratch;
  std::vector<std::uint8_t> codes(padded * 16);
  std::vector<fixed::Scale> scales(16);
  std::byte* const room = scratch.aligned_tile(kernel::EncodeTile::scratch_bytes(padded));
  if (!codec.encode_tile(on, rows, condition, room, codes.data(), scales.data())) return -1;
  int wrong = 0;
  std::vector<std::int32_t> x(codec.dim());
  Record record;
  for (std::size_t t = 0; t < 16; ++t) {
    const int unit = condition_row(rows.row(t), rows.type, condition, x);
    record.resize(codec.shape());
    codec.encode({x, unit, rows.row(t), rows.type}, record);
    wrong += record.scales[0] == scales[t] ? 0 : 1;
    for (std::size_t i = 0; i < padded; ++i) wrong += record.codes[i] == codes[i * 16 + t] ? 0 : 1;
  }
  return wrong;
}

}  // namespace

TEST_CASE("a tile of vectors encodes to the bytes of the definition", "[kernel]") {
  int compared = 0;
  for (const kernel::Candidate& candidate : kernel::candidates()) {
    if (!candidate.available || !candidate.table->encode) continue;
    for (const std::size_t dim : {2u, 6u, 16u, 48u, 64u, 80u, 112u, 128u, 192u, 576u})
      for (const CodebookKind kind : {CodebookKind::lloyd_max, CodebookKind::uniform, CodebookKind::trellis})
        for (unsigned bits = kind == CodebookKind::trellis ? 2 : 1;
             bits <= (kind == CodebookKind::trellis ? 5u : 6u); ++bits)
          for (const unsigned points : {1u, 5u}) {
            const ElementType type = points == 1 ? ElementType::f16
                                     : bits % 2  ? ElementType::bf16
                                                 : ElementType::f32;
            CAPTURE(candidate.table->name, dim, static_cast<int>(kind), bits, points);
            AnyRotation rotation = Identity(dim);
            AnyCodebook codebook = LloydMax<1>(dim);
            REQUIRE(AnyRotation::try_make(bits % 3 ? RotationKind::hadamard : RotationKind::identity, dim, 3,
                                          rotation)
                        .ok());
            REQUIRE(AnyCodebook::try_make(kind, dim, bits, codebook).ok());
            const AnyPolarQuant codec(rotation, codebook, scale::Any{}, points);
            const auto rows = rows_of(dim, type, bits);
            const RowsView view{rows.data(), 16, dim, dim * element_size(type), type};
            Condition condition;
            if (points == 5) condition.mean = mean_of_rows(view);
            const int wrong = differences(*candidate.table, codec, view, condition);
            CHECK(wrong <= 0);
            compared += wrong >= 0 ? 1 : 0;
          }
    CHECK(compared > 200);  // the kernel ran, it did not leave all to the definition
  }
}

TEST_CASE("columns pack to the words of the definition", "[kernel]") {
  std::mt19937 rng(9);
  for (unsigned bits = 1; bits <= 8; ++bits)
    for (const std::size_t dim : {16u, 48u, 64u, 80u, 128u, 576u}) {
      CAPTURE(bits, dim);
      std::vector<std::uint8_t> codes(64 * dim), columns(16 * dim);
      for (auto& c : codes) c = static_cast<std::uint8_t>(rng() & ((1u << bits) - 1u));
      const RecordShape shape{dim, bits, 0, 1, 0};
      std::vector<std::byte> tiles(4 * shape.key_tile_bytes()), words(shape.value_block_bytes());
      std::vector<std::byte> from_columns(tiles.size()), values_from_columns(words.size());
      kernel::pack_keys(shape, codes, {}, tiles.data());
      kernel::pack_values(shape, codes, words.data());
      for (std::size_t tile = 0; tile < 4; ++tile) {
        for (std::size_t t = 0; t < 16; ++t)
          for (std::size_t i = 0; i < dim; ++i) columns[i * 16 + t] = codes[(tile * 16 + t) * dim + i];
        kernel::pack_key_columns(kernel::scalar{}, dim, bits, columns.data(),
                                 from_columns.data() + tile * shape.key_tile_bytes());
        kernel::pack_value_columns(kernel::scalar{}, dim, bits, tile * 16, columns.data(),
                                   values_from_columns.data());
      }
      CHECK(from_columns == tiles);
      CHECK(values_from_columns == words);
    }
}
