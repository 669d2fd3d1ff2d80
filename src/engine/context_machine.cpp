#include <fmt/format.h>
#include <xxhash.h>

#include "core/errors.hpp"
#include "core/log.hpp"
#include "engine/calibrate.hpp"
#include "engine/context.hpp"
#include "engine/detect_machine.hpp"
#include "machine/description.hpp"
#include "machine/local_device.hpp"
#include "machine/stored.hpp"
#include "memory/make_bank.hpp"

// What a context knows of its machine, and the memory banks that it uses there.
namespace weir {
namespace {

/// As machine.description: what can be found out, or nothing.
constexpr std::string_view detect_word = "detect", none_word = "none";

/// The machine that a setting describes, with a hash of all that is known of it.
Result<std::shared_ptr<const Machine>> described_machine(const std::string& text, int job_nodes, std::uint64_t& hash) {
  Result<Machine> found = find_machine(text);
  if (!found) return found.status();
  if (found->nodes() < job_nodes)
    return problem(Code::settings,
                   fmt::format("cannot use machine.description '{}': it has {} node{}, the job {}", text, found->nodes(),
                               found->nodes() == 1 ? "" : "s", job_nodes),
                   "describe all nodes, or leave machine.description empty");
  const std::string written = write_machine(*found);
  hash = XXH3_64bits(written.data(), written.size()) | 1;
  return std::make_shared<const Machine>(std::move(*found));
}

}  // namespace

/// How to find out what the machine is; made before the ranks agree that they all can.
struct Context::Impl::Looking {
  DetectOptions here;
  RemoteOptions servers;
  CalibrateOptions calibration;
  bool asked;   ///< by settings, so that a failure is an error
  bool trusts;  ///< figures that nobody has measured
};

Status Context::Impl::describe(Outcome& outcome) {
  const std::string& text = settings.text("machine.description");
  const bool asked = text == detect_word || file_settings->election.wants_bank();
  if (asked || (text.empty() && team->nodes().nodes() > 1)) {
    looking = std::make_shared<Looking>(
        Looking{detect_options(settings, "."), RemoteOptions::of(settings), {}, asked, text == detect_word});
    looking->calibration.cache = settings.text("machine.calibration");
  }
  if (text.empty() || text == detect_word || text == none_word) return {};
  auto described = described_machine(text, team->nodes().nodes(), outcome.vote);
  if (!described) return described.status();
  machine = std::move(*described);
  outcome.most = outcome.vote;
  return {};
}

Status Context::Impl::detect() {
  const auto what = std::exchange(looking, nullptr);
  if (machine || !what) return {};
  const Status found = look(*what);
  if (found.ok() || what->asked) return found;
  log_line(LogComponent::machine, LogLevel::warn, "aggregators are spread evenly: {}", found.message());
  return {};
}

Status Context::Impl::look(const Looking& what) {
  Result<JoinedNodes> nodes = detect_nodes(*team, what.here, what.servers);
  if (!nodes) return nodes.status();
  Result<StoredCalibration> stored = load_calibration(*team, *nodes, what.calibration);
  if (!stored) return stored.status();
  for (const std::string& warning : stored->warnings) log_line(LogComponent::machine, LogLevel::warn, "{}", warning);
  std::shared_ptr<const Machine> made;
  const Status status = attempt("make a context", [&]() -> Status {
    Machine found = machine_of(*nodes, most_ranks_on_a_node(*team));
    if (stored->calibration) apply(found, *stored->calibration);
    made = std::make_shared<const Machine>(std::move(found));
    return {};
  });
  if (Status all = team->agreed(status); !all.ok()) return all;
  machine = std::move(made);
  trusts_figures = what.trusts || machine->storage.write.origin == Origin::measured;
  return {};
}

std::shared_ptr<const Machine> Context::Impl::machine_in_sight() noexcept {
  if (machine || seen || team->nodes().nodes() > 1) return machine ? machine : seen;
  (void)attempt("look at the machine", [&]() -> Status {
    Result<NodeFacts> facts = detect_node(detect_options(settings, "."));
    if (!facts) return facts.status();
    const JoinedNodes nodes = join({std::move(*facts)});
    Machine found = machine_of(nodes, team->size());
    const CalibrationKey key = CalibrationKey::of(nodes, team->size(), CalibrateOptions{}.storage);
    if (auto text = read_calibration(calibration_path(settings.text("machine.calibration"), key)))
      if (auto stored = parse_calibration(*text, key)) apply(found, *stored);
    seen = std::make_shared<const Machine>(std::move(found));
    return {};
  });
  return seen;
}

Result<std::vector<MemoryBank*>> Context::Impl::banks_for(const Layout& layout, const ElectionRules& rules) {
  std::vector<MemoryBank*> order;
  const auto domain = domain_of_rank(layout, team->rank());
  if (!domain || layout.placement.banks.empty() || !machine || machine->banks.empty()) return order;
  const std::uint32_t first = layout.placement.banks[*domain];
  if (machine->banks[first].kind == "dram" && machine->banks[first].path.empty()) return order;
  PlacementConditions conditions;
  conditions.machine = machine.get();
  conditions.persistency = rules.persistency;
  conditions.buffers = 1;
  conditions.buffer_bytes = static_cast<double>(ArenaShape::of(layout, team->nodes(), team->rank()).whole_bytes());
  std::vector<std::uint32_t> indices{first};
  for (const int other : conditions.fitting_banks(conditions.buffer_bytes))
    if (static_cast<std::uint32_t>(other) != first) indices.push_back(static_cast<std::uint32_t>(other));
  for (const std::uint32_t index : indices) {
    auto& bank = banks[index];
    if (!bank) {
      Result<std::unique_ptr<MemoryBank>> made = open_bank(index);
      if (!made && order.empty() && index == indices.back()) return made.status();
      if (!made) {
        log_line(LogComponent::plan, LogLevel::warn, "{}", made.status().message());
        continue;
      }
      bank = std::move(*made);
    }
    order.push_back(bank.get());
  }
  return order;
}

Result<std::unique_ptr<MemoryBank>> Context::Impl::open_bank(std::uint32_t index) {
  Bank here = machine->banks[index];
  here.path = on_node(here.path, team->node());
  std::vector<NumaFacts> numa;
  if (here.path.empty() && here.kind != "dram")
    if (Result<NodeFacts> node = detect_node(detect_options(settings, ".")); node) numa = std::move(node->numa);
  Result<std::unique_ptr<MemoryBank>> made = make_bank(here, numa);
  if (made && index < Team::shared_accounts) (*made)->share(team->account(static_cast<int>(index)));
  return made;
}

}  // namespace weir
