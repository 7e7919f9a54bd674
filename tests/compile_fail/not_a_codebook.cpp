// expect: tightkv: PolarQuant<Rotation, Codebook, Scale>: the second type does not model tightkv::Codebook
#include <tightkv/codebook/lloyd_max.hpp>
#include <tightkv/quantizer/polar_quant.hpp>
#include <tightkv/rotation/hadamard.hpp>

#if defined(BAD)
using Codebook = tightkv::Hadamard;  // the policies in the wrong order
#else
using Codebook = tightkv::LloydMax<4>;
#endif

std::size_t dim() { return tightkv::PolarQuant<tightkv::Hadamard, Codebook>(128, 42).dim(); }
