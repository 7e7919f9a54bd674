// storage/tail.hpp: the raw rows of a head: sinks, and the latest tokens until their block is full.
#pragma once

#include "../conditioner/mean.hpp"

namespace tightkv::inline TIGHTKV_ABI {

/// A queue of rows of one size in one piece of memory: pushed at the end, dropped at the front, cut at the
/// end.
class RawRows {
 public:
  RawRows(std::size_t dim, ElementType type) noexcept : dim_(dim), type_(type) {}

  std::size_t size() const noexcept { return count_; }
  std::size_t row_bytes() const noexcept { return dim_ * element_size(type_); }
  std::size_t used_bytes() const noexcept { return count_ * row_bytes(); }
  std::size_t capacity_bytes() const noexcept { return data_.capacity(); }
  const std::byte* row(std::size_t i) const noexcept { return data_.data() + (begin_ + i) * row_bytes(); }
  RowsView view(std::size_t first, std::size_t count) const noexcept {
    return {row(first), count, dim_, row_bytes(), type_};
  }
  ElementType type() const noexcept { return type_; }

  /// Room for `more` further rows, so that push_back does not allocate.
  void reserve(std::size_t more) {
    if ((begin_ + count_ + more) * row_bytes() <= data_.size()) return;
    compact();
    const std::size_t needed = (count_ + more) * row_bytes();
    if (needed <= data_.size()) return;
    // Room by eighths and of exactly that size: a tail stops growing soon, and its slack is memory that a
    // cache exists to save.
    Buffer<std::byte> larger;
    larger.reserve((std::max)(needed, data_.size() + data_.size() / 8));
    larger.resize(larger.capacity());
    if (count_ != 0) std::memcpy(larger.data(), data_.data(), used_bytes());
    data_ = std::move(larger);
  }

  /// The place of one more row; within the room that reserve() made.
  std::byte* push_back() noexcept { return data_.data() + (begin_ + count_++) * row_bytes(); }
  void pop_front(std::size_t n) noexcept { begin_ += n, count_ -= n; }
  void truncate(std::size_t n) noexcept { count_ = n; }
  void clear() noexcept { begin_ = count_ = 0; }

 private:
  void compact() noexcept {
    if (begin_ == 0) return;
    std::memmove(data_.data(), data_.data() + begin_ * row_bytes(), used_bytes());
    begin_ = 0;
  }

  std::size_t dim_;
  ElementType type_;
  Buffer<std::byte> data_;
  std::size_t begin_ = 0, count_ = 0;
};

}  // namespace tightkv::inline TIGHTKV_ABI
