#include <tightkv/storage/tail.hpp>

#include <cstring>
#include <deque>

#include "catch.hpp"
#include "support/vectors.hpp"

using namespace tightkv;

namespace {

/// Rows that say who they are: element i of row `id` is id * 16 + i.
void write_row(std::byte* to, std::size_t dim, ElementType type, std::uint32_t id) {
  for (std::uint32_t i = 0; i < dim; ++i)
    if (type == ElementType::f32)
      bytes::store(to + 4 * i, std::uint32_t{id * 16 + i});
    else
      bytes::store(to + 2 * i, static_cast<std::uint16_t>(id * 16 + i));
}

bool is_row(const std::byte* row, std::size_t dim, ElementType type, std::uint32_t id) {
  std::byte expected[64];
  write_row(expected, dim, type, id);
  return std::memcmp(row, expected, dim * element_size(type)) == 0;
}

}  // namespace

TEST_CASE("raw rows behave as a deque under any mix of pushes, pops and cuts", "[storage]") {
  for (const ElementType type : {ElementType::f32, ElementType::f16, ElementType::bf16}) {
    const std::size_t dim = 6;
    RawRows rows(dim, type);
    std::deque<std::uint32_t> model;
    tightkv_test::Rng rng(7);
    std::uint32_t next = 0;
    for (int step = 0; step < 4000; ++step) {
      const std::size_t kind = rng.below(8);
      if (kind < 4) {
        const std::size_t count = rng.below(70);
        rows.reserve(count);
        for (std::size_t i = 0; i < count; ++i, ++next) {
          write_row(rows.push_back(), dim, type, next % 2000);
          model.push_back(next % 2000);
        }
      } else if (kind < 6) {
        const std::size_t count = rng.below(model.size() + 1);
        rows.pop_front(count);
        model.erase(model.begin(), model.begin() + static_cast<std::ptrdiff_t>(count));
      } else if (kind == 6) {
        const std::size_t count = rng.below(model.size() + 1);
        rows.truncate(count);
        model.resize(count);
      } else if (rng.below(20) == 0) {
        rows.clear();
        model.clear();
      }
      REQUIRE(rows.size() == model.size());
      REQUIRE(rows.used_bytes() == model.size() * dim * element_size(type));
      REQUIRE(rows.capacity_bytes() >= rows.used_bytes());
      std::size_t wrong = 0;
      for (std::size_t i = 0; i < model.size(); ++i) wrong += !is_row(rows.row(i), dim, type, model[i]);
      REQUIRE(wrong == 0);
    }
    if (const std::size_t n = model.size(); n > 2) {
      const RowsView view = rows.view(1, n - 1);
      CHECK(view.count == n - 1);
      CHECK(view.dim == dim);
      CHECK(view.type == type);
      CHECK(is_row(view.row(n - 2), dim, type, model.back()));
    }
  }
}

TEST_CASE("reserved room is used without moving the rows", "[storage]") {
  RawRows rows(4, ElementType::f16);
  rows.reserve(10);
  const std::byte* const first = rows.push_back();
  for (int i = 0; i < 9; ++i) rows.push_back();
  CHECK(rows.row(0) == first);
  CHECK(rows.size() == 10);
}

TEST_CASE("room at the front is used again: a sliding tail does not grow", "[storage]") {
  RawRows rows(4, ElementType::f32);
  rows.reserve(128);
  const std::size_t capacity = rows.capacity_bytes();
  for (int round = 0; round < 100; ++round) {
    rows.reserve(64);
    for (int i = 0; i < 64; ++i) rows.push_back();
    rows.pop_front(64);
  }
  CHECK(rows.capacity_bytes() == capacity);
}
