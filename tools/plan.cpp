#include "plan/plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <random>

#include "bench_common.hpp"
#include "commands.hpp"
#include "core/errors.hpp"
#include "core/units.hpp"
#include "machine/stored.hpp"
#include "model/explanation.hpp"
#include "model/machine_rule.hpp"
#include "model/three_phases.hpp"
#include "text_table.hpp"
#include "workload.hpp"

namespace weir::tools {
namespace {

struct PlanOptions {
  std::string machine;
  std::string model = "weir";
  std::string workload;
  std::vector<std::string> parameters;
  std::string operation = "write";
  int nodes = 0;
  int ranks_per_node = 0;
  int aggregators = 0;
  int buffers = 0;
  std::string buffer_size;
  std::string bank;
  std::string persistency = "none";
  std::vector<std::string> capacities;
  std::uint64_t seed = 1;
  bool compare = false;
  std::string json;
};

/// What is to be placed, and where the words about it come from.
struct Case {
  Machine machine;
  PlacementProblem problem;
  int ranks_per_node = 1;
  Direction direction = Direction::write;
  const Bank* servers = nullptr;  ///< that the step goes through, in three phases
  double direct_s = 0;            ///< predicted, where every rank moves its own pieces
  bool is_experiment = false;     ///< the one that the machine is known for
  std::string about;
  NodeMap nodes;
  Layout layout;  ///< for a workload
};

double bytes_of(const std::string& text, const std::string& option) {
  const auto bytes = parse_bytes(text);
  if (!bytes) throw Error{problem(Code::invalid, fmt::format("{} '{}' is not a size", option, text), "write it like 16MiB")};
  return static_cast<double>(*bytes);
}

/// `--capacity hbm=32MB`: a machine that is the same but for the size of some banks.
void change_capacities(Machine& machine, const PlanOptions& options) {
  for (const auto& [name, size] : pairs_of(options.capacities, "--capacity")) {
    const auto bank = std::ranges::find(machine.banks, name, &Bank::name);
    if (bank == machine.banks.end())
      throw Error{problem(Code::invalid, fmt::format("{} has no bank '{}'", machine.name, name),
                          fmt::format("`weir machine {}` lists them", machine.name))};
    bank->capacity = {bytes_of(size, "--capacity"), Origin::configured, {}};
  }
}

bool is_named(const Bank& bank, const std::string& name) { return bank.name == name || bank.kind == name; }

void set_conditions(PlacementProblem& problem, const PlanOptions& options) {
  const bool remote = problem.machine->server_bank() && is_named(*problem.machine->server_bank(), options.bank);
  problem.bank = remote ? "" : options.bank;
  problem.persistency = *parse_persistency(options.persistency);
  if (options.buffers > 0) problem.buffers = options.buffers;
  if (!options.buffer_size.empty()) problem.buffer_bytes = bytes_of(options.buffer_size, "--buffer-size");
}

/// The experiment that a stored machine is known for.
void use_experiment(Case& made, const PlanOptions& options) {
  if (!made.machine.experiment)
    throw Error{problem(Code::invalid, fmt::format("nothing is said about what {} shall move", made.machine.name),
                        "name a workload with --workload")};
  const Experiment& experiment = *made.machine.experiment;
  const int nodes = made.problem.nodes();
  made.ranks_per_node = options.ranks_per_node > 0 ? options.ranks_per_node : experiment.ranks_per_node;
  std::vector<double> bytes(static_cast<std::size_t>(nodes));
  std::mt19937_64 random{options.seed};
  std::uniform_real_distribution<double> any{0, experiment.most_bytes};
  for (std::size_t rank = 0; rank < bytes.size() * static_cast<std::size_t>(made.ranks_per_node); ++rank)
    bytes[rank / static_cast<std::size_t>(made.ranks_per_node)] +=
        experiment.bytes.empty() ? any(random) : rank < experiment.bytes.size() ? experiment.bytes[rank] : 0;
  made.problem.buffers = experiment.buffers;
  made.problem.buffer_bytes = experiment.buffer_bytes;
  made.problem.traffic =
      traffic_in_order(bytes, std::min(nodes * made.ranks_per_node,
                                       options.aggregators > 0 ? options.aggregators : experiment.aggregators));
  made.about = "its experiment";
  made.is_experiment = true;
}

/// A workload of the benchmark, laid out as the library would.
void use_workload(Case& made, const PlanOptions& options) {
  const int nodes = made.problem.nodes();
  made.ranks_per_node = options.ranks_per_node > 0 ? options.ranks_per_node : made.machine.ranks_per_node;
  const int ranks = nodes * made.ranks_per_node;
  const bench::Workload workload =
      bench::make_workload(options.workload, pairs_of(options.parameters, "--parameter"), ranks).value();
  made.nodes = NodeMap::blocks(ranks, made.ranks_per_node);
  const NodeMap& map = made.nodes;
  PlanRequest request;
  request.direction = options.operation == "read" ? Direction::read : Direction::write;
  request.nodes = &map;
  request.limits.aggregators = static_cast<std::uint32_t>(options.aggregators);
  if (options.buffers > 0) request.limits.buffers = static_cast<std::uint32_t>(options.buffers);
  if (!options.buffer_size.empty())
    request.limits.buffer_size = static_cast<std::uint64_t>(bytes_of(options.buffer_size, "--buffer-size"));
  request.storage.file_system = made.machine.storage.kind;
  request.storage.local = nodes == 1;
  if (made.machine.storage.stripe.known()) request.storage.stripe = static_cast<std::uint64_t>(made.machine.storage.stripe.value);
  const MachineRule rule{made.machine};
  request.model = &rule;
  const Bank* const servers = made.machine.server_bank();
  if (servers && is_named(*servers, options.bank)) request.limits.remote = PlanLimits::Remote::must;
  else if (servers && options.bank.empty()) request.limits.remote = PlanLimits::Remote::may;
  if (request.limits.remote != PlanLimits::Remote::no) request.machine = &made.machine;  // which says how it goes there
  request.rules.strategy = parse_strategy(options.model).value();

  std::vector<Footprint> footprints;
  for (int rank = 0; rank < ranks; ++rank)
    footprints.push_back(Footprint::of(RankDeclaration::of(bench::declaration(workload.part(rank))).value(),
                                       footprint_limit(ranks)));
  Layout& layout = made.layout = plan_layout(footprints, {}, request).value();
  if (!layout.domains.empty()) layout.placement.details.clear();  // told for the model's own election below
  made.direct_s = layout.placement.predicted_s;
  made.direction = request.direction;
  made.problem.reads = request.direction == Direction::read;
  if (layout.placement.remote && !unfit_for_three_phases(*servers, nodes, static_cast<double>(layout.bytes)))
    made.servers = servers;
  made.problem.traffic = traffic_of(layout, footprints, map);
  made.problem.buffers = static_cast<int>(layout.placement.buffers);
  made.problem.buffer_bytes = static_cast<double>(layout.placement.buffer_size);
  made.about = fmt::format("{} {} of {} {}", workload.name, workload.variant, workload.size, workload.unit);
}

std::unique_ptr<Case> make_case(const PlanOptions& options) {
  auto made = std::make_unique<Case>();
  made->machine = find_machine(options.machine).value();
  change_capacities(made->machine, options);
  made->problem.machine = &made->machine;
  if (options.nodes > made->machine.nodes())
    throw Error{problem(Code::invalid, fmt::format("{} has {} nodes, not {}", made->machine.name, made->machine.nodes(),
                                                   options.nodes),
                        "ask for fewer with --nodes")};
  made->problem.job_nodes = options.nodes;
  options.workload.empty() ? use_experiment(*made, options) : use_workload(*made, options);
  set_conditions(made->problem, options);
  return made;
}

/// The plan in words, with the aggregators where they were elected.
std::string plan_words(Case& made, const Places& places) {
  if (made.is_experiment) return {};
  if (!places.empty()) seat_aggregators(made.layout, places, made.nodes);
  return explain_plan(made.layout, made.nodes);
}

/// Simulated sharing is exact, and takes long where there are very many flows.
constexpr std::size_t most_simulated_flows = 3000;

bool simulates(const PlacementProblem& problem) {
  std::size_t flows = 0;
  for (const DomainTraffic& domain : problem.traffic) flows += domain.producers.size() + 1;
  return flows <= most_simulated_flows;
}

struct Outcome {
  Strategy strategy{};
  Election election;
  Prediction prediction;
};

Outcome carry_out(const Case& made, Strategy strategy, std::uint64_t seed) {
  const bool simulate = simulates(made.problem);
  Outcome outcome{strategy, elect(made.problem, strategy, simulate ? Effort::thorough : Effort::quick, seed).value(), {}};
  const Places& places = outcome.election.places;
  outcome.prediction = made.servers ? predict_three_phases(made.problem, places, *made.servers, made.direction)
                       : simulate   ? predict_by_sharing(made.problem, outcome.election.places)
                                : predict_from_loads(made.problem, outcome.election.places);
  return outcome;
}

double total_bytes(const PlacementProblem& problem) {
  double sum = 0;
  for (const DomainTraffic& domain : problem.traffic) sum += domain.bytes;
  return sum;
}

/// What was published for a model, over what was for greedy; nothing where the experiment is another one.
std::optional<double> published_over_greedy(const Case& made, Strategy strategy) {
  if (!made.is_experiment || !made.machine.experiment) return {};
  const auto& all = made.machine.experiment->published;
  const auto of = [&](Strategy s) {
    const auto found = all.find(name(s));
    return found == all.end() ? 0 : found->second.value;
  };
  if (of(strategy) <= 0 || of(Strategy::greedy) <= 0) return {};
  return of(strategy) / of(Strategy::greedy);
}

std::string comparison(const Case& made, const std::vector<Outcome>& outcomes) {
  std::vector<std::vector<std::string>> lines{{"model", "gathering", "storing", "total", "bandwidth", "over greedy"}};
  const bool published = published_over_greedy(made, Strategy::greedy).has_value();
  if (published) lines.front().emplace_back("published");
  for (const Outcome& outcome : outcomes) {
    const Prediction& p = outcome.prediction;
    lines.push_back({std::string{name(outcome.strategy)}, format_seconds(p.gather_s), format_seconds(p.store_s),
                     format_seconds(p.total_s), fmt::format("{:.0f} MB/s", total_bytes(made.problem) / p.total_s / 1e6),
                     fmt::format("{:.2f}", outcomes.front().prediction.total_s / p.total_s)});
    if (const auto ratio = published_over_greedy(made, outcome.strategy))
      lines.back().push_back(fmt::format("{:.2f}", *ratio));
    else if (published)
      lines.back().emplace_back("");
  }
  return fmt::format("{} for {}, {} by fair sharing of every link:\n{}", made.machine.name, made.about,
                     simulates(made.problem) ? "predicted" : "predicted from loads, not", bench::aligned(lines));
}

nlohmann::ordered_json prediction_json(const Prediction& p) {
  return {{"gather_s", p.gather_s}, {"store_s", p.store_s}, {"total_s", p.total_s}, {"rounds", p.rounds}};
}

nlohmann::ordered_json place_json(const Case& made, Place place) {
  const auto& banks = made.machine.banks;
  return {{"process", place.node * made.ranks_per_node},
          {"node", place.node},
          {"bank", banks.empty() ? "" : banks[static_cast<std::size_t>(place.bank)].name}};
}

nlohmann::ordered_json json_of(const Case& made, const std::vector<Outcome>& outcomes) {
  const Outcome& main = outcomes.back();
  nlohmann::ordered_json json{{"machine", made.machine.name},
                              {"model", name(main.strategy)},
                              {"workload", made.about},
                              {"mode", made.servers ? "three phases" : "aggregate"},
                              {"nodes", made.problem.nodes()},
                              {"ranks_per_node", made.ranks_per_node},
                              {"buffers", made.problem.buffers},
                              {"buffer_bytes", made.problem.buffer_bytes},
                              {"costs", nlohmann::ordered_json::array()}};
  for (const Candidate& candidate : main.election.candidates) {
    auto entry = place_json(made, candidate.place);
    entry["domain"] = candidate.domain;
    entry["seconds"] = candidate.cost_s;
    entry["chosen"] = main.election.places[static_cast<std::size_t>(candidate.domain)] == candidate.place;
    if (!candidate.unfit.empty()) entry["unfit"] = candidate.unfit;
    json["costs"].push_back(std::move(entry));
  }
  for (std::size_t d = 0; d < main.election.places.size(); ++d) {
    auto entry = place_json(made, main.election.places[d]);
    entry["domain"] = d;
    entry["bytes"] = made.problem.traffic[d].bytes;
    json["aggregators"].push_back(std::move(entry));
  }
  json["chosen"] = place_json(made, main.election.places.front());
  for (const auto& [link, bytes] : bytes_by_link_class(made.problem, main.election.places)) json["link_bytes"][link] = bytes;
  json["prediction"] = prediction_json(main.prediction);
  if (outcomes.size() > 1)
    for (const Outcome& outcome : outcomes) {
      json["comparison"].push_back({{"model", name(outcome.strategy)}, {"prediction", prediction_json(outcome.prediction)}});
      if (const auto ratio = published_over_greedy(made, outcome.strategy))
        json["comparison"].back()["published_over_greedy"] = *ratio;
    }
  return json;
}

void run_plan(const PlanOptions& options) {
  const std::unique_ptr<Case> made = make_case(options);
  if (made->problem.traffic.empty())  // every rank for itself: there is nobody to elect
    return print_results(options.json, plan_words(*made, {}),
                         {{"machine", made->machine.name},
                          {"workload", made->about},
                          {"mode", "direct"},
                          {"prediction", {{"total_s", made->direct_s}}}});
  const Strategy chosen = parse_strategy(options.model).value();
  std::vector<Outcome> outcomes;
  if (options.compare)
    for (const Strategy strategy : strategies)
      if (strategy != chosen) outcomes.push_back(carry_out(*made, strategy, options.seed));
  outcomes.push_back(carry_out(*made, chosen, options.seed));
  std::string text = plan_words(*made, outcomes.back().election.places) +
                     explain_election(made->problem, chosen, outcomes.back().election, outcomes.back().prediction);
  if (options.compare) text += "\n" + comparison(*made, outcomes);
  print_results(options.json, text, json_of(*made, outcomes));
}

}  // namespace

void add_plan(CLI::App& program) {
  CLI::App* command = program.add_subcommand("plan", "where a machine would aggregate, and why; needs no MPI job");
  const auto options = std::make_shared<PlanOptions>();
  const auto add = [&](const std::string& name, auto& value, const std::string& meaning) {
    return command->add_option(name, value, meaning)->capture_default_str();
  };
  std::vector<std::string> models, workloads;
  for (const Strategy strategy : strategies) models.emplace_back(name(strategy));
  for (const auto& kind : bench::workload_table()) workloads.push_back(kind.name);
  add("--machine", options->machine, "a stored machine's name, a description file, or a short text")->required();
  add("--model", options->model, "what decides")->check(CLI::IsMember(models));
  add("--workload", options->workload, "what is moved; the machine's own experiment when not given")
      ->check(CLI::IsMember(workloads));
  add("--parameter", options->parameters, "of the workload, name=value as for `weir bench`; may be repeated")->take_all();
  add("--operation", options->operation, "write or read")->check(CLI::IsMember({"write", "read"}));
  add("--nodes", options->nodes, "nodes of the job, the machine's first ones; 0: all")->check(CLI::Range(0, 1 << 24));
  add("--ranks-per-node", options->ranks_per_node, "0: as the machine says")->check(CLI::Range(0, 4096));
  add("--aggregators", options->aggregators, "0: chosen")->check(CLI::Range(0, 1 << 20));
  add("--buffers", options->buffers, "of an aggregator; 0: chosen")->check(CLI::Range(0, 16));
  add("--buffer-size", options->buffer_size, "of one buffer; chosen when not given");
  add("--bank", options->bank, "the memory bank to use, by name or kind; any when not given");
  add("--persistency", options->persistency, "that the bank must have at least")
      ->check(CLI::IsMember({"none", "process", "job", "permanent"}));
  add("--capacity", options->capacities, "another size of a bank, name=size; may be repeated")->take_all();
  add("--seed", options->seed, "of random sizes and of the model 'random'");
  command->add_flag("--compare", options->compare, "all models side by side");
  add("--json", options->json, json_meaning);
  command->footer(R"(Models: greedy (lowest node), shortest and longest (way to the storage), random, tapioca and ma-tapioca
(the papers' cost models), weir (traffic of all aggregators on every link).

Examples:
  weir plan --machine toy --model ma-tapioca
  weir plan --machine toy --model ma-tapioca --capacity hbm=32MB
  weir plan --machine mira-512 --compare
  weir plan --machine theta --nodes 1024 --ranks-per-node 16 --workload hacc --parameter particles=25000)");
  command->callback([options] { telling_errors([&] { run_plan(*options); }); });
}

}  // namespace weir::tools
