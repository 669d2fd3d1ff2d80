#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

namespace weir {

/// Writes plain values and vectors of them one after another.
class Writer {
 public:
  template <class T>
    requires std::is_trivially_copyable_v<T>
  void put(const T& value) {
    const auto* bytes = reinterpret_cast<const std::byte*>(&value);
    data_.insert(data_.end(), bytes, bytes + sizeof(T));
  }
  template <class T>
    requires std::is_trivially_copyable_v<T>
  void put(const std::vector<T>& values) {
    put<std::uint64_t>(values.size());
    const auto* bytes = reinterpret_cast<const std::byte*>(values.data());
    data_.insert(data_.end(), bytes, bytes + values.size() * sizeof(T));
  }
  void put(const std::string& text) { put(std::vector<char>(text.begin(), text.end())); }

  [[nodiscard]] const std::vector<std::byte>& data() const noexcept { return data_; }

 private:
  std::vector<std::byte> data_;
};

/// Reads what a `Writer` wrote. After the first value that is not there, `ok` is false and all values are empty.
class Reader {
 public:
  explicit Reader(std::span<const std::byte> data) : data_{data} {}

  template <class T>
    requires std::is_trivially_copyable_v<T>
  T get() {
    T value{};
    if (take(sizeof(T))) std::memcpy(&value, data_.data() + at_ - sizeof(T), sizeof(T));
    return value;
  }
  template <class T>
    requires std::is_trivially_copyable_v<T>
  std::vector<T> vector() {
    const auto count = get<std::uint64_t>();
    if (!ok_ || count > (data_.size() - at_) / sizeof(T)) {
      ok_ = false;
      return {};
    }
    std::vector<T> values(count);
    if (count > 0) std::memcpy(values.data(), data_.data() + at_, count * sizeof(T));
    at_ += count * sizeof(T);
    return values;
  }
  std::string text() {
    const auto characters = vector<char>();
    return {characters.begin(), characters.end()};
  }
  template <class T>
  void get_to(T& value) {
    value = get<T>();
  }
  template <class T>
  void get_to(std::vector<T>& values) {
    values = vector<T>();
  }
  void get_to(std::string& value) { value = text(); }

  [[nodiscard]] bool ok() const noexcept { return ok_; }
  [[nodiscard]] std::uint64_t position() const noexcept { return at_; }
  [[nodiscard]] std::uint64_t remaining() const noexcept { return ok_ ? data_.size() - at_ : 0; }
  [[nodiscard]] bool at_end() const noexcept { return at_ == data_.size(); }

 private:
  bool take(std::size_t bytes) {
    if (!ok_ || bytes > data_.size() - at_) return ok_ = false;
    at_ += bytes;
    return true;
  }
  std::span<const std::byte> data_;
  std::size_t at_ = 0;
  bool ok_ = true;
};

}  // namespace weir
