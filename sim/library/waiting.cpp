#include "waiting.hpp"

#include <functional>
#include <unordered_map>

#include "exchange/doorbell.hpp"
#include "exchange/host.hpp"

// Takes the place of exchange/doorbell.cpp and host.cpp: ranks are actors of one process, of which one runs at a time,
// and time is the simulation's.
namespace weir {
namespace {

namespace s4u = simgrid::s4u;

constexpr double poll_s = 2e-6;  // between two looks at what cannot wake

/// Of a node: a word that its ranks share has another address in each.
struct Sleepers {
  s4u::MutexPtr mutex = s4u::Mutex::create();
  s4u::ConditionVariablePtr change = s4u::ConditionVariable::create();
};
std::unordered_map<const s4u::Host*, Sleepers> sleepers;

Sleepers& neighbours() { return sleepers.at(s4u::this_actor::get_host()); }

}  // namespace

void sim::prepare_waiting(const s4u::Host* node) { sleepers.try_emplace(node); }

std::uint64_t host_key() noexcept { return std::hash<const s4u::Host*>{}(s4u::this_actor::get_host()); }

double clock_s() noexcept { return s4u::Engine::get_clock(); }

bool Patience::poll() noexcept { return false; }  // sleeping costs nothing here

void Patience::pause() noexcept { s4u::this_actor::sleep_for(poll_s); }

bool sleep_while_equal(std::atomic<std::uint32_t>& word, std::uint32_t seen, double) noexcept {
  std::unique_lock lock{*neighbours().mutex};
  if (word.load() == seen) neighbours().change->wait_for(lock, 1.0);
  return true;  // messages go on without anybody looking after them
}

void wake_all(std::atomic<std::uint32_t>&) noexcept { neighbours().change->notify_all(); }

}  // namespace weir
