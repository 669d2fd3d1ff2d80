#include "memory/mapped_bank.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <string_view>

#include "core/errors.hpp"
#include "core/units.hpp"
#include "machine/posix_traits.hpp"
#include "memory/available_memory.hpp"

namespace weir {
namespace {

/// A file that is gone when its last descriptor is; -1 with errno when there is none.
int nameless_file(const std::string& directory) {
  const int descriptor = ::open(directory.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (descriptor >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL)) return descriptor;
  std::string name = directory + "/.weir-bank-XXXXXX";
  const int named = ::mkostemp(name.data(), O_CLOEXEC);
  if (named >= 0) ::unlink(name.c_str());
  return named;
}

int reserve(int descriptor, std::uint64_t bytes) noexcept {
  int error = 0;
  do error = ::posix_fallocate(descriptor, 0, static_cast<off_t>(bytes));
  while (error == EINTR);
  return error;
}

/// Where a write goes to a new place, reserved space is no promise, so that pages are made writable one by one now.
bool copies_on_write(std::string_view kind) {
  return kind == "btrfs" || kind == "zfs" || kind == "bcachefs" || kind == "f2fs";
}

}  // namespace

Result<SharedSegment> MappedBank::take(std::uint64_t bytes) {
  const auto failed = [&](int error) {
    return problem(code_of(error), [&] {
      return fmt::format("cannot allocate {} in bank '{}' (directory '{}'): {}", format_bytes(bytes), attributes().name,
                         directory_, reason_of(error));
    }, "free space there, or name another directory in memory.node_directory");
  };
  const std::string kind = posix_traits(directory_).file_system;
  if ((kind == "tmpfs" || kind == "ramfs") && bytes > available_memory()) return failed(ENOSPC);
  const int descriptor = nameless_file(directory_);
  if (descriptor < 0) return failed(errno);
  if (const int error = reserve(descriptor, bytes)) {
    ::close(descriptor);
    return failed(error);
  }
  auto segment = SharedSegment::adopt(descriptor, bytes);
#ifdef MADV_POPULATE_WRITE
  if (segment && copies_on_write(kind) && ::madvise(segment->data(), bytes, MADV_POPULATE_WRITE) != 0 &&
      errno != EINVAL)
    return failed(errno == EFAULT ? ENOSPC : errno);
#endif
  return segment;
}

}  // namespace weir
