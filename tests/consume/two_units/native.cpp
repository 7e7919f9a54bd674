#include "codes.hpp"

#include <cmath>

std::uint64_t native_codes() { return codes(); }

// An instruction of this unit's own flags, for the control: an old CPU must refuse it.
double native_instruction(double x) { return std::fma(x, x, 1.0); }
