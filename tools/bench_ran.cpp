#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <memory>
#include <numeric>
#include <random>

#include "baseline.hpp"
#include "bench_common.hpp"
#include "bench_job.hpp"
#include "bench_peer.hpp"
#include "box/host.hpp"
#include "commands.hpp"
#include "core/units.hpp"
#include "launch.hpp"
#include "memory_server_process.hpp"
#include "statistics.hpp"
#include "text_table.hpp"

namespace weir::tools {
namespace {

struct RanOptions {
  std::vector<std::string> chunks{"4KiB", "16KiB", "64KiB", "256KiB", "1MiB", "4MiB", "16MiB"};
  std::vector<int> ranks{6, 12, 18, 24, 30, 36};
  std::vector<std::string> buffers{"128KiB", "256KiB", "512KiB", "1MiB", "2MiB"};
  std::string transport = "socket";
  std::string bytes = "4MiB";
  std::string fixed_chunk = "64KiB";
  int fixed_ranks = 36;
  int pairs = 7;
  double budget_s = 600;
  std::string directory, json, launcher;
  std::vector<std::string> settings;
  std::string peer;
  std::vector<std::string> sizes = PeerOptions{}.sizes;
};

std::uint64_t bytes_of_option(const std::string& text, const char* option) {
  const auto bytes = parse_bytes(text);
  if (!bytes || *bytes == 0)
    throw Error{{Code::invalid, fmt::format("weir: {} '{}' is not a number of bytes, such as 64KiB", option, text)}};
  return *bytes;
}

/// One line of a figure: a chunk size, a number of ranks, or a size of buffers.
struct Point {
  std::string label;
  std::uint64_t chunk;
  int ranks;
  std::uint64_t buffer = 0;  ///< 0: as Weir chooses, or the settings say
};

/// The measurements of one point, by operation.
std::vector<bench::Measurement> measure(const RanOptions& options, const Point& point, const std::string& worker,
                                        const Progress& progress, bench::Results& results) {
  const Scratch scratch{options.directory, "--dir"};
  const std::uint64_t bytes =
      std::max(bytes_of_option(options.bytes, "--bytes"), point.chunk) / point.chunk * point.chunk;
  const bench::Parameters parameters{{"chunk", std::to_string(point.chunk)}, {"bytes", std::to_string(bytes)}};
  results.workload = bench::make_workload("interleaved", parameters, point.ranks).value();
  using Listens = ServerProcess::Listens;
  const ServerProcess server{scratch.path(), 4 * results.workload.file_bytes + (std::uint64_t{64} << 20),
                             options.transport == "mapped" ? Listens::unix_socket : Listens::tcp};
  Settings settings = bench_settings(options.settings, point.ranks, 0);
  settings.try_emplace("plan.aggregators", std::to_string((point.ranks + 3) / 4));  // as in the document
  if (point.buffer > 0) settings["plan.buffer_size"] = std::to_string(point.buffer);
  settings["remote.contact"] = server.contact();
  settings["remote.secret"] = server.secret();
  settings["remote.transport"] = options.transport;
  results.request = {.workload = "interleaved",
                     .parameters = parameters,
                     .baseline = "two-phase",
                     .operations = {"write", "read"},
                     .directory = scratch.path(),
                     .pairs = options.pairs,
                     .budget_s = options.budget_s /
                                 static_cast<double>(options.chunks.size() + options.ranks.size() + options.buffers.size()),
                     .seed = std::random_device{}(),
                     .settings = settings,
                     .hints = {}};
  auto command = bench::launcher(options.launcher, point.ranks);
  command.push_back(worker);
  const std::size_t before = results.entries.size();
  run_worker(point.label, command, 3, progress, results);
  std::vector<bench::Measurement> measured;
  for (std::size_t i = before; i < results.entries.size(); ++i) measured.push_back(results.entries[i].measurement);
  return measured;
}

std::string congestion_control() {
  std::ifstream file{"/proc/sys/net/ipv4/tcp_congestion_control"};
  std::string name = "unknown";
  file >> name;
  return name;
}

std::string shown(const bench::Ratio& ratio) {
  return fmt::format("{:.2f} [{:.2f}, {:.2f}]", ratio.ratio, ratio.interval.low, ratio.interval.high);
}

/// The part of this machine's processors that was at work, over all runs.
double busy(const std::vector<double>& busy_s, const std::vector<double>& all_s) {
  const auto sum = [](const std::vector<double>& of) { return std::accumulate(of.begin(), of.end(), 0.0); };
  return std::min(1.0, sum(busy_s) / (sum(all_s) * static_cast<double>(::sysconf(_SC_NPROCESSORS_ONLN))));
}

/// The lines of a figure, and the same for programs.
struct Curves {
  explicit Curves(const std::string& first)
      : table{{first, "operation", "asynchronous", "synchronous", "two-phase", "sync / async", "two-phase / async",
               "at most", "meetings, async", "meetings, sync", "busy, async", "busy, sync"}},
        absorbed{{first, "kept until absorbed", "until durable, in two phases", "ratio"}} {}

  [[nodiscard]] std::string text() const { return bench::aligned(table) + "\n" + bench::aligned(absorbed); }

  void add(const Point& point, const bench::Measurement& m) {
    if (m.operation == "absorb") return add_absorbed(point, m);
    const auto& synchronous = m.formulations_s.at("synchronous");
    const bench::Ratio gain = bench::ratio_of_pairs(synchronous, m.weir_s),
                       against = bench::ratio_of_pairs(m.baseline_s, m.weir_s);
    const auto met = [&](const char* way, const std::vector<double>& all_s) {
      const auto share = [&](const auto& part_s) { return 100 * bench::median(part_s.at(way)) / bench::median(all_s); };
      return fmt::format("{:.1f} % ({:.0f} %)", share(m.leaving_s), share(m.meeting_s));
    };
    const double asynchronous_busy = busy(m.busy_s.at("asynchronous"), m.weir_s);
    table.push_back({point.label, m.operation, format_seconds(bench::median(m.weir_s)),
                     format_seconds(bench::median(synchronous)), format_seconds(bench::median(m.baseline_s)),
                     shown(gain), shown(against), fmt::format("{:.2f}", gain.ratio / asynchronous_busy),
                     met("asynchronous", m.weir_s), met("synchronous", synchronous),
                     fmt::format("{:.0f} %", 100 * asynchronous_busy),
                     fmt::format("{:.0f} %", 100 * busy(m.busy_s.at("synchronous"), synchronous))});
    json.push_back({{"chunk", point.chunk},
                    {"ranks", point.ranks},
                    {"buffer", point.buffer},
                    {"operation", m.operation},
                    {"asynchronous_s", m.weir_s},
                    {"synchronous_s", synchronous},
                    {"two_phase_s", m.baseline_s},
                    {"meeting_s", m.meeting_s},
                    {"leaving_s", m.leaving_s},
                    {"busy_s", m.busy_s},
                    {"problems", m.problems}});
  }

  void add_absorbed(const Point& point, const bench::Measurement& m) {
    absorbed.push_back({point.label, format_seconds(bench::median(m.weir_s)),
                        format_seconds(bench::median(m.baseline_s)),
                        shown(bench::ratio_of_pairs(m.baseline_s, m.weir_s))});
    json.push_back({{"chunk", point.chunk},
                    {"ranks", point.ranks},
                    {"buffer", point.buffer},
                    {"operation", m.operation},
                    {"absorbed_s", m.weir_s},
                    {"durable_s", m.baseline_s},
                    {"busy_s", m.busy_s},
                    {"problems", m.problems}});
  }

  std::vector<std::vector<std::string>> table, absorbed;
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
};

void run_ran(const RanOptions& options) {
  bench::catch_interrupts();
  // For all that are started here too: shared memory would be another transport than that between nodes.
  ::setenv("UCX_TLS", "tcp", 0);
  ::setenv("UCX_NET_DEVICES", "lo", 0);
  // What the machine uses elsewhere may spread messages over time, on a way that has no limit of its own.
  if (std::getenv("UCX_NET_DEVICES") == std::string{"lo"}) box::enter_own_network();
  if (!options.peer.empty()) return run_bench_peer({options.sizes, options.pairs, options.directory, options.json});
  const std::string worker = worker_path();
  const Progress progress;
  bench::Results results;
  const std::uint64_t chunk = bytes_of_option(options.fixed_chunk, "--chunk");
  std::vector<Point> of_chunks, of_ranks, of_buffers;
  for (const std::string& each : options.chunks)
    of_chunks.push_back({each, bytes_of_option(each, "--chunks"), options.fixed_ranks});
  for (const int each : options.ranks) of_ranks.push_back({std::to_string(each), chunk, each});
  for (const std::string& each : options.buffers)
    of_buffers.push_back({each, chunk, options.fixed_ranks, bytes_of_option(each, "--buffers")});
  const auto figure = [&](const std::string& first, const std::vector<Point>& points) {
    Curves curves{first};
    for (const Point& point : points) {
      if (bench::interrupted()) break;
      for (const bench::Measurement& m : measure(options, point, worker, progress, results)) curves.add(point, m);
    }
    return curves;
  };
  const Curves by_chunk = figure("chunk", of_chunks), by_ranks = figure("ranks", of_ranks),
               by_buffer = figure("buffer", of_buffers);
  progress.clear();
  std::string way = "mapped: every way is copies in the memory of this machine";
  if (options.transport == "socket")
    way = fmt::format("reached over TCP (loopback, congestion control {})", congestion_control());
  else if (options.transport == "ucx")
    way = fmt::format("reached by UCX ({} on {}, congestion control {})", std::getenv("UCX_TLS"),
                      std::getenv("UCX_NET_DEVICES"), congestion_control());
  std::string text = fmt::format("{} a rank through a memory server on this machine, {}; {} ranks:\n{}", options.bytes,
                                 way, options.fixed_ranks, by_chunk.text());
  text += fmt::format("\nthe same in chunks of {}:\n{}", options.fixed_chunk, by_ranks.text());
  text += fmt::format("\nthe same, {} ranks, by the size of buffers, and so the number of rounds:\n{}",
                      options.fixed_ranks, by_buffer.text());
  text +=
      "\nmeetings: share of the time from when the last rank had come to a meeting until the others went on, which is "
      "what meeting costs,\nand in brackets from when each had come, which is also for slower ones; means of all ranks\n"
      "busy: processors at work, servers' too; at most: sync / async if asynchronous steps kept all processors busy\n";
  for (const auto& failure : results.failures)
    text += fmt::format("failed: {}: {}\n", failure.baseline, failure.problem);
  for (const auto& entry : results.entries)
    for (const std::string& problem : entry.measurement.problems)
      text += fmt::format("wrong: {}, {}: {}\n", entry.baseline, entry.measurement.operation, problem);
  print_results(options.json, text, {{"by_chunk", by_chunk.json}, {"by_ranks", by_ranks.json}, {"by_buffer", by_buffer.json}});
  set_exit_code(results.right() ? 0 : 1);
}

}  // namespace

void add_bench_ran(CLI::App& bench) {
  CLI::App* command = bench.add_subcommand(
      "ran",
      "three phases through a memory server, with one meeting or one in every round, beside two phases; absorbed data");
  const auto options = std::make_shared<RanOptions>();
  const auto add = [&](const std::string& name, auto& value, const std::string& meaning) {
    return command->add_option(name, value, meaning)->capture_default_str();
  };
  add("--chunks", options->chunks, "contiguous chunks of the first figure")->delimiter(',');
  add("--fixed-ranks", options->fixed_ranks, "ranks of the first figure")->check(CLI::Range(1, 100'000));
  add("--ranks", options->ranks, "numbers of ranks of the second figure")
      ->delimiter(',')
      ->check(CLI::Range(1, 100'000));
  add("--buffers", options->buffers, "buffers of aggregators of a third figure")->delimiter(',');
  add("--chunk", options->fixed_chunk, "contiguous chunk of the second and third figure");
  add("--transport", options->transport,
      "to the server: socket, over TCP, or ucx, as over other networks, or mapped, which only a server on the same node can be")
      ->check(CLI::IsMember({"socket", "ucx", "mapped"}));
  add("--bytes", options->bytes, "of a rank, at least one chunk");
  add("--pairs", options->pairs, "runs of each way")->check(CLI::Range(3, 100'000));
  add("--budget", options->budget_s, "seconds for everything; fewer runs, at least 3, when they do not suffice")
      ->check(CLI::NonNegativeNumber);
  auto* peer = add("--peer", options->peer, "puts and gets alone, beside this program's: ucx (its ucx_perftest)")
                   ->check(CLI::IsMember({"ucx"}));
  add("--sizes", options->sizes, "of messages, beside a peer")->delimiter(',')->needs(peer);
  add("--dir", options->directory, "where to make a directory for the files (TMPDIR, else the working directory)")
      ->check(CLI::ExistingDirectory);
  add("--json", options->json, json_meaning);
  add("--set", options->settings, "a setting of Weir, key=value; may be repeated")->take_all();
  add("--mpirun", options->launcher, "another launcher with its arguments, without the number of ranks");
  command->footer(R"(Examples:
  weir bench ran
  weir bench ran --chunks 4KiB,64KiB --ranks 6,12 --pairs 5 --set plan.buffer_size=1MiB
  weir bench ran --transport mapped --bytes 16MiB
  weir bench ran --peer ucx)");
  command->callback([options] { telling_errors([&] { run_ran(*options); }); });
}

}  // namespace weir::tools
