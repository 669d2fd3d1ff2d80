#include "this_machine.hpp"

#include <fmt/format.h>

#include "bench_common.hpp"
#include "engine/calibrate.hpp"
#include "engine/detect_machine.hpp"
#include "machine/local_device.hpp"
#include "memory/make_bank.hpp"
#include "mpi_session.hpp"

namespace weir::tools {
namespace {

template <Unit unit>
std::string known(const Figure<unit>& figure) {
  return figure.known() ? ", " + format_figure(figure) : std::string{};
}

}  // namespace

Result<std::optional<ThisMachine>> look_at_this_machine(const Look& look) {
  Result<ResolvedSettings> settings = ResolvedSettings::resolve();
  if (!settings) return settings.status();
  const MpiSession session;
  Team::Options options;
  options.ranks_per_node = static_cast<int>(settings->number("machine.ranks_per_node"));
  Result<std::shared_ptr<Team>> made = Team::create(MPI_COMM_WORLD, options);
  if (!made) return made.status();
  Team& team = **made;
  const RemoteOptions servers = RemoteOptions::of(*settings);
  Result<JoinedNodes> nodes = detect_nodes(team, detect_options(*settings, look.storage), servers);
  if (!nodes) return nodes.status();
  CalibrateOptions how{look.seconds, look.storage, settings->text("machine.calibration"), false, servers, {}};
  ThisMachine here{machine_of(*nodes, most_ranks_on_a_node(team)), nodes->common, {}, {}, nodes->common.warnings};
  const auto warn = [&](const std::vector<std::string>& more) {
    here.warnings.insert(here.warnings.end(), more.begin(), more.end());
  };
  if (look.calibrate) {
    const Progress progress;
    if (team.rank() == 0)
      how.progress = [&](std::string_view what, double done) { progress.show(fmt::format("measuring {}", what), done); };
    Result<Calibrated> measured = load_or_calibrate(team, *nodes, how);
    if (team.rank() == 0) progress.clear();
    if (!measured) return measured.status();
    here.calibration = measured->calibration;
    warn(measured->warnings);
  } else {
    Result<StoredCalibration> stored = load_calibration(team, *nodes, how);
    if (!stored) return stored.status();
    if (stored->calibration) here.calibration = *stored->calibration;
    warn(stored->warnings);
  }
  here.calibrated = calibration_path(how.cache, here.calibration.key);
  apply(here.machine, here.calibration);
  if (team.rank() != 0) return std::optional<ThisMachine>{};
  return std::optional{std::move(here)};
}

std::string banks_here(const Machine& machine) {
  Result<NodeFacts> node = detect_node({});
  std::string text = "\non this node\n";
  for (const Bank& described : machine.banks) {
    Bank bank = described;
    bank.path = on_node(bank.path, 0);
    const auto say = [&](std::string_view what) { text += fmt::format("  {:<12} {}\n", bank.name, what); };
    if (bank.is_remote()) {
      say("memory of servers, which steps in three phases go through");
      continue;
    }
    auto made = make_bank(bank, node ? node->numa : std::vector<NumaFacts>{});
    if (!made)
      say(made.status().message());
    else if ((*made)->attributes().emulated)
      say(fmt::format("emulated in ordinary memory: {}", (*made)->attributes().reason));
    else
      say(bank.path.empty() ? "real memory" : fmt::format("files in '{}'", bank.path));
  }
  return text;
}

std::string hardware_text(const ThisMachine& here) {
  const NodeFacts& node = here.node;
  std::string text = fmt::format("\nhardware of a node\n  cores        {}\n", node.cores);
  for (const NumaFacts& numa : node.numa)
    text += fmt::format("  numa node    {}, {}{}{}{}{}\n", numa.index, numa.kind, known(numa.capacity), known(numa.latency),
                        known(numa.read), known(numa.write));
  for (const CacheFacts& cache : node.caches)
    text += fmt::format("  cache        {} of level {}{} each\n", cache.count, cache.level, known(cache.each));
  for (const NetworkDevice& network : node.networks)
    text += fmt::format("  network      {}, {}{}\n", network.name, network.kind, known(network.bandwidth));
  for (const BlockDevice& disk : node.disks)
    text += fmt::format("  disk         {}, {}{}\n", disk.name, disk.kind, known(disk.size));
  if (here.calibration.measurements.empty()) return text + "\nnothing was measured: `weir machine --calibrate` does\n";
  text += "\nmeasured\n";
  for (const Measurement& m : here.calibration.measurements)
    text += fmt::format("  {:<24} {:>14}  median of {}, the middle half within {:.0f} %\n", m.name,
                        format_figure(m.value, m.unit), m.repetitions, 100 * m.spread);
  return text + fmt::format("  kept in {}\n", here.calibrated);
}

}  // namespace weir::tools
