#include "storage/null_storage.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>

#include "storage/storage_problem.hpp"
#include "storage/transfer.hpp"

namespace weir {

void NullStorage::submit(Io& io) noexcept {
  transfer(io, hook_.get(), [&](std::byte* data, std::uint64_t offset, std::uint64_t length) -> std::int64_t {
    if (!open_) return -EBADF;
    if (io.kind == Io::Kind::read)
      std::memset(data, 0, length);
    else
      size_ = std::max(size_, offset + length);
    return static_cast<std::int64_t>(length);
  });
}

int NullStorage::sync() noexcept { return open_ ? 0 : EBADF; }

int NullStorage::close() noexcept { return std::exchange(open_, false) ? 0 : EBADF; }

std::int64_t NullStorage::size() noexcept {
  if (open_) return static_cast<std::int64_t>(size_);
  errno = EBADF;
  return -1;
}

StorageTraits NullStorageSystem::traits(const std::string&) {
  // Shared, as every process reads the same zeros.
  return {.kind = "null", .file_system = "null"};
}

Result<std::unique_ptr<Storage>> NullStorageSystem::open(const std::string& path, OpenMode) {
  std::unique_ptr<Storage> file{new (std::nothrow) NullStorage{hook_}};
  if (!file) return storage_problem(ENOMEM, "open", path);
  return file;
}

}  // namespace weir
