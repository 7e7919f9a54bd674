// Names that widespread system headers define as macros. Standard headers first: they are not ours to
// protect.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cassert>
#include <cfloat>
#include <charconv>
#include <cmath>
#include <complex>
#include <concepts>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <exception>
#include <filesystem>
#include <fstream>
#include <functional>
#include <initializer_list>
#include <iomanip>
#include <iostream>
#include <iterator>
#include <limits>
#include <list>
#include <map>
#include <memory>
#include <memory_resource>
#include <mutex>
#include <new>
#include <numbers>
#include <numeric>
#include <optional>
#include <ostream>
#include <random>
#include <ranges>
#include <set>
#include <shared_mutex>
#include <source_location>
#include <span>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <tuple>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>
#include <version>
#if defined(__x86_64__)
#include <immintrin.h>
#endif
#if __has_include(<sys/auxv.h>)
#include <sys/auxv.h>
#endif
#if __has_include(<nlohmann/json.hpp>)
#include <nlohmann/json.hpp>
#endif
#if __has_include(<Eigen/Dense>)
#include <Eigen/Dense>
#endif
#if __has_include(<xsimd/xsimd.hpp>)
#include <xsimd/xsimd.hpp>
#endif

#define min(a, b) ((a) < (b) ? (a) : (b))
#define max(a, b) ((a) > (b) ? (a) : (b))
#define near nonsense_near nonsense
#define far nonsense_far nonsense
#define small nonsense_small nonsense
#define interface nonsense_interface nonsense
#define ERROR nonsense_error nonsense
#define IN nonsense_in nonsense
#define OUT nonsense_out nonsense
#define DOMAIN nonsense_domain nonsense
#define OVERFLOW nonsense_overflow nonsense
#define I nonsense_i nonsense
#define minor(dev) nonsense_minor nonsense
#define major(dev) nonsense_major nonsense
