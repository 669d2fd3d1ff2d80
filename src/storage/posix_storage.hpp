#pragma once

#include <memory>
#include <string>
#include <utility>

#include "storage/storage.hpp"
#include "storage/transfer.hpp"

namespace weir {

/// A file of the system, moved by pread and pwrite: every transfer is finished when `submit` returns.
///
/// One thread at a time. A transfer stops with EFBIG at the size limit that the process had at opening (ulimit -f),
/// and not by SIGXFSZ.
class PosixStorage : public Storage {
 public:
  /// Takes the open descriptor over.
  PosixStorage(int fd, std::shared_ptr<TransferHook> hook) noexcept;
  PosixStorage(const PosixStorage&) = delete;
  PosixStorage& operator=(const PosixStorage&) = delete;
  ~PosixStorage() override;

  void submit(Io& io) noexcept override;
  std::size_t poll() noexcept override { return 0; }
  void wait() noexcept override {}
  [[nodiscard]] bool takes_parts() const noexcept override { return true; }
  void expect(std::uint64_t offset, std::uint64_t length) noexcept override;
  int sync() noexcept override;
  int close() noexcept override;
  std::size_t peek(std::span<std::byte> beginning, bool kept) noexcept override;
  std::int64_t size() noexcept override;

 protected:
  [[nodiscard]] int fd() const noexcept { return fd_; }
  /// The next raw call of `io`, within the size limit and after the hook.
  [[nodiscard]] RawCall next_call(const Io& io) const noexcept;
  /// Carries an `io` that has begun on to its end.
  void run(Io& io) noexcept;

 private:
  /// One raw call; bytes moved or -errno.
  std::int64_t move_some(const Io& io, std::uint64_t length) noexcept;

  int fd_;
  std::uint64_t size_limit_;
  std::shared_ptr<TransferHook> hook_;
};

/// How transfers run beside the caller. `any` is io_uring where it was built in and the kernel has it.
enum class Async { plain, uring, any };

/// Whether io_uring was built in. The kernel may refuse it still; files are then plain.
bool built_with_uring() noexcept;

/// The file systems of this machine. Files made by `create` cannot be read before they are opened again.
class PosixStorageSystem : public StorageSystem {
 public:
  explicit PosixStorageSystem(Async async = Async::any) noexcept : async_{async} {}

  StorageTraits traits(const std::string& path) override;
  Result<std::unique_ptr<Storage>> open(const std::string& path, OpenMode mode) override;
  Status rename(const std::string& from, const std::string& to) override;
  Status remove(const std::string& path) override;
  Status sync_directory(const std::string& path) override;
  bool set_transfer_hook(std::shared_ptr<TransferHook> hook) override {
    hook_ = std::move(hook);
    return true;
  }

 private:
  Async async_;
  std::shared_ptr<TransferHook> hook_;
};

}  // namespace weir
