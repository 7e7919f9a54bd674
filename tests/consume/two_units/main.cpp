// main: the baseline unit's answer; `main both`: both units' answers; `main native`: an instruction of the
// other unit.
#include <cinttypes>
#include <cstdio>
#include <cstring>

std::uint64_t baseline_codes();
std::uint64_t native_codes();
double native_instruction(double x);

int main(int argc, char** argv) {
  if (argc > 1 && std::strcmp(argv[1], "native") == 0) return native_instruction(argc) > 0 ? 0 : 1;
  const std::uint64_t baseline = baseline_codes();
  std::printf("%016" PRIx64 "\n", baseline);
  return argc > 1 && native_codes() != baseline ? 1 : 0;
}
