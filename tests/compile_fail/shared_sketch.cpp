// expect: K must be a value codec too, for example Split<PolarQuant<...>>
#include <tightkv/tightkv.hpp>

#if defined(BAD)
using Latent = tightkv::QJL<tightkv::Srht>;
#else
using Latent = tightkv::PolarQuant<tightkv::Hadamard, tightkv::LloydMax<4> >;
#endif

std::size_t tokens() { return tightkv::SharedKV<Latent>(Latent(128, 42), tightkv::SharedValue{}, {}).size(); }
