#include <tightkv/tightkv.hpp>

int first() { return TIGHTKV_VERSION_MAJOR; }
