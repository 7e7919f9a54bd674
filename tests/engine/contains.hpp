// contains.hpp: the substring matcher under one name for Catch2 version 2 and 3.
#pragma once

#include <string>

#include "../catch.hpp"

namespace engine_test {

inline auto contains(const std::string& part) {
#if CATCH_VERSION_MAJOR >= 3
  return Catch::Matchers::ContainsSubstring(part);
#else
  return Catch::Matchers::Contains(part);
#endif
}

}  // namespace engine_test
