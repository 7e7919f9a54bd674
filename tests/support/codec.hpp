// support/codec.hpp: a vector through one codec, without a cache: encode, read back, score.
#pragma once

#include <tightkv/kernel/query.hpp>

#include <span>
#include <vector>

namespace tightkv_test {

/// A float vector as a codec gets it: one exact conversion to integers with a common exponent.
class Input {
 public:
  explicit Input(std::span<const float> values) : row_(values.begin(), values.end()), x_(values.size()) {
    int above = -1000;
    for (const float v : values)
      above = std::max(above, tightkv::fixed::exponent_above(std::bit_cast<std::uint32_t>(v)));
    unit_ = above == -1000 ? 0 : above - 31;
    std::vector<std::int64_t> wide;
    for (const float v : values)
      wide.push_back(tightkv::fixed::from_float_bits(std::bit_cast<std::uint32_t>(v), unit_));
    unit_ += tightkv::detail::normalise(wide, x_, values.size());
  }

  /// Encoding uses up the integers: one Input, one encode.
  tightkv::VectorInput get() {
    return {x_, unit_, reinterpret_cast<const std::byte*>(row_.data()), tightkv::ElementType::f32};
  }
  const std::vector<std::int32_t>& integers() const { return x_; }
  int exponent() const { return unit_; }

 private:
  std::vector<float> row_;
  std::vector<std::int32_t> x_;
  int unit_ = 0;
};

/// A record and what a block would hand back of it.
struct Encoded {
  tightkv::Record record;
  std::vector<std::int8_t> levels;
  std::vector<float> scales;

  tightkv::RecordView view() const { return {levels, record.signs, scales, record.raw.data()}; }
};

template <class C>
void encode_into(const C& codec, std::span<const float> x, Encoded& out) {
  out.record.resize(codec.shape());
  Input input(x);
  codec.encode(input.get(), out.record);
  out.levels.resize(out.record.codes.size());
  codec.levels(out.record.codes, out.levels);
  out.scales.clear();
  for (const tightkv::fixed::Scale s : out.record.scales) out.scales.push_back(tightkv::fixed::to_float(s));
}

template <class C>
Encoded encode(const C& codec, std::span<const float> x) {
  Encoded out;
  encode_into(codec, x, out);
  return out;
}

template <class C>
std::vector<float> decode(const C& codec, const Encoded& e) {
  std::vector<float> out(codec.dim());
  codec.decode(e.view(), out);
  return out;
}

template <class C>
float score(const C& codec, std::span<const float> q, const Encoded& e,
            tightkv::Arithmetic arithmetic = tightkv::Arithmetic::exact) {
  tightkv::PreparedQuery prepared;
  codec.prepare(q, prepared);
  return codec.score(prepared, e.view(), arithmetic);
}

}  // namespace tightkv_test
