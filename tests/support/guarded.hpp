// support/guarded.hpp: buffers between pages that nobody may touch: a read or write outside is a crash.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <new>
#include <span>

namespace tightkv_test {

/// Which end of the buffer lies at a forbidden page.
enum class Guard { behind, before };

/// `count` values of T, as bytes may lie: `shift` bytes away from the guarded end.
template <class T>
class Guarded {
 public:
  explicit Guarded(std::size_t count, Guard guard = Guard::behind, std::size_t shift = 0) : count_(count) {
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    const std::size_t bytes = count * sizeof(T), inside = (bytes + shift + page - 1) / page * page;
    size_ = inside + 2 * page;
    void* const all = mmap(nullptr, size_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (all == MAP_FAILED) throw std::bad_alloc();
    all_ = static_cast<std::byte*>(all);
    if (mprotect(all_ + page, inside, PROT_READ | PROT_WRITE) != 0) throw std::bad_alloc();
    at_ = guard == Guard::before ? all_ + page + shift : all_ + page + inside - bytes - shift;
  }
  Guarded(const Guarded&) = delete;
  Guarded& operator=(const Guarded&) = delete;
  ~Guarded() { munmap(all_, size_); }

  T* data() { return reinterpret_cast<T*>(at_); }
  std::byte* bytes() { return at_; }
  std::size_t size() const { return count_; }
  T& operator[](std::size_t i) { return data()[i]; }
  T* begin() { return data(); }
  T* end() { return data() + count_; }

 private:
  std::byte* all_ = nullptr;
  std::byte* at_ = nullptr;
  std::size_t size_ = 0, count_ = 0;
};

}  // namespace tightkv_test
