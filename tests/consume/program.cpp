// The program that every consumer builds.
#include <tightkv/tightkv.hpp>

#include <cstdio>

int main() {
  std::printf("tightkv %d.%d.%d\n", TIGHTKV_VERSION_MAJOR, TIGHTKV_VERSION_MINOR, TIGHTKV_VERSION_PATCH);
  return 0;
}
