#include "../cache.hpp"

std::uint64_t first();
int main() { return first() == packed_cache("k4v4") && first() != 0 ? 0 : 1; }
