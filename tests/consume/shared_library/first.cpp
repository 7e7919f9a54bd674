#include "../cache.hpp"

std::uint64_t first() { return packed_cache("k4v4"); }
