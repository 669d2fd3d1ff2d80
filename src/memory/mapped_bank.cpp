#include "memory/mapped_bank.hpp"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>

#include "core/errors.hpp"
#include "core/units.hpp"
#include "machine/posix_traits.hpp"
#include "memory/available_memory.hpp"
#include "memory/nameless_file.hpp"

namespace weir {
namespace {

/// Where a write goes to a new place, reserved space is no promise, so that pages are made writable one by one now.
bool copies_on_write(std::string_view kind) {
  return kind == "btrfs" || kind == "zfs" || kind == "bcachefs" || kind == "f2fs";
}

}  // namespace

Result<BankMemory> MappedBank::take(std::uint64_t bytes) {
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
  if (const int error = reserve_space(descriptor, bytes)) {
    ::close(descriptor);
    return failed(error);
  }
  auto segment = SharedSegment::adopt(descriptor, bytes);
  if (!segment) return segment.status();
#ifdef MADV_POPULATE_WRITE
  if (copies_on_write(kind) && ::madvise(segment->data(), bytes, MADV_POPULATE_WRITE) != 0 &&
      errno != EINVAL)
    return failed(errno == EFAULT ? ENOSPC : errno);
#endif
  return BankMemory{std::move(*segment)};
}

}  // namespace weir
