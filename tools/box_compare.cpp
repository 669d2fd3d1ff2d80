#include "box_compare.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <memory>
#include <optional>

#include "bench_common.hpp"
#include "box_job.hpp"
#include "commands.hpp"
#include "core/errors.hpp"
#include "core/settings.hpp"
#include "core/units.hpp"
#include "machine/description.hpp"
#include "model/election.hpp"
#include "text_table.hpp"

namespace weir::tools {
namespace {

using Json = nlohmann::ordered_json;

struct CompareOptions {
  std::vector<std::string> files;
  std::string json, markdown;
};

/// A time that was measured, and the same plan simulated.
struct Compared {
  std::string box, workload, operation, step, model;
  double real_s = 0, load = 0, wire_s = 0;
  sim::BoxOutcome simulated;
  std::optional<bool> same_plan;  ///< as the job had, where that is known
  [[nodiscard]] double ratio() const { return simulated.seconds / real_s; }
  [[nodiscard]] std::string plan() const {
    if (simulated.mode == Mode::direct) return "direct";
    return fmt::format("{} aggregator{}", simulated.aggregators, simulated.aggregators == 1 ? "" : "s");
  }
};

Json read_results(const std::string& path) {
  std::ifstream file{path};
  if (!file) throw Error{system_problem(errno, fmt::format("open '{}'", path))};
  Json json = Json::parse(file, nullptr, false);
  if (!json.is_object() || !json.contains("box") || !json["box"].is_object())
    throw Error{problem(Code::invalid, fmt::format("'{}' has no times from a box", path),
                        "make it with `weir bench WORKLOAD --box torus --json FILE`")};
  return json;
}

/// The job whose times are in `results`, with `model` to choose its aggregators.
sim::BoxJob job_of(const Json& results, const Json& entry, const std::string& model) {
  const Json &facts = results.at("box"), &storage = facts.at("storage");
  sim::BoxJob job;
  job.shape = {facts.at("topology"), box::parse_rates(facts.at("rate").get<std::string>()).value()};
  job.stripe = facts.at("stripe");
  job.machine = read_machine(facts.at("machine").get<std::string>(), "the box's description").value();
  job.storage = {.kind = storage.at("kind"),
                 .file_system = storage.at("file_system"),
                 .block = storage.at("block"),
                 .stripe = storage.at("stripe"),
                 .local = storage.at("local")};
  job.workload = entry.at("workload");
  job.parameters = results.at("parameters").get<bench::Parameters>();
  job.ranks = results.at("ranks");
  job.direction = entry.at("operation") == "write" ? Direction::write : Direction::read;
  Settings given = results.at("settings").get<Settings>();
  if (!model.empty()) given["plan.model"] = model;
  const ResolvedSettings settings = ResolvedSettings().with(given).value();
  job.limits = PlanLimits::of(settings);
  job.rules.strategy = parse_strategy(settings.text("plan.model")).value();
  return job;
}

void compare_entry(const Json& results, const Json& entry, std::vector<Compared>& all) {
  const auto add = [&](const std::string& model, double real_s) {
    const sim::BoxOutcome outcome = sim::simulate_in_box(job_of(results, entry, model));
    const Json& facts = results.at("box");
    all.push_back({fmt::format("{} {}", facts.at("topology").get<std::string>(), facts.at("rate").get<std::string>()),
                   fmt::format("{} {}", entry.at("workload").get<std::string>(),
                               entry.at("size").is_string() ? entry.at("size").get<std::string>() : entry.at("size").dump()),
                   entry.at("operation"), entry.at("step"), model.empty() ? "weir" : model, real_s,
                   entry.at("machine").at("before").at("load"), entry.at("limits").at("wire_s"), outcome,
                   model.empty() ? std::optional{outcome.plan == entry.at("plan").get<std::uint64_t>()} : std::nullopt});
  };
  add({}, entry.at("weir_median_s"));
  const std::string baseline = entry.at("baseline");
  if (baseline != "weir" && parse_strategy(baseline)) add(baseline, entry.at("baseline_median_s"));
}

std::vector<std::vector<std::string>> table_of(const std::vector<Compared>& all) {
  std::vector<std::vector<std::string>> lines{
      {"box", "workload", "operation", "step", "model", "plan", "wire", "real", "simulated", "simulated / real", "load"}};
  for (const Compared& each : all)
    lines.push_back({each.box, each.workload, each.operation, each.step, each.model,
                     each.plan() + (each.same_plan.value_or(true) ? "" : ", not the job's"), format_seconds(each.wire_s),
                     format_seconds(each.real_s), format_seconds(each.simulated.seconds),
                     fmt::format("{:.2f}", each.ratio()), fmt::format("{:.0f}", each.load)});
  return lines;
}

/// What all ratios have in common.
std::string sum_of(const std::vector<Compared>& all) {
  std::vector<double> ratios;
  for (const Compared& each : all) ratios.push_back(each.ratio());
  std::ranges::sort(ratios);
  const auto same = std::ranges::count(all, std::optional{true}, &Compared::same_plan);
  const auto known = std::ranges::count_if(all, [](const Compared& each) { return each.same_plan.has_value(); });
  return fmt::format("simulated over real: {:.2f} to {:.2f}, median {:.2f}; {} of {} plans of model weir are those of the job",
                     ratios.front(), ratios.back(), ratios[ratios.size() / 2], same, known);
}

Json json_of(const std::vector<Compared>& all) {
  Json list = Json::array();
  for (const Compared& each : all)
    list.push_back({{"case", fmt::format("{}, {}, {} {}, {}", each.box, each.workload, each.operation, each.step, each.model)},
                    {"real_s", each.real_s},
                    {"simulated_s", each.simulated.seconds},
                    {"ratio", each.ratio()},
                    {"wire_s", each.wire_s},
                    {"load", each.load},
                    {"plan", each.plan()},
                    {"same_plan", each.same_plan ? Json(*each.same_plan) : Json(nullptr)}});
  return {{"results", list}};
}

void compare(const CompareOptions& options) {
  std::vector<Compared> all;
  for (const std::string& path : options.files) {
    const Json results = read_results(path);
    for (const Json& entry : results.at("results")) compare_entry(results, entry, all);
  }
  if (all.empty()) throw Error{problem(Code::invalid, "there is no time in these files", "repeat the measurement")};
  if (!options.markdown.empty()) {
    std::ofstream file{options.markdown};
    file << bench::markdown(table_of(all)) << sum_of(all) << ".\n";
    file.close();
    if (!file) throw Error{system_problem(errno, fmt::format("write '{}'", options.markdown))};
  }
  print_results(options.json, bench::aligned(table_of(all)) + '\n' + sum_of(all) + '\n', json_of(all));
}

}  // namespace

void add_box_compare(CLI::App& group) {
  CLI::App* command = group.add_subcommand(
      "compare", "times of `weir bench --box --json` beside the same plans in simulation; needs no box and no root");
  const auto options = std::make_shared<CompareOptions>();
  command->add_option("FILE", options->files, "results of `weir bench WORKLOAD --box ... --json FILE`")->required();
  command->add_option("--json", options->json, json_meaning);
  command->add_option("--markdown", options->markdown, "the same as a part of a page, into a file");
  command->callback([options] { telling_errors([&] { compare(*options); }); });
}

}  // namespace weir::tools
