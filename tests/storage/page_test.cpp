#include <tightkv/storage/page.hpp>

#include <cstring>
#include <vector>

#include "catch.hpp"

using namespace tightkv;

namespace {

/// Hands out memory full of 0xff, a limited number of times, and counts what is out.
struct CountingPages {
  std::size_t left = 3, held = 0, released = 0;
  HeapPages heap;

  std::byte* allocate(std::size_t size) noexcept {
    if (left == 0) return nullptr;
    --left, held += size;
    std::byte* page = heap.allocate(size);
    std::memset(page, 0xff, size);
    return page;
  }
  void release(std::byte* page, std::size_t size) noexcept {
    held -= size, ++released;
    heap.release(page, size);
  }
};

}  // namespace

TEST_CASE("a page is zeroed, aligned, and goes back with its size", "[storage]") {
  CountingPages source;
  {
    const Page<CountingPages> page(source, 192);
    REQUIRE(page.data() != nullptr);
    CHECK(reinterpret_cast<std::uintptr_t>(page.data()) % 64 == 0);
    CHECK(page.size() == 192);
    CHECK(std::vector<std::byte>(page.data(), page.data() + 192) == std::vector<std::byte>(192));
    CHECK(source.held == 192);
  }
  CHECK(source.held == 0);
}

TEST_CASE("an exhausted source gives a page without data, which gives nothing back", "[storage]") {
  CountingPages source{.left = 1, .heap = {}};
  {
    const Page<CountingPages> first(source, 64), second(source, 64);
    CHECK(first.data() != nullptr);
    CHECK(second.data() == nullptr);
  }
  CHECK(source.released == 1);
}

TEST_CASE("a moved page is released once, by whoever holds it last", "[storage]") {
  CountingPages source;
  {
    Page<CountingPages> a(source, 64), b(source, 128), empty;
    std::byte* const first = a.data();
    Page<CountingPages> c(std::move(a));
    CHECK(c.data() == first);
    b = std::move(c);
    CHECK(b.data() == first);
    CHECK(b.size() == 64);
    b = std::move(empty);
    Page<CountingPages>& self = b;
    b = std::move(self);
  }
  CHECK(source.held == 0);
  CHECK(source.released == 2);
}
