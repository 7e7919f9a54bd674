// kernels.cpp: the kernels of all instruction sets, compiled once for all test files.
#include <tightkv/kernel/candidates.hpp>
