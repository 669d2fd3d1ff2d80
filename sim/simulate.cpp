#include "simulate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <sstream>

#include "core/errors.hpp"
#include "worker_process.hpp"

namespace weir::sim {
namespace {

/// Resources without a limit hold nobody up: the simulator does not see them.
class Numbering {
 public:
  explicit Numbering(const Schedule& schedule) {
    for (const auto& [resource, bytes] : schedule.bytes_by_resource())
      if (bytes > 0 && std::isfinite(schedule.bandwidth(resource))) {
        number_.emplace(resource, static_cast<int>(used_.size()));
        used_.push_back(resource);
      }
  }
  [[nodiscard]] const std::vector<int>& used() const noexcept { return used_; }
  [[nodiscard]] std::vector<int> limited(const Way& way) const {
    std::vector<int> numbers;
    for (const int resource : way.resources)
      if (const auto at = number_.find(resource); at != number_.end()) numbers.push_back(at->second);
    return numbers;
  }

 private:
  std::map<int, int> number_;
  std::vector<int> used_;
};

template <class List>
void write_list(fmt::memory_buffer& out, const List& list) {
  fmt::format_to(std::back_inserter(out), " {}", list.size());
  for (const int each : list) fmt::format_to(std::back_inserter(out), " {}", each);
  out.push_back('\n');
}

std::string wire_text(const Schedule& schedule, const Numbering& numbering) {
  fmt::memory_buffer out;
  std::map<Endpoint, int> hosts;
  const auto host = [&](Endpoint endpoint) {
    return hosts.try_emplace(endpoint, static_cast<int>(hosts.size())).first->second;
  };
  fmt::format_to(std::back_inserter(out), "{} {} {}\n", numbering.used().size(), schedule.ways().size(),
                 schedule.steps().size());
  for (const int resource : numbering.used())
    fmt::format_to(std::back_inserter(out), "{:.17g}\n", schedule.bandwidth(resource));
  std::vector<bool> limited;
  for (const Way& way : schedule.ways()) {
    const std::vector<int> links = numbering.limited(way);
    limited.push_back(!links.empty());
    fmt::format_to(std::back_inserter(out), "{} {}", host(way.from), host(way.to));
    write_list(out, links);
  }
  for (const Step& step : schedule.steps()) {
    const bool moves = step.way >= 0 && limited[static_cast<std::size_t>(step.way)];
    fmt::format_to(std::back_inserter(out), "{} {} {:.17g}", moves ? step.way : -1, step.bytes, step.delay_s);
    write_list(out, step.after);
  }
  return fmt::to_string(out);
}

}  // namespace

Outcome simulate(const Schedule& schedule) {
  const Numbering numbering{schedule};
  std::istringstream words{run_worker("weir-sim-worker", {}, wire_text(schedule, numbering))};
  Outcome outcome;
  for (double end = 0; outcome.ends_s.size() < schedule.steps().size() && words >> end;) outcome.ends_s.push_back(end);
  std::uint64_t bytes = 0;
  for (const int resource : numbering.used())
    if (words >> bytes) outcome.carried[resource] = bytes;
  if (!words || std::ranges::count(outcome.ends_s, -1) > 0)
    throw Error{problem(Code::internal, fmt::format("the simulator ended after {} of {} steps", outcome.ends_s.size(),
                                                    schedule.steps().size()))};
  for (const double end : outcome.ends_s) outcome.end_s = std::max(outcome.end_s, end);
  return outcome;
}

}  // namespace weir::sim
