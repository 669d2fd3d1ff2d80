#include "model/problem.hpp"

#include <fmt/format.h>

namespace weir {

std::optional<std::string> PlacementConditions::unfit(const Bank& candidate, double domain_bytes) const {
  if (!bank.empty() && candidate.name != bank && candidate.kind != bank)
    return fmt::format("'{}' is asked for", bank);
  if (candidate.is_remote()) return "is memory of other nodes, which steps go through in three phases";
  if (candidate.persistency < persistency)
    return fmt::format("keeps data for '{}', '{}' is required", name(candidate.persistency), name(persistency));
  if (const double bytes = needed(domain_bytes); candidate.capacity.known() && candidate.capacity.value < bytes)
    return fmt::format("holds {}, {} are needed", format_figure(candidate.capacity.value, Unit::bytes),
                       format_figure(bytes, Unit::bytes));
  return {};
}

std::vector<int> PlacementConditions::fitting_banks(double domain_bytes) const {
  std::vector<int> fitting;
  for (std::size_t b = 0; b < machine->banks.size(); ++b)
    if (!unfit(machine->banks[b], domain_bytes)) fitting.push_back(static_cast<int>(b));
  return fitting;
}

std::vector<int> PlacementProblem::electorate(int domain) const {
  const auto& producers = traffic[static_cast<std::size_t>(domain)].producers;
  const auto domains = static_cast<long>(traffic.size());
  std::vector<int> voters;
  if (static_cast<long>(producers.size()) <= 2 * nodes() / domains + 2) {
    for (const Share& share : producers) voters.push_back(share.node);
    return voters;
  }
  const auto count = static_cast<long>(producers.size());
  const long first = domain * count / domains, last = std::max(first + 1, (domain + 1) * count / domains);
  for (long k = first; k < last; ++k) voters.push_back(producers[static_cast<std::size_t>(k)].node);
  return voters;
}

}  // namespace weir
