#include <tightkv/kernel/dispatch.hpp>

#include "catch.hpp"

using namespace tightkv::kernel;

namespace {

Kernels named(const char* name) {
  Kernels k{};
  k.name = name;
  return k;
}

}  // namespace

TEST_CASE("The best available kernels are chosen, or the ones that are named", "[dispatch]") {
  const Kernels best = named("best"), good = named("good"), plain = named("plain");
  const Candidate all[] = {{&best, false}, {&good, true}, {&plain, true}};
  CHECK(choose(all, nullptr).kernels == &good);
  CHECK(choose(all, nullptr).forced == nullptr);
  CHECK(choose(all, "").kernels == &good);
  CHECK(choose(all, "plain").kernels == &plain);
  for (const char* name : {"best", "other", "goo", "good ", "GOOD"}) {
    CHECK(choose(all, name).kernels == nullptr);
    CHECK(choose(all, name).forced == name);
  }
}

TEST_CASE("Candidates are complete tables with names of their own, scalar last", "[dispatch]") {
  const auto all = candidates();
  REQUIRE_FALSE(all.empty());
  CHECK(all.back().table == &on_scalar::table);
  CHECK(all.back().available);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Kernels& k = *all[i].table;
    CAPTURE(k.name);
    CHECK((k.score && k.accumulate && k.softmax && k.weigh && k.dot_rows && k.add_rows && k.widen &&
           k.multiply));
    for (std::size_t j = 0; j < i; ++j) CHECK(std::string_view(k.name) != all[j].table->name);
  }
}
