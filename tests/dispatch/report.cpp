// report: says which kernels this process chose, and attends with them. `report NAME`: runs that table's
// softmax even if this CPU lacks it.
#include <tightkv/kernel/dispatch.hpp>
#if defined(WITH_XSIMD)
#include <tightkv/kernel/xsimd.hpp>
#endif

#include "../consume/cache.hpp"

#include <cinttypes>
#include <cstdio>
#include <string_view>

int main(int argc, char** argv) {
  if (argc > 1) {
    for (const tightkv::kernel::Candidate& c : tightkv::kernel::candidates())
      if (std::string_view(argv[1]) == c.table->name) {
        float logits[64] = {}, maximum = 0, mass = 0;
        c.table->softmax(logits, maximum, mass);
        return mass == 64 ? 0 : 1;
      }
    return 1;
  }
  std::printf("%s\n", tightkv::kernel::isa_report().c_str());
  try {
    const std::uint64_t bytes = packed_cache("k4v4");
    std::printf("bytes %016" PRIx64 "\n", bytes);
    return bytes == 0;
  } catch (const tightkv::Error& e) {
    std::printf("refused: %s\n", e.what());
    return 3;
  }
}
