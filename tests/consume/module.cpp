// In a global module fragment, as a program that is itself a module includes the library.
module;
#include <tightkv/tightkv.hpp>
export module consumer;

export template <class T>
int version_of(T) {
  return TIGHTKV_VERSION_MAJOR;
}
