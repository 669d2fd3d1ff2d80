#include "memory/available_memory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <string>

#include "core/errors.hpp"
#include "core/units.hpp"
#include "machine/local_device.hpp"

namespace weir {
namespace {

constexpr std::uint64_t step = std::uint64_t{64} << 20;

std::uint64_t of_meminfo(std::string_view key) {
  std::ifstream file{"/proc/meminfo"};
  for (std::string line; std::getline(file, line);)
    if (line.starts_with(key)) return std::strtoull(line.c_str() + key.size(), nullptr, 10) * 1024;
  return 0;
}

}  // namespace

std::uint64_t available_memory() {
  std::uint64_t available = of_meminfo("MemAvailable:");
  if (const std::uint64_t limit = memory_limit(); limit > 0) available = std::min(available, limit);
  const std::uint64_t reserve = of_meminfo("MemTotal:") / 16;
  return available > reserve ? available - reserve : 0;
}

Status commit_within(SharedSegment& segment, std::uint64_t offset, std::uint64_t bytes, std::uint64_t (*available)()) {
  // In steps, because others take memory at the same time.
  for (std::uint64_t done = 0; done < bytes;) {
    const std::uint64_t left = bytes - done, free = available();
    if (left > free)
      return problem(Code::no_memory, [&] {
        return fmt::format("cannot allocate {} of memory: {} are available", format_bytes(bytes),
                           format_bytes(done + free));
      }, "use smaller or fewer buffers, or another bank");
    const std::uint64_t now = std::min(left, step);
    if (Status status = segment.commit(offset + done, now); !status.ok()) return status;
    done += now;
  }
  return {};
}

}  // namespace weir
