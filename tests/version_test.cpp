#include <tightkv/version.hpp>

#include "catch.hpp"

#define TIGHTKV_TEXT_(x) #x
#define TIGHTKV_TEXT(x) TIGHTKV_TEXT_(x)

TEST_CASE("CMake's version is the one in the header", "[version]") {
  const std::string header = TIGHTKV_TEXT(TIGHTKV_VERSION_MAJOR) "." TIGHTKV_TEXT(
      TIGHTKV_VERSION_MINOR) "." TIGHTKV_TEXT(TIGHTKV_VERSION_PATCH);
  CHECK(header == TIGHTKV_PROJECT_VERSION);
}

TEST_CASE("the inline namespace tells this unit's version, instruction set and error model", "[version]") {
  const std::string abi = TIGHTKV_TEXT(TIGHTKV_ABI);
  CAPTURE(abi);
  CHECK(abi.rfind("v" TIGHTKV_TEXT(TIGHTKV_VERSION_MAJOR) "_" TIGHTKV_TEXT(TIGHTKV_VERSION_MINOR) "_", 0) ==
        0);
  CHECK(abi.find(TIGHTKV_HAS_EXCEPTIONS ? "_throws" : "_nothrow") != std::string::npos);
}
