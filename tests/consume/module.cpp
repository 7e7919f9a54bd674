// In a global module fragment, as a program that is itself a module includes the library.
module;
#include <tightkv/tightkv.hpp>
export module consumer;

export template <class T>
T bytes_of(T dim) {
  const tightkv::PolarQuant<tightkv::Hadamard, tightkv::LloydMax<4>> codec(dim, 42);
  return codec.shape().bytes_per_vector();
}
