#include "memory/shared_segment.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "core/errors.hpp"
#include "core/units.hpp"

namespace weir {

SharedSegment::~SharedSegment() {
  if (data_) ::munmap(data_, address_.size);
  if (owned_descriptor_ >= 0) ::close(owned_descriptor_);
}

Result<SharedSegment> SharedSegment::create(std::uint64_t size) {
  const auto failed = [&](int error) {
    return system_problem(error, fmt::format("allocate {} of shared memory", format_bytes(size)),
                          "lower plan.memory, or give the job more memory");
  };
  SharedSegment segment;
  segment.owned_descriptor_ = ::memfd_create("weir", MFD_CLOEXEC);
  if (segment.owned_descriptor_ < 0) return failed(errno);
  int error = 0;
  do error = ::posix_fallocate(segment.owned_descriptor_, 0, static_cast<off_t>(size));
  while (error == EINTR);
  if (error) return failed(error);
  void* at = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, segment.owned_descriptor_, 0);
  if (at == MAP_FAILED) return failed(errno);
  segment.data_ = static_cast<std::byte*>(at);
  segment.address_ = {::getpid(), segment.owned_descriptor_, size};
  return segment;
}

Result<SharedSegment> SharedSegment::map(const Address& address) {
  std::array<char, 64> path{};
  fmt::format_to_n(path.data(), path.size() - 1, "/proc/{}/fd/{}", address.process, address.descriptor);
  const auto failed = [&](int error) {
    return system_problem(error, fmt::format("map shared memory of process {}", address.process),
                          "ranks of one node must run as one user in one process namespace; "
                          "machine.ranks_per_node=1 makes them exchange messages instead");
  };
  const int descriptor = ::open(path.data(), O_RDWR | O_CLOEXEC);
  if (descriptor < 0) return failed(errno);
  void* at = ::mmap(nullptr, address.size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, descriptor, 0);
  const int error = errno;
  ::close(descriptor);
  if (at == MAP_FAILED) return failed(error);
  SharedSegment segment;
  segment.data_ = static_cast<std::byte*>(at);
  segment.address_ = address;
  return segment;
}

}  // namespace weir
