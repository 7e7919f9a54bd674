// storage/page.hpp: 64-byte aligned storage from a caller's source.
#pragma once

#include <new>
#include <utility>

#include "../core/concepts.hpp"

namespace tightkv::inline TIGHTKV_ABI {

/// The default source: the heap.
struct HeapPages {
  std::byte* allocate(std::size_t size) noexcept {
    return static_cast<std::byte*>(::operator new (size, std::align_val_t{64}, std::nothrow));
  }
  void release(std::byte* page, std::size_t) noexcept { ::operator delete (page, std::align_val_t{64}); }
};

static_assert(PageSource<HeapPages>);

/// One page, given back to its source when it goes.
template <PageSource Source>
class Page {
 public:
  Page() noexcept = default;
  /// Zeroed; data() is nullptr if the source is exhausted.
  Page(Source& source, std::size_t size) noexcept
      : source_(&source), data_(source.allocate(size)), size_(size) {
    if (data_) std::memset(data_, 0, size);
  }
  Page(Page&& other) noexcept
      : source_(other.source_), data_(std::exchange(other.data_, nullptr)), size_(other.size_) {}
  Page& operator=(Page&& other) noexcept {
    std::swap(source_, other.source_);
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~Page() {
    if (data_) source_->release(data_, size_);
  }

  std::byte* data() noexcept { return data_; }
  const std::byte* data() const noexcept { return data_; }
  std::size_t size() const noexcept { return size_; }

 private:
  Source* source_ = nullptr;
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace tightkv::inline TIGHTKV_ABI
