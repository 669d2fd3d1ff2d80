#include "engine/remote_dumps.hpp"

#include <new>

#include "core/errors.hpp"
#include "core/log.hpp"
#include "core/stopwatch.hpp"

namespace weir {

void RemoteBank::revive() noexcept {
  if (losses == 0 || !next_try_.is_over() || memory->failure().ok()) return;
  constexpr double share = 0.05;  // of the time that may be spent on it
  const Stopwatch watch;
  const Status status = attempt("reach memory servers", [&]() -> Status {
    auto made = connect_remote_memory(options);
    if (!made) return made.status();
    memory = std::move(*made);
    ++connections;
    log_line(LogComponent::core, LogLevel::info, "memory servers are reached again");
    return {};
  });
  if (!status.ok()) next_try_ = Deadline::in(watch.seconds() / share);
}

std::shared_ptr<RemoteDump> RemoteDumps::of(std::uint64_t plan_serial, RemoteBank& bank) noexcept try {
  std::erase_if(dumps_, [&](const auto& dump) { return dump->losses != bank.losses; });
  for (const auto& dump : dumps_)
    if (dump->plan_serial == plan_serial) return dump;
  ++bank.name.serial;
  auto dump = std::make_shared<RemoteDump>();
  dump->plan_serial = plan_serial;
  dump->losses = bank.losses;
  dump->name = bank.name;
  dump->name.key[1] ^= plan_serial;  // a rank that missed one must not meet another plan's
  if (dumps_.size() == most) dumps_.erase(dumps_.begin());
  dumps_.push_back(dump);
  return dump;
} catch (const std::bad_alloc&) {
  return nullptr;
}

}  // namespace weir
