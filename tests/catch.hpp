// catch.hpp: Catch2, version 2 or 3, and a visible skip for both.
#pragma once

#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
#else
#include <catch2/catch.hpp>
#endif

#include <sstream>
#include <string>

namespace tightkv_test {

/// Prints "SKIPPED: test: why" and counts the running test case as skipped, once. Defined in main.cpp.
void skip(const std::string& why);

}  // namespace tightkv_test

/// Leaves the test case: TIGHTKV_SKIP("this CPU lacks " << name). Catch2 v2 has no SKIP of its own.
#define TIGHTKV_SKIP(message)                    \
  do {                                           \
    std::ostringstream tightkv_skip_text;        \
    tightkv_skip_text << message;                \
    tightkv_test::skip(tightkv_skip_text.str()); \
    return;                                      \
  } while (false)
