#include "memory/huge_page_bank.hpp"

#include <fcntl.h>
#include <linux/memfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>

#include "core/errors.hpp"
#include "core/log.hpp"

namespace weir {
namespace {

Result<SharedSegment> take_huge(std::uint64_t bytes) {
  const std::uint64_t whole = (bytes + HugePageBank::page - 1) / HugePageBank::page * HugePageBank::page;
  const int descriptor = ::memfd_create("weir", MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_HUGETLB | MFD_HUGE_2MB);
  const auto failed = [&](int error) {
    if (descriptor >= 0) ::close(descriptor);
    return problem(Code::no_memory, [&] { return fmt::format("cannot have huge pages: {}", reason_of(error)); },
                   "have the system reserve some in /proc/sys/vm/nr_hugepages");
  };
  if (descriptor < 0 || ::ftruncate(descriptor, static_cast<off_t>(whole)) != 0) return failed(errno);
  // Taken before they are mapped: a page that is not there later would be a signal.
  if (::fallocate(descriptor, 0, 0, static_cast<off_t>(whole)) != 0) return failed(errno);
  return SharedSegment::adopt(descriptor, whole);
}

}  // namespace

Status HugePageBank::check() { return take_huge(page).status(); }

Result<BankMemory> HugePageBank::take(std::uint64_t bytes) {
  auto segment = take_huge(bytes);
  if (segment) return BankMemory{std::move(*segment)};
  log_line(LogComponent::core, LogLevel::debug, "{}", segment.status().message());
  return DramBank::take(bytes);
}

}  // namespace weir
