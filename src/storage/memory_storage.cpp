#include "storage/memory_storage.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>

#include "storage/storage_problem.hpp"
#include "storage/transfer.hpp"

namespace weir {
namespace {

/// The part of [offset, offset + most) in the page where it begins.
struct Piece {
  Piece(std::uint64_t offset, std::uint64_t most) noexcept
      : page{offset / MemoryFile::page_size},
        in_page{offset % MemoryFile::page_size},
        length{std::min(most, MemoryFile::page_size - in_page)} {}
  std::uint64_t page, in_page, length;
};

class MemoryStorage final : public Storage {
 public:
  MemoryStorage(std::shared_ptr<MemoryFile> file, OpenMode mode, std::shared_ptr<TransferHook> hook) noexcept
      : file_{std::move(file)}, mode_{mode}, hook_{std::move(hook)} {}

  void submit(Io& io) noexcept override {
    transfer(io, hook_.get(), [&](std::byte* data, std::uint64_t offset, std::uint64_t length) {
      return io.kind == Io::Kind::read ? read(data, offset, length) : write(data, offset, length);
    });
  }
  std::size_t poll() noexcept override { return 0; }
  void wait() noexcept override {}
  [[nodiscard]] bool takes_parts() const noexcept override { return true; }
  int sync() noexcept override { return file_ ? 0 : EBADF; }
  int close() noexcept override { return std::exchange(file_, nullptr) ? 0 : EBADF; }
  std::int64_t size() noexcept override {
    if (file_) return static_cast<std::int64_t>(file_->size);
    errno = EBADF;
    return -1;
  }

 private:
  std::int64_t read(std::byte* data, std::uint64_t offset, std::uint64_t length) const noexcept {
    if (!file_ || mode_ == OpenMode::create) return -EBADF;
    length = offset < file_->size ? std::min(length, file_->size - offset) : 0;
    for (std::uint64_t done = 0; done < length;) {
      const Piece piece{offset + done, length - done};
      const auto page = file_->pages.find(piece.page);
      if (page == file_->pages.end())
        std::memset(data + done, 0, piece.length);
      else
        std::memcpy(data + done, page->second.data() + piece.in_page, piece.length);
      done += piece.length;
    }
    return static_cast<std::int64_t>(length);
  }

  std::int64_t write(const std::byte* data, std::uint64_t offset, std::uint64_t length) noexcept {
    if (!file_ || mode_ == OpenMode::read) return -EBADF;
    std::uint64_t done = 0;
    try {
      while (done < length) {
        const Piece piece{offset + done, length - done};
        std::memcpy(file_->pages[piece.page].data() + piece.in_page, data + done, piece.length);
        done += piece.length;
        file_->size = std::max(file_->size, offset + done);
      }
    } catch (const std::bad_alloc&) {
      if (done == 0) return -ENOMEM;
    }
    return static_cast<std::int64_t>(done);
  }

  std::shared_ptr<MemoryFile> file_;
  OpenMode mode_;
  std::shared_ptr<TransferHook> hook_;
};

}  // namespace

StorageTraits MemoryStorageSystem::traits(const std::string&) {
  return {.kind = "memory", .file_system = "memory", .block = MemoryFile::page_size, .shared = false};
}

Result<std::unique_ptr<Storage>> MemoryStorageSystem::open(const std::string& path, OpenMode mode) try {
  if (mode != OpenMode::create && !files_->contains(path)) return storage_problem(ENOENT, "open", path);
  auto& file = (*files_)[path];
  if (!file) file = std::make_shared<MemoryFile>();
  if (mode == OpenMode::create) *file = {};
  return std::unique_ptr<Storage>{std::make_unique<MemoryStorage>(file, mode, hook_)};
} catch (const std::bad_alloc&) {
  return storage_problem(ENOMEM, "open", path);
}

Status MemoryStorageSystem::rename(const std::string& from, const std::string& to) try {
  const auto found = files_->find(from);
  if (found == files_->end()) return storage_problem(ENOENT, "rename", from, " to '" + to + "'");
  auto file = found->second;
  (*files_)[to] = std::move(file);
  if (from != to) files_->erase(from);
  return {};
} catch (const std::bad_alloc&) {
  return storage_problem(ENOMEM, "rename", from);
}

Status MemoryStorageSystem::remove(const std::string& path) {
  return files_->erase(path) ? Status{} : storage_problem(ENOENT, "remove", path);
}

}  // namespace weir
