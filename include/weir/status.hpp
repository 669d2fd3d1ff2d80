#pragma once

#include <cstdint>
#include <new>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>

namespace weir {

/// What kind of thing went wrong. A collective call returns the same code on every rank.
enum class Code : int {
  ok = 0,
  invalid,         ///< wrong use: the message says what to change
  mismatch,        ///< ranks called with different things
  settings,        ///< a setting has an unusable value
  finalized,       ///< called outside MPI_Init .. MPI_Finalize
  no_space,        ///< the file system is full
  quota,           ///< the user's quota is used up
  too_large,       ///< beyond the largest file allowed
  read_only,       ///< read-only file system
  access,          ///< permission denied
  not_found,       ///< no such file or directory
  exists,          ///< exists already, or is not a plain file
  too_many_files,  ///< no file descriptors or inodes left
  no_memory,
  end_of_file,     ///< read past the end
  corrupt,         ///< a file of ours does not hold what it should
  unsupported,     ///< built without it, or not possible here
  io,              ///< any other error of the storage
  internal,        ///< a bug in Weir
};

/// The code's name as written above: "no_space".
const char* name(Code code) noexcept;

/// The outcome of a call: a code, the bytes that were moved, and a message for people.
class [[nodiscard]] Status {
 public:
  Status() noexcept = default;
  Status(Code code, std::string message, std::uint64_t bytes = 0) noexcept
      : code_{code}, bytes_{bytes}, message_{std::move(message)} {}
  /// A copy for which there is no memory goes without the message.
  Status(const Status& other) noexcept : code_{other.code_}, bytes_{other.bytes_} { copy_message(other); }
  Status& operator=(const Status& other) noexcept {
    code_ = other.code_;
    bytes_ = other.bytes_;
    copy_message(other);
    return *this;
  }
  Status(Status&&) noexcept = default;
  Status& operator=(Status&&) noexcept = default;
  ~Status() = default;

  /// Success, with the bytes that it moved.
  static Status done(std::uint64_t bytes) noexcept {
    Status status;
    status.bytes_ = bytes;
    return status;
  }

  [[nodiscard]] bool ok() const noexcept { return code_ == Code::ok; }
  explicit operator bool() const noexcept { return ok(); }
  [[nodiscard]] Code code() const noexcept { return code_; }
  /// Bytes that reached the storage (write) or the ranks (read), summed over all ranks.
  [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }
  [[nodiscard]] const std::string& message() const noexcept { return message_; }

  /// Throws `Error` unless ok.
  void value() const;

 private:
  void copy_message(const Status& other) noexcept {
    try {
      message_ = other.message_;
    } catch (const std::bad_alloc&) {
      message_.clear();
    }
  }
  Code code_ = Code::ok;
  std::uint64_t bytes_ = 0;
  std::string message_;
};

/// What `value()` throws.
class Error : public std::runtime_error {
 public:
  explicit Error(const Status& status) : std::runtime_error{status.message()}, status_{status} {}
  [[nodiscard]] const Status& status() const noexcept { return status_; }

 private:
  Status status_;
};

inline void Status::value() const {
  if (!ok()) throw Error{*this};
}

/// A value, or the status that says why there is none.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : content_{std::in_place_index<0>, std::move(value)} {}
  Result(Status status) : content_{std::in_place_index<1>, std::move(status)} {}

  [[nodiscard]] bool ok() const noexcept { return content_.index() == 0; }
  explicit operator bool() const noexcept { return ok(); }
  [[nodiscard]] Status status() const noexcept { return ok() ? Status{} : *std::get_if<1>(&content_); }

  /// The value; throws `Error` when there is none.
  T& value() & { return check(), std::get<0>(content_); }
  T&& value() && { return check(), std::get<0>(std::move(content_)); }

  T& operator*() & { return std::get<0>(content_); }
  T&& operator*() && { return std::get<0>(std::move(content_)); }
  T* operator->() { return &std::get<0>(content_); }

 private:
  void check() const {
    if (!ok()) throw Error{std::get<1>(content_)};
  }
  std::variant<T, Status> content_;
};

}  // namespace weir
