#include "memory/numa_bank.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <linux/mempolicy.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <fstream>

#include "core/errors.hpp"
#include "core/units.hpp"
#include "memory/available_memory.hpp"

namespace weir {
namespace {

constexpr std::size_t bits = sizeof(unsigned long) * CHAR_BIT;

int bind_to(void* data, std::uint64_t size, const std::vector<int>& nodes) {
  const std::vector<unsigned long> mask = node_mask(nodes);
  // The kernel reads one bit less than it is told of.
  return syscall(SYS_mbind, data, size, MPOL_BIND, mask.data(), mask.size() * bits + 1, 0) == 0 ? 0 : errno;
}

std::uint64_t free_on(int node) {
  std::ifstream file{fmt::format("/sys/devices/system/node/node{}/meminfo", node)};
  std::uint64_t kib = 0;
  for (std::string line; std::getline(file, line);)
    for (const char* part : {"MemFree:", "Inactive(file):"})
      if (const auto at = line.find(part); at != std::string::npos)
        kib += std::strtoull(line.c_str() + at + std::char_traits<char>::length(part), nullptr, 10);
  return kib * 1024;
}

}  // namespace

const NumaBank::System NumaBank::linux_system{bind_to, free_on};

std::vector<unsigned long> node_mask(const std::vector<int>& nodes) {
  std::vector<unsigned long> mask(static_cast<std::size_t>(*std::ranges::max_element(nodes)) / bits + 1);
  for (const int node : nodes)
    mask[static_cast<std::size_t>(node) / bits] |= 1UL << (static_cast<std::size_t>(node) % bits);
  return mask;
}

Result<std::unique_ptr<MemoryBank>> NumaBank::make(BankAttributes attributes, std::vector<int> nodes,
                                                   const System& system) {
  auto probe = SharedSegment::create(4096, 0);
  if (!probe) return probe.status();
  if (const int error = system.bind(probe->data(), 4096, nodes))
    return system_problem(error, fmt::format("bind memory to NUMA nodes {}", fmt::join(nodes, ", ")));
  return std::unique_ptr<MemoryBank>{new NumaBank{std::move(attributes), std::move(nodes), system}};
}

Result<BankMemory> NumaBank::take(std::uint64_t bytes) {
  std::uint64_t free = 0;
  for (const int node : nodes_) free += system_.free_on(node);
  // Where a bound page cannot be had the kernel ends processes instead of returning an error.
  if (bytes > free)
    return problem(Code::no_memory, [&] {
      return fmt::format("cannot allocate {} in bank '{}': {} are free on its NUMA nodes", format_bytes(bytes),
                         attributes().name, format_bytes(free));
    }, "use smaller or fewer buffers, or another bank");
  auto segment = SharedSegment::create(bytes, 0);
  if (!segment) return segment.status();
  if (const int error = system_.bind(segment->data(), bytes, nodes_))
    return system_problem(error, fmt::format("bind memory of bank '{}'", attributes().name));
  if (Status status = commit_within(*segment, 0, bytes, available_memory); !status.ok()) return status;
  make_present(segment->data(), bytes);
  return BankMemory{std::move(*segment)};
}

}  // namespace weir
