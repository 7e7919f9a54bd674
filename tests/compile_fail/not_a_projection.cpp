// expect: tightkv: QJL<Projection>: the type does not model tightkv::Projection
#include <tightkv/projection/srht.hpp>
#include <tightkv/quantizer/qjl.hpp>
#include <tightkv/rotation/hadamard.hpp>

#if defined(BAD)
using Projection = tightkv::Hadamard;
#else
using Projection = tightkv::Srht;
#endif

std::size_t dim() { return tightkv::QJL<Projection>(128, 42).dim(); }
