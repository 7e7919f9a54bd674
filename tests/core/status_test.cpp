#include <tightkv/core/status.hpp>

#include "catch.hpp"

using namespace tightkv;

namespace {

Status needs_even(int n) {
  if (n % 2 != 0) return Status::failure(ErrorCode::invalid_argument, "n is ", n, "; it must be even");
  return {};
}

Status twice(int a, int b, int& calls) {
  TIGHTKV_TRY(needs_even(a));
  ++calls;
  TIGHTKV_TRY(needs_even(b));
  ++calls;
  return {};
}

}  // namespace

TEST_CASE("a status is ok, or a code and a sentence with the numbers", "[core]") {
  CHECK(Status().ok());
  CHECK(Status().message().empty());
  const Status bad = needs_even(-7);
  CHECK_FALSE(bad.ok());
  CHECK(bad.code() == ErrorCode::invalid_argument);
  CHECK(bad.message() == "n is -7; it must be even");
  CHECK(detail::join("a", std::string("b"), std::string_view("c"), 1u, std::size_t{18446744073709551615u}) ==
        "abc118446744073709551615");
}

TEST_CASE("TIGHTKV_TRY leaves at the first failure and hands it on", "[core]") {
  int calls = 0;
  CHECK(twice(2, 4, calls).ok());
  CHECK(calls == 2);
  calls = 0;
  CHECK(twice(2, 5, calls).message() == "n is 5; it must be even");
  CHECK(calls == 1);
  CHECK(twice(3, 5, calls).message() == "n is 3; it must be even");
}

#if TIGHTKV_HAS_EXCEPTIONS
TEST_CASE("throw_if_failed throws an Error with code and sentence", "[core]") {
  CHECK_NOTHROW(throw_if_failed(Status()));
  try {
    throw_if_failed(needs_even(1));
    FAIL("nothing thrown");
  } catch (const Error& e) {
    CHECK(e.code() == ErrorCode::invalid_argument);
    CHECK(std::string(e.what()) == "n is 1; it must be even");
  }
}
#endif
