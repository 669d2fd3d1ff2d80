#include "core/log.hpp"

#include <unistd.h>

#include <algorithm>
#include <optional>
#include <string>

#include "core/errors.hpp"
#include "core/nearest.hpp"

namespace weir {
namespace {

constexpr std::array<std::string_view, 5> level_names{"off", "error", "warn", "info", "debug"};
constexpr std::array<std::string_view, log_components> component_names{"core",    "machine",  "plan",   "memory", "storage",
                                                                       "exchange", "engine", "net",    "remote"};
using Levels = std::array<LogLevel, log_components>;

std::atomic<int> log_rank{-1};

template <std::size_t N>
std::optional<std::size_t> index_in(const std::array<std::string_view, N>& names, std::string_view name) {
  const auto found = std::ranges::find(names, name);
  if (found == names.end()) return {};
  return static_cast<std::size_t>(found - names.begin());
}

template <std::size_t N>
Status unknown(std::string_view what, std::string_view name, const std::array<std::string_view, N>& names) {
  return problem(Code::settings, fmt::format("unknown {} '{}' in the log specification", what, name),
                 fmt::format("did you mean '{}'? allowed: {}", nearest(name, names), fmt::join(names, ", ")));
}

Status apply(std::string_view part, Levels& levels) {
  const std::size_t colon = part.find(':');
  const std::string_view level_name = colon == part.npos ? part : part.substr(colon + 1);
  const auto level = index_in(level_names, level_name);
  if (!level) return unknown("level", level_name, level_names);
  if (colon == part.npos) {
    levels.fill(static_cast<LogLevel>(*level));
    return {};
  }
  const auto component = index_in(component_names, part.substr(0, colon));
  if (!component) return unknown("component", part.substr(0, colon), component_names);
  levels[*component] = static_cast<LogLevel>(*level);
  return {};
}

Result<Levels> parse(std::string_view specification) {
  Levels levels{};
  while (!specification.empty()) {
    const std::size_t comma = std::min(specification.find(','), specification.size());
    if (Status status = apply(specification.substr(0, comma), levels); !status) return status;
    specification.remove_prefix(std::min(comma + 1, specification.size()));
  }
  return levels;
}

}  // namespace

namespace detail {

std::array<std::atomic<LogLevel>, log_components> log_levels{};

void write_log(LogComponent component, LogLevel level, std::string_view text) noexcept {
  try {
    const int rank = log_rank.load(std::memory_order_relaxed);
    const std::string line = fmt::format("weir: {}{}: {}: {}\n", rank < 0 ? "" : fmt::format("rank {}: ", rank),
                                         component_names[static_cast<std::size_t>(component)],
                                         level_names[static_cast<std::size_t>(level)], text);
    // One call a line, so that the lines of several ranks do not mix.
    [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, line.data(), line.size());
  } catch (const std::exception&) {
    // A message that cannot be written must not stop the work it speaks of.
  }
}

}  // namespace detail

Status set_log(std::string_view specification) {
  Result<Levels> levels = parse(specification);
  if (!levels) return levels.status();
  for (std::size_t i = 0; i < log_components; ++i) detail::log_levels[i] = (*levels)[i];
  return {};
}

bool is_log_specification(std::string_view specification) { return parse(specification).ok(); }

void set_log_rank(int rank) noexcept { log_rank = rank; }

}  // namespace weir
