#include "engine/calibrate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "core/errors.hpp"
#include "engine/detect_machine.hpp"
#include "engine/link_speed.hpp"
#include "machine/local_device.hpp"
#include "memory/bank_speed.hpp"
#include "memory/make_bank.hpp"
#include "remote/server_bank.hpp"
#include "storage/file_speed.hpp"

namespace weir {
namespace {

constexpr const char* calibrating = "calibrate";
constexpr std::uint64_t message_bytes = std::uint64_t{4} << 20;

/// One thing to measure, the same list on all ranks; those who measured it have samples.
struct Slot {
  enum class All { slowest, together };
  std::string name;
  Unit unit;
  All all;
  std::vector<double> samples;
};

class Calibrator {
 public:
  Calibrator(Team& team, const JoinedNodes& nodes, const CalibrateOptions& options)
      : team_{team}, nodes_{nodes}, options_{options}, banks_{banks_of(nodes)} {
    using enum Unit;
    using enum Slot::All;
    if (most_ranks_on_a_node(team) > 1)
      add("node", {{"latency", seconds, slowest}, {"bandwidth", bytes_per_second, slowest}});
    if (team.nodes().nodes() > 1)
      add("network", {{"latency", seconds, slowest}, {"bandwidth", bytes_per_second, slowest},
                      {"bandwidth_of_all", bytes_per_second, slowest}});
    for (const Bank& bank : banks_)
      add("bank." + bank.name, {{"latency", seconds, slowest}, {"read", bytes_per_second, slowest},
                                {"write", bytes_per_second, slowest}});
    add("storage", {{"latency", seconds, slowest}, {"read", bytes_per_second, together},
                    {"write", bytes_per_second, together}, {"write_durable", bytes_per_second, together}});
    buffer_.resize(message_bytes);
    share_ = 0.8 * options.seconds / static_cast<double>(slots_.size());
  }

  /// Every rank goes through all of it: who does not measure waits.
  void run() {
    messages_in_node();
    messages_between_nodes();
    for (const Bank& bank : banks_) {
      tell("bank " + bank.name);
      if (measures_alone()) keep(attempt(calibrating, [&] { return bank.path.empty() ? memory(bank) : directory(bank); }));
      meet();
    }
    tell("storage " + options_.storage);
    if (measures_alone()) keep(attempt(calibrating, [&] { return storage(); }));
    meet();
  }

  /// The same on all ranks. Collective.
  Calibration result() {
    Calibration found{CalibrationKey::of(nodes_, most_ranks_on_a_node(team_), options_.storage), {}};
    for (Slot& slot : slots_) {
      Measurement mine = Measurement::of(slot.name, slot.unit, std::move(slot.samples));
      const bool bandwidth = slot.unit == Unit::bytes_per_second, sum = slot.all == Slot::All::together;
      const double slowness = mine.value <= 0 ? 0 : bandwidth ? 1 / mine.value : mine.value;
      double worst[3] = {slowness, mine.spread, static_cast<double>(mine.repetitions)}, total = mine.value;
      MPI_Allreduce(MPI_IN_PLACE, worst, 3, MPI_DOUBLE, MPI_MAX, team_.communicator());
      if (sum) MPI_Allreduce(MPI_IN_PLACE, &total, 1, MPI_DOUBLE, MPI_SUM, team_.communicator());
      if (worst[0] <= 0) continue;
      mine.value = sum ? total : bandwidth ? 1 / worst[0] : worst[0];
      mine.spread = worst[1];
      mine.repetitions = static_cast<int>(worst[2]);
      found.measurements.push_back(std::move(mine));
    }
    return found;
  }

  std::vector<std::string> warnings;

 private:
  struct Kind {
    const char* name;
    Unit unit;
    Slot::All all;
  };
  void add(const std::string& of, std::initializer_list<Kind> kinds) {
    for (const Kind& kind : kinds) slots_.push_back({of + "." + kind.name, kind.unit, kind.all, {}});
  }
  std::vector<double>& samples(const std::string& name) {
    return std::ranges::find(slots_, name, &Slot::name)->samples;
  }

  [[nodiscard]] bool pretended() const { return nodes_.systems < nodes_.nodes; }
  [[nodiscard]] bool measures_alone() const { return pretended() ? team_.rank() == 0 : team_.leader(); }
  void meet() { (void)team_.agree(Outcome{}); }
  void keep(const Status& status) {
    if (!status.ok()) warnings.push_back(status.message());
  }
  void tell(const std::string& what) {
    if (options_.progress && team_.rank() == 0)
      options_.progress(what, static_cast<double>(told_) / static_cast<double>(banks_.size() + 3));
    ++told_;
  }

  void messages_in_node() {
    tell("messages inside a node");
    const std::vector<int>& ranks = team_.nodes().ranks_on[0];
    if (team_.node() == 0 && ranks.size() > 1 && team_.local_rank() < 2) {
      const bool first = team_.local_rank() == 0;
      const PingPong pair{team_.communicator(), ranks[first ? 1 : 0], first};
      pair.latency(share_, samples("node.latency"));
      pair.bandwidth(share_, buffer_, samples("node.bandwidth"));
    }
    meet();
  }

  void messages_between_nodes() {
    tell("messages between nodes");
    const auto& on = team_.nodes().ranks_on;
    const int nodes = static_cast<int>(on.size()), node = team_.node();
    if (nodes < 2) return;
    const auto pair = [&](int other, bool first) {
      return PingPong{team_.communicator(), on[static_cast<std::size_t>(other)][0], first};
    };
    if (team_.leader() && (node == 0 || node == nodes - 1)) {
      const PingPong ends = pair(node == 0 ? nodes - 1 : 0, node == 0);
      ends.latency(share_, samples("network.latency"));
      ends.bandwidth(share_, buffer_, samples("network.bandwidth"));
    }
    meet();
    const int half = nodes / 2;
    if (team_.leader() && node < 2 * half)
      pair(node < half ? node + half : node - half, node < half)
          .bandwidth(share_, buffer_, samples("network.bandwidth_of_all"));
    meet();
  }

  /// Servers may have less than a good measurement wants.
  static std::uint64_t room_in(const Bank& bank) {
    return bank.is_remote() ? static_cast<std::uint64_t>(bank.capacity.value / 2) : ~std::uint64_t{0};
  }

  Status memory(const Bank& bank) {
    auto real = bank.is_remote() ? make_server_bank(bank, options_.servers) : make_bank(bank, nodes_.common.numa);
    if (!real) return real.status();
    if ((*real)->attributes().emulated) return {};
    auto speed = measure_bank(**real, std::min(beyond_caches(nodes_.common), room_in(bank)), 3 * share_);
    if (!speed) return speed.status();
    samples("bank." + bank.name + ".latency") = std::move(speed->latency);
    samples("bank." + bank.name + ".read") = std::move(speed->read);
    samples("bank." + bank.name + ".write") = std::move(speed->write);
    return {};
  }

  Status directory(const Bank& bank) {
    auto speed = measure_files(on_node(bank.path, team_.node()), 3 * share_);
    if (!speed) return speed.status();
    samples("bank." + bank.name + ".latency") = std::move(speed->latency);
    samples("bank." + bank.name + ".read") = std::move(speed->read);
    samples("bank." + bank.name + ".write") = std::move(speed->durable);
    return {};
  }

  Status storage() {
    auto speed = measure_files(options_.storage, 4 * share_);
    if (!speed) return speed.status();
    samples("storage.latency") = std::move(speed->latency);
    samples("storage.read") = std::move(speed->read);
    samples("storage.write") = std::move(speed->accepted);
    samples("storage.write_durable") = std::move(speed->durable);
    return {};
  }

  Team& team_;
  const JoinedNodes& nodes_;
  const CalibrateOptions& options_;
  std::vector<Bank> banks_;
  std::vector<Slot> slots_;
  std::vector<std::byte> buffer_;
  double share_ = 0;  // of the time, for one slot
  std::size_t told_ = 0;
};

}  // namespace

Result<Calibrated> calibrate(Team& team, const JoinedNodes& nodes, const CalibrateOptions& options) {
  team.connect();
  std::optional<Calibrator> calibrator;
  const Status ready = attempt(calibrating, [&]() -> Status {
    if (!(options.seconds > 0))
      return problem(Code::invalid, "cannot calibrate in no time", "give it more than 0 seconds");
    calibrator.emplace(team, nodes, options);
    return {};
  });
  if (Status status = team.agreed(ready); !status.ok()) return status;
  calibrator->run();
  Calibrated done;
  done.calibration = calibrator->result();
  done.warnings = std::move(calibrator->warnings);
  return done;
}

Result<StoredCalibration> load_calibration(Team& team, const JoinedNodes& nodes, const CalibrateOptions& options) {
  constexpr const char* action = "load a calibration";
  team.connect();
  std::optional<CalibrationKey> key;
  std::string text;
  StoredCalibration found;
  Status status = attempt(action, [&]() -> Status {
    key = CalibrationKey::of(nodes, most_ranks_on_a_node(team), options.storage);
    const std::string path = calibration_path(options.cache, *key);
    if (team.rank() != 0 || path.empty()) return {};
    auto stored = read_calibration(path);
    if (stored) {
      auto usable = parse_calibration(*stored, *key);
      if (usable) text = std::move(*stored);
      else found.warnings.push_back(usable.status().message() + "\n      [" + path + "]");
    } else if (stored.status().code() != Code::not_found) {
      found.warnings.push_back(stored.status().message());
    }
    return {};
  });
  if (status = team.agreed(status); !status.ok()) return status;
  std::uint64_t size = text.size();
  MPI_Bcast(&size, 1, MPI_UINT64_T, 0, team.communicator());
  if (size == 0) return found;
  status = attempt(action, [&] { return text.resize(size), Status{}; });
  if (status = team.agreed(status); !status.ok()) return status;
  MPI_Bcast(text.data(), static_cast<int>(size), MPI_CHAR, 0, team.communicator());
  status = attempt(action, [&]() -> Status {
    auto loaded = parse_calibration(text, *key);
    if (loaded) found.calibration = std::move(*loaded);
    return loaded.status();
  });
  if (status = team.agreed(status); !status.ok()) return status;
  return found;
}

Result<Calibrated> load_or_calibrate(Team& team, const JoinedNodes& nodes, const CalibrateOptions& options) {
  StoredCalibration stored;
  if (options.reuse) {
    auto loaded = load_calibration(team, nodes, options);
    if (!loaded) return loaded.status();
    stored = std::move(*loaded);
  }
  if (stored.calibration) return Calibrated{std::move(*stored.calibration), true, {}};
  auto made = calibrate(team, nodes, options);
  if (!made || team.rank() != 0) return made;
  made->warnings.insert(made->warnings.begin(), stored.warnings.begin(), stored.warnings.end());
  const std::string path = calibration_path(options.cache, made->calibration.key);
  const Status kept = path.empty() ? problem(Code::not_found, "cannot store the calibration: there is no cache directory",
                                             "name one in machine.calibration")
                                   : write_calibration(path, calibration_text(made->calibration));
  if (!kept.ok()) made->warnings.push_back(kept.message());
  return made;
}

}  // namespace weir
