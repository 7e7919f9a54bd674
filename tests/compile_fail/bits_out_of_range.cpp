// expect: tightkv: LloydMax<Bits> needs 1 to 8 bits per value
#include <tightkv/codebook/lloyd_max.hpp>

#if defined(BAD)
inline constexpr unsigned bits = 9;
#else
inline constexpr unsigned bits = 8;
#endif

tightkv::LloydMax<bits> codebook() { return tightkv::LloydMax<bits>(128); }
