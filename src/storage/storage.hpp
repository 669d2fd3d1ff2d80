#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <weir/status.hpp>

#include "machine/storage_traits.hpp"

namespace weir {

/// One transfer between memory and a file. The caller owns it and the memory until `finished`.
///
/// Where `parts` has some, they are the memory instead of `data`, one after another, `length` bytes together and none
/// of them empty; what has moved is taken from their beginning.
struct Io {
  enum class Kind : std::uint8_t { read, write };
  Kind kind = Kind::write;
  std::byte* data = nullptr;
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
  std::span<iovec> parts = {};
  static constexpr std::size_t most_parts = 1024;

  std::uint64_t done = 0;  ///< bytes moved; less than `length` only after an error or at the end of the file
  int error = 0;           ///< errno, 0 when none; a read past the end has none and is short
  bool finished = false;
};

/// Stands before every raw call that moves bytes, so that tests can make it short or fail.
class TransferHook {
 public:
  virtual ~TransferHook() = default;
  /// May lessen the `length` that the call is going to ask for; an errno is taken as the call's outcome in its place.
  virtual int before(Io::Kind kind, std::uint64_t& length) noexcept = 0;
};

/// One open file. No verb throws or allocates once it is open, `submit` and `poll` never wait.
class Storage {
 public:
  virtual ~Storage() = default;

  /// Starts a transfer; it may be finished on return. Short transfers are continued, EINTR is invisible.
  virtual void submit(Io& io) noexcept = 0;
  /// Moves what is under way forward; returns the number of transfers still under way.
  virtual std::size_t poll() noexcept = 0;
  /// Waits until at least one transfer under way has finished; returns at once when none is.
  virtual void wait() noexcept = 0;

  /// Whether a transfer may have `parts`.
  [[nodiscard]] virtual bool takes_parts() const noexcept { return false; }

  /// Says that this range of a new file is going to be written, so that the system can find room for all of it at once.
  /// Only helps: what goes wrong is left to the writes.
  virtual void expect(std::uint64_t offset, std::uint64_t length) noexcept { (void)offset, (void)length; }

  /// errno of making everything durable, 0 when done. Never retried: after a failure the data must be written again.
  virtual int sync() noexcept = 0;
  /// errno of closing. Called once; the destructor closes too, without telling.
  virtual int close() noexcept = 0;
  /// What a file begins with, as much as fits: so many bytes, none of a pipe. No transfer, so that no hook meets it. Unless
  /// it is `kept`, the system's cache has it no longer: other nodes may be about to change it.
  virtual std::size_t peek(std::span<std::byte> beginning, bool kept) noexcept { return (void)beginning, (void)kept, 0; }
  /// The file's size, or -1 with errno.
  virtual std::int64_t size() noexcept = 0;
};

enum class OpenMode { create, read, update };

/// Where files live. Paths are the system's.
class StorageSystem {
 public:
  virtual ~StorageSystem() = default;

  virtual StorageTraits traits(const std::string& path) = 0;
  /// `create` makes a new, empty file or empties an old one.
  virtual Result<std::unique_ptr<Storage>> open(const std::string& path, OpenMode mode) = 0;
  virtual Status rename(const std::string& from, const std::string& to) = 0;
  virtual Status remove(const std::string& path) = 0;
  /// Makes creations and renames in the directory of `path` durable.
  virtual Status sync_directory(const std::string& path) = 0;

  /// Puts `hook` before the raw calls of files that are opened from now on; false where there is no place for one.
  virtual bool set_transfer_hook(std::shared_ptr<TransferHook> hook) {
    (void)hook;
    return false;
  }
};

}  // namespace weir
