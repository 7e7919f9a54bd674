// kernel/simd/neon.hpp: vector operations of 64-bit ARM, with the dot products of ARMv8.2 and without.
#pragma once

#include <cstring>

#include "../kernels.hpp"
#include "../region.hpp"
#if defined(__aarch64__)
#include <arm_neon.h>

#if defined(__clang__)
#define TIGHTKV_DOTPROD_TARGET "dotprod"
#else
#define TIGHTKV_DOTPROD_TARGET "arch=armv8.2-a+dotprod"
#endif

namespace tightkv::inline TIGHTKV_ABI::kernel {

/// What both have in common; every 64-bit ARM CPU runs it.
namespace neon_operations {

using vec = uint8x16_t;  // 4 lanes of 32 bits: a quarter of a 64-byte word
inline constexpr std::size_t vec_bytes = 16;
inline constexpr int score_bias = 0;  // scores are computed from the signed levels

inline vec load(const void* from) noexcept { return vld1q_u8(static_cast<const std::uint8_t*>(from)); }
inline void store(void* to, vec v) noexcept { vst1q_u8(static_cast<std::uint8_t*>(to), v); }
inline vec zero() noexcept { return vdupq_n_u8(0); }
inline vec broadcast4(const void* four_bytes) noexcept {
  std::uint32_t word;
  std::memcpy(&word, four_bytes, 4);
  return vreinterpretq_u8_u32(vdupq_n_u32(word));
}
template <int N>
inline vec left(vec v) noexcept {
  return reinterpret_cast<vec>(reinterpret_cast<uint16x8_t>(v) << N);
}
template <int N>
inline vec right(vec v) noexcept {
  return reinterpret_cast<vec>(reinterpret_cast<uint16x8_t>(v) >> N);
}
template <int N>
inline vec left32(vec v) noexcept {
  return reinterpret_cast<vec>(reinterpret_cast<uint32x4_t>(v) << N);
}
template <int N>
inline vec right32(vec v) noexcept {
  return reinterpret_cast<vec>(reinterpret_cast<uint32x4_t>(v) >> N);
}
inline vec mask32(vec v, std::int32_t mask) noexcept {
  return vandq_u8(v, vreinterpretq_u8_s32(vdupq_n_s32(mask)));
}
inline vec either(vec a, vec b) noexcept { return vorrq_u8(a, b); }
/// Per byte: bits of a where Mask is set, of b elsewhere.
template <int Mask>
inline vec select(vec a, vec b) noexcept {
  return vbslq_u8(vdupq_n_u8(Mask), a, b);
}
inline vec xor3(vec a, vec b, vec c) noexcept { return veorq_u8(veorq_u8(a, b), c); }
inline vec add32(vec a, vec b) noexcept {
  return vreinterpretq_u8_s32(vaddq_s32(vreinterpretq_s32_u8(a), vreinterpretq_s32_u8(b)));
}
inline vec subtract32(vec v, std::int32_t n) noexcept {
  return vreinterpretq_u8_s32(vsubq_s32(vreinterpretq_s32_u8(v), vdupq_n_s32(n)));
}
inline vec subtract8(vec v, int n) noexcept { return vsubq_u8(v, vdupq_n_u8(static_cast<std::uint8_t>(n))); }

/// The half word of a 1-bit key plane: 2 bytes a lane become 4, codes at the even bits.
inline vec load_half_word(const void* from) noexcept {
  const uint8x8_t half = vld1_u8(static_cast<const std::uint8_t*>(from));
  const vec w = vreinterpretq_u8_u32(vmovl_u16(vreinterpret_u16_u8(half)));
  return mask32(either(w, left32<15>(w)), 0x55555555);
}

/// Lanes moved up by one: lane i of the result is lane i - 1 of the 64-byte word, lane 0 of part 0 is 0.
inline vec load_next_lane(const std::byte* word, std::size_t part) noexcept {
  return part > 0 ? load(word - 4) : vextq_u8(zero(), load(word), 12);
}

inline const void* score_table(const LevelPlan& plan) noexcept { return plan.level.data(); }
inline const void* value_table(const LevelPlan& plan) noexcept { return plan.level.data(); }

/// A table of up to 256 bytes, 16 to a register, up to four registers to a tbl; an index that is out of range
/// leaves a tbx without effect. look_up ignores index bits above the table's size.
template <unsigned Entries>
struct Table {
  static constexpr unsigned parts = Entries <= 16 ? 1 : Entries / 16;
  vec part[parts];

  /// From a plan's table of 256 entries, which repeat.
  explicit Table(const void* entries) noexcept {
    for (std::size_t i = 0; i < parts; ++i) part[i] = load(static_cast<const std::byte*>(entries) + 16 * i);
  }

  vec look_up(vec index) const noexcept {
    if constexpr (parts < 16) index = vandq_u8(index, vdupq_n_u8(16 * parts - 1));
    if constexpr (parts == 1) {
      return vqtbl1q_u8(part[0], index);
    } else if constexpr (parts == 2) {
      return vqtbl2q_u8({{part[0], part[1]}}, index);
    } else {
      vec found = vqtbl4q_u8({{part[0], part[1], part[2], part[3]}}, index);
#pragma GCC unroll 4
      for (unsigned i = 4; i < parts; i += 4)
        found = vqtbx4q_u8(found, {{part[i], part[i + 1], part[i + 2], part[i + 3]}},
                           vsubq_u8(index, vdupq_n_u8(static_cast<std::uint8_t>(16 * i))));
      return found;
    }
  }
};

/// to[lane] += unit * sum
inline void add_scaled(float unit, int32x4_t sum, float* to) noexcept {
  vst1q_f32(to, vfmaq_f32(vld1q_f32(to), vdupq_n_f32(unit), vcvtq_f32_s32(sum)));
}

// --- floats, for kernel/simd/rows.inc

using fvec = float32x4_t;
inline constexpr std::size_t floats = 4;  ///< of a fvec

inline fvec load_floats(const float* from) noexcept { return vld1q_f32(from); }
inline void store_floats(float* to, fvec v) noexcept { vst1q_f32(to, v); }
inline fvec all(float x) noexcept { return vdupq_n_f32(x); }
inline fvec multiply_add(fvec a, fvec b, fvec c) noexcept { return vfmaq_f32(c, a, b); }
inline fvec maximum(fvec a, fvec b) noexcept { return vmaxq_f32(a, b); }
inline float first_of(fvec v) noexcept { return vgetq_lane_f32(v, 0); }
inline float sum_of(fvec v) noexcept { return vaddvq_f32(v); }
inline float largest_of(fvec v) noexcept { return vmaxvq_f32(v); }
inline fvec nearest_integer(fvec v) noexcept { return vrndnq_f32(v); }
/// p 2^n, n a whole number in [-126, 0]
inline fvec times_power_of_two(fvec p, fvec n) noexcept {
  const int32x4_t exponent = vaddq_s32(vcvtq_s32_f32(n), vdupq_n_s32(127));
  return vmulq_f32(p, vreinterpretq_f32_u8(left32<23>(vreinterpretq_u8_s32(exponent))));
}
/// v where s > limit, 0 elsewhere
inline fvec where_above(fvec s, fvec limit, fvec v) noexcept {
  return vreinterpretq_f32_u32(vandq_u32(vcgtq_f32(s, limit), vreinterpretq_u32_f32(v)));
}
/// 2 or 4 bytes a value of a raw row as floats.
template <ElementType Type>
inline fvec load_row(const std::byte* row, std::size_t i) noexcept {
  if constexpr (Type == ElementType::f32) {
    return vreinterpretq_f32_u8(load(row + 4 * i));
  } else {
    const uint8x8_t half = vld1_u8(reinterpret_cast<const std::uint8_t*>(row + 2 * i));
    if constexpr (Type == ElementType::f16)
      return vcvt_f32_f16(vreinterpret_f16_u8(half));
    else
      return vreinterpretq_f32_u32(vshll_n_u16(vreinterpret_u16_u8(half), 16));
  }
}
/// Whole parts of v, at most 65535, as two bytes each.
inline void store_bytes(fvec v, std::uint8_t* high, std::uint8_t* low) noexcept {
  const uint16x4_t code = vqmovn_u32(vcvtq_u32_f32(v));
  const uint8x8_t both = vuzp1_u8(vreinterpret_u8_u16(code), vreinterpret_u8_u16(vshr_n_u16(code, 8)));
  std::uint8_t bytes[8];  // low bytes, high bytes
  vst1_u8(bytes, both);
  std::memcpy(low, bytes, 4);
  std::memcpy(high, bytes + 4, 4);
}

}  // namespace neon_operations

/// Dot products by widening multiplications.
namespace on_neon {
using namespace neon_operations;

/// acc += level . q over the 4 bytes of a lane. Pairs are added in 16 bits: |level| <= 128, |q| <= 127 give
/// at most 32,512.
inline vec score_dot(vec acc, vec levels, vec q) noexcept {
  const int8x16_t a = vreinterpretq_s8_u8(levels), b = vreinterpretq_s8_u8(q);
  const int16x8_t first = vmull_s8(vget_low_s8(a), vget_low_s8(b)), second = vmull_high_s8(a, b);
  return vreinterpretq_u8_s32(vpadalq_s16(vreinterpretq_s32_u8(acc), vpaddq_s16(first, second)));
}

/// Levels of the lanes 0 and 1, and of 2 and 3, in 16 bits.
struct WideLevels {
  int16x8_t first, second;
};

/// The sum of all levels of a lane, for all queries: what w - 32768 leaves out. 64 levels stay within 16
/// bits.
struct LevelTotals {
  int16x8_t first, second;

  LevelTotals() noexcept : first(vdupq_n_s16(0)), second(vdupq_n_s16(0)) {}
  void add(const WideLevels& levels) noexcept {
    first = vaddq_s16(first, levels.first), second = vaddq_s16(second, levels.second);
  }
};

/// The weights of one query for a block as signed 16 bits, w - 32768.
struct BlockWeights {
  std::int16_t w[layout::block_tokens];

  void assign(const WeightCode& code) noexcept {
    for (std::size_t t = 0; t < layout::block_tokens; ++t)
      w[t] = static_cast<std::int16_t>(256 * (code.high[t] - 128) + code.low[t]);
  }
};

/// Sums of 16-bit weights times signed levels: one register a lane, one of its lanes a token of four.
struct WeightedSum {
  int32x4_t sum[4];

  WeightedSum() noexcept { sum[0] = sum[1] = sum[2] = sum[3] = vdupq_n_s32(0); }

  static WideLevels prepare(vec levels) noexcept {
    const int8x16_t l = vreinterpretq_s8_u8(levels);
    return {vmovl_s8(vget_low_s8(l)), vmovl_high_s8(l)};
  }
  void add(const WideLevels& levels, const BlockWeights& weights, std::size_t token) noexcept {
    const int16x4_t w = vld1_s16(weights.w + token);
    sum[0] = vmlal_s16(sum[0], vget_low_s16(levels.first), w);
    sum[1] = vmlal_s16(sum[1], vget_high_s16(levels.first), w);
    sum[2] = vmlal_s16(sum[2], vget_low_s16(levels.second), w);
    sum[3] = vmlal_s16(sum[3], vget_high_s16(levels.second), w);
  }
  /// to[lane] += unit * (sum + 32768 total)
  void finish(float unit, const LevelTotals& totals, float* to) const noexcept {
    const int32x4_t lanes = vpaddq_s32(vpaddq_s32(sum[0], sum[1]), vpaddq_s32(sum[2], sum[3]));
    const int32x4_t total = vpaddlq_s16(vpaddq_s16(totals.first, totals.second));
    add_scaled(unit, vmlaq_n_s32(lanes, total, 32768), to);
  }
};

}  // namespace on_neon

TIGHTKV_TARGET_BEGIN(TIGHTKV_DOTPROD_TARGET)
/// Dot products by sdot.
namespace on_neon_dotprod {
using namespace neon_operations;

/// acc += level . q over the 4 bytes of a lane.
inline vec score_dot(vec acc, vec levels, vec q) noexcept {
  return vreinterpretq_u8_s32(
      vdotq_s32(vreinterpretq_s32_u8(acc), vreinterpretq_s8_u8(levels), vreinterpretq_s8_u8(q)));
}

/// The sum of all levels of a lane, for all queries: what signed weights leave out.
struct LevelTotals {
  vec total;

  LevelTotals() noexcept : total(zero()) {}
  void add(vec levels) noexcept { total = score_dot(total, levels, vdupq_n_u8(1)); }
};

/// The weights of one query for a block in two signed planes: high - 128 and low - 128.
struct BlockWeights {
  std::uint8_t high[layout::block_tokens], low[layout::block_tokens];

  void assign(const WeightCode& code) noexcept {
    for (std::size_t t = 0; t < layout::block_tokens; ++t) {
      high[t] = static_cast<std::uint8_t>(code.high[t] ^ 128);
      low[t] = static_cast<std::uint8_t>(code.low[t] ^ 128);
    }
  }
};

/// Sums of 16-bit weights times signed levels: two planes.
struct WeightedSum {
  vec high, low;

  WeightedSum() noexcept : high(zero()), low(zero()) {}

  static vec prepare(vec levels) noexcept { return levels; }
  void add(vec levels, const BlockWeights& weights, std::size_t token) noexcept {
    high = score_dot(high, levels, broadcast4(weights.high + token));
    low = score_dot(low, levels, broadcast4(weights.low + token));
  }
  /// to[lane] += unit * (256 high + low + 128 * 257 total)
  void finish(float unit, const LevelTotals& totals, float* to) const noexcept {
    const int32x4_t sum = vreinterpretq_s32_u8(add32(left32<8>(high), low));
    add_scaled(unit, vmlaq_n_s32(sum, vreinterpretq_s32_u8(totals.total), 128 * 257), to);
  }
};

}  // namespace on_neon_dotprod
TIGHTKV_TARGET_END
}  // namespace tightkv::inline TIGHTKV_ABI::kernel
#endif
