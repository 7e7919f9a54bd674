#include "codes.hpp"

std::uint64_t baseline_codes() { return codes(); }
