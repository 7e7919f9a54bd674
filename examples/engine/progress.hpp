// progress.hpp: a progress bar on stderr, drawn only where a person can see it.
#pragma once

#include <unistd.h>

#include <cstddef>
#include <cstdio>
#include <string>

namespace engine {

class Progress {
 public:
  explicit Progress(std::string label) : label_(std::move(label)), visible_(isatty(STDERR_FILENO) == 1) {}
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  ~Progress() {
    if (visible_) std::fputs("\r\x1b[K", stderr);  // leaves the line empty
  }

  void show(std::size_t done, std::size_t total) const {
    constexpr std::size_t width = 30;
    if (!visible_ || total == 0) return;
    const std::size_t filled = width * done / total;
    const std::string bar = std::string(filled, '#') + std::string(width - filled, '.');
    std::fprintf(stderr, "\r%-10s [%s] %zu/%zu", label_.c_str(), bar.c_str(), done, total);
    std::fflush(stderr);
  }

 private:
  std::string label_;
  bool visible_;
};

}  // namespace engine
