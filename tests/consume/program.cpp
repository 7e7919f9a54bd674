// The program that every consumer builds.
#include "cache.hpp"

#include <cstdio>

int main() {
  if (packed_cache("k4v4") == 0) return 1;
  std::printf("tightkv %d.%d.%d\n", TIGHTKV_VERSION_MAJOR, TIGHTKV_VERSION_MINOR, TIGHTKV_VERSION_PATCH);
  return 0;
}
