// expect: tightkv: this backend is not included
#include <tightkv/tightkv.hpp>

#if defined(BAD)
using Backend = tightkv::backend::hip;
#else
using Backend = tightkv::backend::cpu;
#endif

tightkv::Status run(Backend& backend, const tightkv::AnyCompressor& cache, const tightkv::TensorView& q,
                    float* out) {
  return tightkv::attend(backend, cache, q, out, tightkv::AttendParams{});
}
