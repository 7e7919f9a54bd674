// The same templates as in baseline.cpp; the inline namespace must keep the two apart.
#include "../cache.hpp"

std::uint64_t native_codes() { return packed_cache("k4v4") + packed_cache("paper4"); }

// An instruction of this unit's own flags, for the control: an old CPU must refuse it.
double native_instruction(double x) { return std::fma(x, x, 1.0); }
