#pragma once

#include <fmt/format.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <new>
#include <string_view>
#include <weir/status.hpp>

/// Messages for people who look for a reason, on stderr, one line each. Off unless the setting `log` asks for them.
namespace weir {

enum class LogLevel : std::uint8_t { off, error, warn, info, debug };

/// The part of Weir that speaks; one a folder of the sources.
enum class LogComponent : std::uint8_t { core, machine, plan, memory, storage, exchange, engine, net, remote };
inline constexpr std::size_t log_components = 9;

/// Sets the levels of all components from "warn,plan:debug"; later parts override earlier ones, "" switches all off.
Status set_log(std::string_view specification);
/// Whether `set_log` would accept it.
bool is_log_specification(std::string_view specification);
/// Lines carry the rank from now on.
void set_log_rank(int rank) noexcept;

namespace detail {
extern std::array<std::atomic<LogLevel>, log_components> log_levels;
void write_log(LogComponent component, LogLevel level, std::string_view text) noexcept;
}  // namespace detail

inline bool log_enabled(LogComponent component, LogLevel level) noexcept {
  return level <= detail::log_levels[static_cast<std::size_t>(component)].load(std::memory_order_relaxed);
}

/// Formats and writes a line when the component's level asks for it; otherwise costs a load and a comparison.
template <class... Args>
void log_line(LogComponent component, LogLevel level, fmt::format_string<Args...> format, Args&&... args) {
  if (!log_enabled(component, level)) return;
  try {
    detail::write_log(component, level, fmt::format(format, std::forward<Args>(args)...));
  } catch (const std::bad_alloc&) {
    // A message that cannot be written must not stop the work it speaks of.
  }
}

}  // namespace weir
