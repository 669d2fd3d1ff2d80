#include "storage/file_speed.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "core/descriptor.hpp"
#include "core/stopwatch.hpp"
#include "memory/nameless_file.hpp"
#include "storage/storage_problem.hpp"

namespace weir {
namespace {

constexpr std::uint64_t block = 4096, chunk = std::uint64_t{4} << 20;
constexpr int most_chunks = 16;

struct Free {
  void operator()(void* data) const noexcept { std::free(data); }
};
using Aligned = std::unique_ptr<void, Free>;

/// Whole transfers only; 0 or an errno.
int transfer(bool writes, int descriptor, void* data, std::uint64_t size, std::uint64_t offset) noexcept {
  for (std::uint64_t done = 0; done < size;) {
    auto* at = static_cast<std::byte*>(data) + done;
    const auto place = static_cast<off_t>(offset + done);
    const ssize_t moved =
        writes ? ::pwrite(descriptor, at, size - done, place) : ::pread(descriptor, at, size - done, place);
    if (moved < 0 && errno == EINTR) continue;
    if (moved <= 0) return moved < 0 ? errno : EIO;
    done += static_cast<std::uint64_t>(moved);
  }
  return 0;
}

/// Times transfers at `size` steps through the first `extent` bytes; 0 or the errno that ended them.
template <class Each, class Value>
int timed(double seconds, std::uint64_t size, std::uint64_t extent, const Each& each, const Value& value,
          std::vector<double>& samples) {
  int error = 0;
  std::uint64_t offset = 0;
  const Stopwatch all;
  do {
    const Stopwatch watch;
    error = each(offset);
    if (error) return error;
    samples.push_back(value(std::max(watch.seconds(), 1e-9)));
    offset = (offset + size) % extent;
  } while (static_cast<int>(samples.size()) < most_chunks && all.seconds() < seconds);
  return 0;
}

}  // namespace

Result<FileSpeed> measure_files(const std::string& directory, double seconds) {
  const auto failed = [&](int error, const char* verb) {
    return storage_problem(error, verb, directory, " to calibrate");
  };
  const Descriptor file{nameless_file(directory)};
  if (!file) return failed(errno, "make a file in");
  Aligned memory{std::aligned_alloc(block, chunk)};
  if (!memory) return failed(ENOMEM, "write in");
  std::memset(memory.get(), 0x5a, chunk);
  std::uint64_t extent = most_chunks * chunk;
  int error = reserve_space(file.get(), extent);
  if (error == ENOSPC) error = reserve_space(file.get(), extent = chunk);
  if (error) return failed(error, "reserve space in");

  FileSpeed speed;
  const auto bandwidth = [](double s) { return static_cast<double>(chunk) / s; };
  const auto write = [&](std::uint64_t at) { return transfer(true, file.get(), memory.get(), chunk, at); };
  const auto write_through = [&](std::uint64_t at) {
    const int code = write(at);
    return code ? code : ::fdatasync(file.get()) == 0 ? 0 : errno;
  };
  if ((error = timed(seconds / 4, chunk, extent, write, bandwidth, speed.accepted)) ||
      (error = ::fdatasync(file.get()) == 0 ? 0 : errno) ||
      (error = timed(seconds / 4, chunk, extent, write_through, bandwidth, speed.durable)))
    return failed(error, "write in");

  const Descriptor direct{
      ::open(fmt::format("/proc/self/fd/{}", file.get()).c_str(), O_RDONLY | O_DIRECT | O_CLOEXEC)};
  speed.past_cache = static_cast<bool>(direct);
  const int source = speed.past_cache ? direct.get() : file.get();
  if (!speed.past_cache) ::posix_fadvise(file.get(), 0, 0, POSIX_FADV_DONTNEED);
  const std::uint64_t written = std::min(extent, chunk * std::max(speed.accepted.size(), speed.durable.size()));
  const auto read = [&](std::uint64_t size) {
    return [&, size](std::uint64_t at) { return transfer(false, source, memory.get(), size, at); };
  };
  if ((error = timed(seconds / 4, chunk, written, read(chunk), bandwidth, speed.read)) ||
      (error = timed(
           seconds / 4, 37 * block, chunk - 37 * block, read(block), [](double s) { return s; }, speed.latency)))
    return failed(error, "read in");
  return speed;
}

}  // namespace weir
