#pragma once

#include <unistd.h>

#include <utility>

namespace weir {

/// Owns a file descriptor.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int descriptor) noexcept : descriptor_{descriptor} {}
  Descriptor(Descriptor&& other) noexcept : descriptor_{other.release()} {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }
  ~Descriptor() { reset(); }

  [[nodiscard]] int get() const noexcept { return descriptor_; }
  explicit operator bool() const noexcept { return descriptor_ >= 0; }
  int release() noexcept { return std::exchange(descriptor_, -1); }
  void reset() noexcept {
    if (const int old = release(); old >= 0) ::close(old);
  }

 private:
  int descriptor_ = -1;
};

}  // namespace weir
