// expect: V is no value codec. A sketch (QJL, TurboQuant) keeps inner products, not vectors
#include <tightkv/tightkv.hpp>

using Keys = tightkv::QJL<tightkv::Srht>;
#if defined(BAD)
using Values = tightkv::QJL<tightkv::Srht>;
#else
using Values = tightkv::PolarQuant<tightkv::Hadamard, tightkv::LloydMax<4> >;
#endif

std::size_t tokens() {
  return tightkv::KVCompressor<Keys, Values>(Keys(128, 42), Values(128, 43), {}).size();
}
