#include "limits.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

#include "collective.hpp"
#include "core/errors.hpp"
#include "statistics.hpp"

namespace weir::bench {
namespace {

constexpr std::uint64_t largest_buffer = 256 << 20;  // more bytes than this go through it in turns

template <class Turn>
double timed(std::uint64_t bytes, Turn turn) {
  const double start = now();
  for (std::uint64_t done = 0; done < bytes; done += largest_buffer) turn(std::min(largest_buffer, bytes - done));
  return now() - start;
}

double time_file(const std::string& path, int flags, std::vector<std::byte>& data, std::uint64_t bytes) {
  const double start = now();
  const int file = ::open(path.c_str(), flags | O_CLOEXEC, 0666);
  if (file < 0) throw Error{system_problem(errno, "open '" + path + "'")};
  timed(bytes, [&](std::uint64_t length) {
    for (std::uint64_t done = 0; done < length;) {
      const ssize_t moved = flags == O_RDONLY ? ::read(file, data.data() + done, length - done)
                                              : ::write(file, data.data() + done, length - done);
      if (moved <= 0) throw Error{system_problem(moved < 0 ? errno : ENODATA, "move '" + path + "'")};
      done += static_cast<std::uint64_t>(moved);
    }
  });
  ::close(file);
  return now() - start;
}

}  // namespace

Limits measure_limits(MPI_Comm communicator, const std::string& path, std::uint64_t bytes, bool existing) {
  Limits limits;
  if (rank_of(communicator) == 0) {
    const std::uint64_t buffer = std::min(bytes, largest_buffer);
    std::vector<std::byte> from(buffer, std::byte{1});
    std::vector<std::byte> to(buffer, std::byte{2});
    std::vector<double> copies, writes, reads;
    if (existing) time_file(path, O_WRONLY | O_CREAT, from, bytes);
    for (int i = 0; i < 5; ++i) {
      copies.push_back(timed(bytes, [&](std::uint64_t length) { std::memcpy(to.data(), from.data(), length); }));
      if (!existing) ::unlink(path.c_str());
      writes.push_back(time_file(path, existing ? O_WRONLY : O_WRONLY | O_CREAT, from, bytes));
    }
    time_file(path, O_RDONLY, to, bytes);
    for (int i = 0; i < 5; ++i) reads.push_back(time_file(path, O_RDONLY, to, bytes));
    ::unlink(path.c_str());
    limits = {median(copies), median(writes), median(reads)};
  }
  quiet_barrier(communicator);
  return limits;
}

}  // namespace weir::bench
