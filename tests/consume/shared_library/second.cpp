#include <tightkv/tightkv.hpp>

int first();
int main() { return first() - TIGHTKV_VERSION_MAJOR; }
