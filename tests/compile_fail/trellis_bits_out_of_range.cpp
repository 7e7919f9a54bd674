// expect: tightkv: Trellis<Bits> needs 2 to 5 bits per value
#include <tightkv/codebook/trellis.hpp>

#if defined(BAD)
inline constexpr unsigned bits = 6;
#else
inline constexpr unsigned bits = 5;
#endif

tightkv::Trellis<bits> codebook() { return tightkv::Trellis<bits>(128); }
