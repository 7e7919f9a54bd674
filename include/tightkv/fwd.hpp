// fwd.hpp: names without definitions, for headers that only pass tightkv types along.
#pragma once

#include "version.hpp"

namespace tightkv::inline TIGHTKV_ABI {

struct Format;
struct CodecFormat;
struct TensorView;
struct AttendParams;
struct Workspace;
struct CacheBytes;
class Status;
class AnyCompressor;
class AnyKeyCodec;
class AnyValueCodec;
class Identity;
class Haar;
class Hadamard;
class Matrix;
class Gaussian;
class Orthogonal;
class Srht;

}  // namespace tightkv::inline TIGHTKV_ABI
