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
  if (descriptor_ >= 0) ::close(descriptor_);
}

namespace {

Status no_memory(int error, std::uint64_t size) noexcept {
  return problem(code_of(error), [&] {
    return fmt::format("cannot allocate {} of shared memory: {}", format_bytes(size), reason_of(error));
  }, "lower plan.memory, or give the job more memory");
}

}  // namespace

Result<SharedSegment> SharedSegment::create_empty() {
  const int descriptor = ::memfd_create("weir", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (descriptor < 0) return no_memory(errno, 0);
  SharedSegment segment;
  segment.descriptor_ = descriptor;
  segment.address_ = {::getpid(), descriptor, 0};
  return segment;
}

Status SharedSegment::extend(std::uint64_t size) {
  if (::ftruncate(descriptor_, static_cast<off_t>(size)) != 0) return no_memory(errno, size);
  return map_here(size);
}

Status SharedSegment::map_here(std::uint64_t size) {
  void* at = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor_, 0);
  if (at == MAP_FAILED) return no_memory(errno, size);
  data_ = static_cast<std::byte*>(at);
  address_.size = size;
  return {};
}

Result<SharedSegment> SharedSegment::create(std::uint64_t size, std::uint64_t present) {
  auto segment = create_empty();
  if (!segment) return segment;
  if (Status status = segment->extend(size); !status.ok()) return status;
  if (Status status = segment->commit(0, present); !status.ok()) return status;
  return segment;
}

Result<SharedSegment> SharedSegment::adopt(int descriptor, std::uint64_t size) {
  SharedSegment segment;
  segment.descriptor_ = descriptor;
  segment.address_ = {::getpid(), descriptor, 0};
  if (Status status = segment.map_here(size); !status.ok()) return status;
  return segment;
}

Status SharedSegment::commit(std::uint64_t offset, std::uint64_t length) {
  int error = 0;
  if (length == 0) return {};
  do error = ::posix_fallocate(descriptor_, static_cast<off_t>(offset), static_cast<off_t>(length));
  while (error == EINTR);
  return error ? no_memory(error, length) : Status{};
}

void SharedSegment::decommit(std::uint64_t offset, std::uint64_t length) noexcept {
  ::fallocate(descriptor_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(offset),
              static_cast<off_t>(length));
}

Result<SharedSegment> SharedSegment::map(const Address& address) {
  auto segment = join(address, address.size);
  if (segment) ::close(std::exchange(segment->descriptor_, -1));
  return segment;
}

Result<SharedSegment> SharedSegment::join(const Address& address, std::uint64_t size) {
  std::array<char, 64> path{};
  fmt::format_to_n(path.data(), path.size() - 1, "/proc/{}/fd/{}", address.process, address.descriptor);
  const auto failed = [&](int error) {
    return problem(code_of(error), [&] {
      return fmt::format("cannot map shared memory of process {}: {}", address.process, reason_of(error));
    }, "ranks of one node must run as one user in one process namespace; "
       "machine.ranks_per_node=1 makes them exchange messages instead");
  };
  SharedSegment segment;
  segment.descriptor_ = ::open(path.data(), O_RDWR | O_CLOEXEC);
  if (segment.descriptor_ < 0) return failed(errno);
  segment.address_ = address;
  if (!segment.map_here(size).ok()) return failed(ENOMEM);
  return segment;
}

void make_present(const std::byte* data, std::uint64_t size) noexcept {
  constexpr std::uintptr_t page = 4096;
  const std::uintptr_t begin = reinterpret_cast<std::uintptr_t>(data) / page * page;
  const std::uintptr_t end = reinterpret_cast<std::uintptr_t>(data) + size;
  for (std::uintptr_t at = begin; at < end; at += page) (void)*reinterpret_cast<const volatile std::byte*>(at);
}

}  // namespace weir
