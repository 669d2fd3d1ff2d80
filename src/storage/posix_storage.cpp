#include "storage/posix_storage.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <new>

#include "core/errors.hpp"
#include "machine/posix_traits.hpp"
#include "storage/storage_problem.hpp"
#include "storage/uring_storage.hpp"

namespace weir {
namespace {

std::uint64_t size_limit() noexcept {
  rlimit limit{};
  return getrlimit(RLIMIT_FSIZE, &limit) == 0 ? limit.rlim_cur : RLIM_INFINITY;
}

int flags_of(OpenMode mode) noexcept {
  switch (mode) {
    case OpenMode::create: return O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC;
    case OpenMode::read: return O_RDONLY | O_CLOEXEC;
    case OpenMode::update: return O_RDWR | O_CLOEXEC;
  }
  return O_RDONLY | O_CLOEXEC;
}

/// Both a full file system and one without inodes say ENOSPC.
bool out_of_inodes(const std::string& path) {
  struct statvfs system {};
  return ::statvfs(directory_of(path).c_str(), &system) == 0 && system.f_files > 0 && system.f_ffree == 0;
}

Status open_problem(int error, const std::string& path, OpenMode mode) noexcept try {
  if (mode == OpenMode::create) {
    Status status = storage_problem(error, "create", path);
    if (error == ENOSPC && out_of_inodes(path)) return {Code::too_many_files, status.message()};
    return status;
  }
  return storage_problem(error, "open", path, mode == OpenMode::read ? " for reading" : " for writing");
} catch (const std::bad_alloc&) {
  return {code_of(error), {}};
}

int open_retrying(const char* path, int flags) noexcept {
  int fd;
  do {
    fd = ::open(path, flags, 0666);
  } while (fd < 0 && errno == EINTR);
  return fd;
}

int close_once(int fd) noexcept {
  // Linux has let go of the descriptor even when it says EINTR.
  return ::close(fd) == 0 || errno == EINTR ? 0 : errno;
}

/// File systems on which writes into space that was allocated beforehand are faster; on others they may be slower.
bool allocates_ahead(int fd) noexcept {
  constexpr decltype(statfs::f_type) ext4 = 0xEF53, xfs = 0x58465342;
  struct statfs system {};
  return ::fstatfs(fd, &system) == 0 && (system.f_type == ext4 || system.f_type == xfs);
}

Storage* new_file(int fd, Async async, const std::shared_ptr<TransferHook>& hook) noexcept {
#if WEIR_HAVE_URING
  if (async != Async::plain) return new (std::nothrow) UringStorage{fd, hook};
#endif
  (void)async;
  return new (std::nothrow) PosixStorage{fd, hook};
}

}  // namespace

bool built_with_uring() noexcept {
#if WEIR_HAVE_URING
  return true;
#else
  return false;
#endif
}

PosixStorage::PosixStorage(int fd, std::shared_ptr<TransferHook> hook) noexcept
    : fd_{fd}, size_limit_{size_limit()}, hook_{std::move(hook)} {}

PosixStorage::~PosixStorage() { PosixStorage::close(); }

RawCall PosixStorage::next_call(const Io& io) const noexcept {
  RawCall call = weir::next_call(io, hook_.get());
  if (io.kind == Io::Kind::read || call.error) return call;
  const std::uint64_t at = io.offset + io.done;
  if (at >= size_limit_) return {0, EFBIG};
  call.length = std::min(call.length, size_limit_ - at);
  return call;
}

void PosixStorage::run(Io& io) noexcept {
  for (bool more = true; more;) {
    const RawCall call = next_call(io);
    more = book(io, call.error ? -call.error : move_some(io, call.length));
  }
}

std::int64_t PosixStorage::move_some(const Io& io, std::uint64_t length) noexcept {
  const auto at = static_cast<off_t>(io.offset + io.done);
  const bool read = io.kind == Io::Kind::read;
  ssize_t moved = 0;
  if (const std::size_t parts = whole_parts(io, length); parts > 1) {
    const auto count = static_cast<int>(parts);
    moved = read ? ::preadv(fd_, io.parts.data(), count, at) : ::pwritev(fd_, io.parts.data(), count, at);
  } else {
    const std::span memory = memory_of(io);
    length = std::min<std::uint64_t>(length, memory.size());
    moved = read ? ::pread(fd_, memory.data(), length, at) : ::pwrite(fd_, memory.data(), length, at);
  }
  return moved < 0 ? -errno : moved;
}

void PosixStorage::submit(Io& io) noexcept {
  if (begin(io)) run(io);
}

void PosixStorage::expect(std::uint64_t offset, std::uint64_t length) noexcept {
  constexpr std::uint64_t worth_a_call = 1 << 20;
  if (length < worth_a_call || offset + length > size_limit_ || hook_) return;
  if (!allocates_ahead(fd_)) return;
  while (::fallocate(fd_, 0, static_cast<off_t>(offset), static_cast<off_t>(length)) != 0 && errno == EINTR) {
  }
}

std::size_t PosixStorage::peek(std::span<std::byte> beginning, bool kept) noexcept {
  const ssize_t found = ::pread(fd_, beginning.data(), beginning.size(), 0);
  if (!kept) ::posix_fadvise(fd_, 0, 0, POSIX_FADV_DONTNEED);
  return static_cast<std::size_t>(std::max<ssize_t>(0, found));
}

int PosixStorage::sync() noexcept { return ::fsync(fd_) == 0 ? 0 : errno; }

int PosixStorage::close() noexcept {
  if (fd_ < 0) return EBADF;
  return close_once(std::exchange(fd_, -1));
}

std::int64_t PosixStorage::size() noexcept {
  struct stat status {};
  return ::fstat(fd_, &status) == 0 ? status.st_size : -1;
}

StorageTraits PosixStorageSystem::traits(const std::string& path) { return posix_traits(path); }

Result<std::unique_ptr<Storage>> PosixStorageSystem::open(const std::string& path, OpenMode mode) {
  const int fd = open_retrying(path.c_str(), flags_of(mode));
  if (fd < 0) return open_problem(errno, path, mode);
  int error = 0;
  struct stat status {};
  if (::fstat(fd, &status) != 0) {
    error = errno;
  } else if (S_ISDIR(status.st_mode)) {
    error = EISDIR;  // the system opens directories for reading
  } else if (Storage* file = new_file(fd, async_, hook_)) {
    return std::unique_ptr<Storage>{file};
  } else {
    error = ENOMEM;
  }
  close_once(fd);
  return open_problem(error, path, mode);
}

Status PosixStorageSystem::rename(const std::string& from, const std::string& to) {
  if (::rename(from.c_str(), to.c_str()) == 0) return {};
  return storage_problem(errno, "rename", from, " to '" + to + "'");
}

Status PosixStorageSystem::remove(const std::string& path) {
  return ::unlink(path.c_str()) == 0 ? Status{} : storage_problem(errno, "remove", path);
}

Status PosixStorageSystem::sync_directory(const std::string& path) {
  const std::string directory = directory_of(path);
  const int fd = open_retrying(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return storage_problem(errno, "open directory", directory);
  const int failed = ::fsync(fd) == 0 ? 0 : errno;
  const int not_closed = close_once(fd);
  // Some network file systems have no fsync of directories; they order directory changes by themselves.
  const int error = failed && failed != EINVAL ? failed : not_closed;
  return error ? storage_problem(error, "sync directory", directory) : Status{};
}

}  // namespace weir
