#include "../cache.hpp"

std::uint64_t baseline_codes() { return packed_cache("k4v4") + packed_cache("paper4"); }
