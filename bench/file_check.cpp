#include "file_check.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include "collective.hpp"
#include "contents.hpp"
#include "core/errors.hpp"

namespace weir::bench {
namespace {

constexpr std::uint64_t chunk = 64 << 10;

class OpenFile {
 public:
  OpenFile(const std::string& path, int flags) : descriptor_{::open(path.c_str(), flags | O_CLOEXEC, 0666)} {
    if (descriptor_ < 0) throw Error{system_problem(errno, fmt::format("open '{}'", path))};
  }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  ~OpenFile() { ::close(descriptor_); }
  [[nodiscard]] int get() const noexcept { return descriptor_; }

 private:
  int descriptor_;
};

/// Calls `each(offset, length)` for the chunks of the share of the rank that comes `after` this one until it is false.
template <class Each>
void for_each_chunk(MPI_Comm communicator, int after, std::uint64_t bytes, Each each) {
  const auto ranks = static_cast<std::uint64_t>(size_of(communicator));
  const auto rank = static_cast<std::uint64_t>(rank_of(communicator) + after) % ranks;
  const std::uint64_t end = bytes / ranks * (rank + 1) + (rank + 1 == ranks ? bytes % ranks : 0);
  for (std::uint64_t offset = bytes / ranks * rank; offset < end; offset += chunk)
    if (!each(offset, std::min(chunk, end - offset))) return;
}

std::string check_share(MPI_Comm communicator, int after, const std::string& path, std::uint64_t bytes,
                        std::uint64_t seed) {
  const OpenFile file{path, O_RDONLY};
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) return fmt::format("cannot tell the size of '{}'", path);
  if (static_cast<std::uint64_t>(status.st_size) != bytes)
    return fmt::format("the file has {} bytes instead of {}", status.st_size, bytes);
  std::string wrong;
  std::vector<std::byte> data(chunk);
  for_each_chunk(communicator, after, bytes, [&](std::uint64_t offset, std::uint64_t length) {
    const ssize_t got = ::pread(file.get(), data.data(), length, static_cast<off_t>(offset));
    if (got != static_cast<ssize_t>(length)) {
      wrong = fmt::format("cannot read {} bytes at offset {}", length, offset);
    } else if (const auto difference = first_difference({data.data(), length}, offset, seed)) {
      wrong = fmt::format("the byte at offset {} of the file is wrong", offset + *difference);
    }
    return wrong.empty();
  });
  return wrong;
}

}  // namespace

void write_contents(MPI_Comm communicator, const std::string& path, std::uint64_t bytes, std::uint64_t seed) {
  if (rank_of(communicator) == 0) OpenFile{path, O_WRONLY | O_CREAT | O_TRUNC};
  MPI_Barrier(communicator);
  {
    const OpenFile file{path, O_WRONLY};
    std::vector<std::byte> data(chunk);
    for_each_chunk(communicator, 0, bytes, [&](std::uint64_t offset, std::uint64_t length) {
      fill({data.data(), length}, offset, seed);
      if (::pwrite(file.get(), data.data(), length, static_cast<off_t>(offset)) != static_cast<ssize_t>(length))
        throw Error{system_problem(errno, fmt::format("write '{}'", path))};
      return true;
    });
  }
  MPI_Barrier(communicator);
}

std::string check_contents(MPI_Comm communicator, const std::string& path, std::uint64_t bytes, std::uint64_t seed) {
  const bool one_node = on_one_node(communicator);
  std::string wrong;
  try {
    wrong = check_share(communicator, 0, path, bytes, seed);
    if (wrong.empty() && !one_node) wrong = check_share(communicator, size_of(communicator) / 2, path, bytes, seed);
  } catch (const Error& error) {
    wrong = error.what();
  }
  return first_of(communicator, wrong);
}

}  // namespace weir::bench
