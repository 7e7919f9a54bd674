// const members are reentrant: readers with a Workspace of their own see the same bits, and no data race.
#include "compressor/reference.hpp"

#include <thread>

#include "catch.hpp"

using namespace tightkv;
using namespace tightkv_test;

TEST_CASE("two threads attend, score and decode one cache with a workspace each", "[compressor]") {
  const Sequence s(200, 2, 3, 64, 64, 701);
  for (const char* const name : {"k4v4", "paper3"}) {
    AnyCompressor cache(preset(name, 64, 64), 2, 3);
    fill(cache, s, 200);
    const AnyCompressor& shared = cache;
    const auto expected = attend(shared, s.q.view(190, 10));
    std::vector<float> logits(200);
    Workspace workspace;
    REQUIRE(shared.try_score(1, {s.q.row(0, 1), 64}, logits, workspace).ok());
    const auto read = [&](int& differences) {
      Workspace own;
      std::vector<float> out(expected.size()), scores(200), row(64);
      for (int i = 0; i < 10; ++i) {
        const bool ok = shared.try_attend(s.q.view(190, 10), out.data(), {}, own).ok() &&
                        shared.try_score(1, {s.q.row(0, 1), 64}, scores, own).ok() &&
                        shared.try_decode_key(0, 70, row, own).ok() && !shared.report().empty();
        differences += !ok || !same_bits(out, expected) || !same_bits(scores, logits);
      }
    };
    int first = 0, second = 0;
    std::thread a(read, std::ref(first)), b(read, std::ref(second));
    a.join(), b.join();
    CHECK(first == 0);
    CHECK(second == 0);
  }
}
