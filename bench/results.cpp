#include "results.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/units.hpp"
#include "text_table.hpp"
#include "weir/weir.hpp"

namespace weir::bench {
namespace {

std::string percent_of(double limit_s, const Results::Entry& entry) {
  return fmt::format("{:.0f} %", 100 * limit_s / median(entry.measurement.weir_s));
}

std::string percent(double part) { return part > 0 ? fmt::format("{:.0f} %", 100 * part) : "-"; }

std::string baseline_name(const Results::Entry& entry) {
  if (entry.baseline == "weir") return "weir (control)";
  return fmt::format("{}, {}", entry.baseline, entry.measurement.formulation);
}

std::string times_table(const Results& results) {
  std::vector<std::vector<std::string>> lines{{"workload", "variant", "size", "operation", "step", "baseline", "Weir",
                                               "baseline", "ratio [low, high]", "pairs", "verified"}};
  for (const auto& entry : results.entries) {
    const Measurement& m = entry.measurement;
    lines.push_back(
        {results.workload.name, results.workload.variant, results.workload.size, m.operation, m.step,
         baseline_name(entry), format_seconds(median(m.weir_s)), format_seconds(median(m.baseline_s)),
         fmt::format("{:.2f} [{:.2f}, {:.2f}]", entry.ratio.ratio, entry.ratio.interval.low, entry.ratio.interval.high),
         std::to_string(m.weir_s.size()), m.problems.empty() ? "yes" : "NO"});
  }
  return aligned(lines);
}

std::string limits_table(const Results& results) {
  std::vector<std::vector<std::string>> lines{{"operation", "step", "beside", "one memcpy", "reached", "one process",
                                               "reached", "empty run", "memory grew", "buffers", "lists", "load",
                                               "steal", "others"}};
  const bool wire = results.wire_bytes_per_s > 0;
  if (wire) lines.front().insert(lines.front().begin() + 3, {"wire", "reached", "busiest link"});
  for (const auto& entry : results.entries) {
    const Measurement& m = entry.measurement;
    lines.push_back({m.operation, m.step, entry.baseline, format_seconds(m.memcpy_s), percent_of(m.memcpy_s, entry),
                     format_seconds(m.plain_s), percent_of(m.plain_s, entry), format_seconds(m.empty_s),
                     format_bytes(m.peak_memory_bytes), format_bytes(m.buffer_bytes), format_bytes(m.list_bytes),
                     fmt::format("{:.1f} to {:.1f}", entry.before.load, entry.after.load),
                     fmt::format("{:.1f} %", steal_percent(entry.before, entry.after)),
                     wire ? "-" : fmt::format("{:.0f} %", entry.others_percent)});
    if (wire)
      lines.back().insert(lines.back().begin() + 3,
                          {format_seconds(results.wire_s()), percent_of(results.wire_s(), entry),
                           percent(results.busiest_link_part(m))});
  }
  return aligned(lines);
}

std::string notes(const Results& results) {
  std::string text;
  for (const auto& entry : results.entries) {
    const Measurement& m = entry.measurement;
    const std::string what = fmt::format("{} {} beside {}", m.operation, m.step, entry.baseline);
    if (static_cast<int>(m.weir_s.size()) < results.request.pairs)
      text += fmt::format("{}: {} of {} pairs, as the time budget was used up\n", what, m.weir_s.size(),
                          results.request.pairs);
    // A median lies between the least and the greatest of n values with probability 1 - 2^(1-n).
    if (m.weir_s.size() < 6)
      text += fmt::format("{}: of {} pairs, the interval holds the true ratio with at most {:.0f} % instead of 95 %\n",
                          what, m.weir_s.size(), 100 * (1 - std::exp2(1 - static_cast<double>(m.weir_s.size()))));
    if (m.empty_s > 0.25 * median(m.weir_s))
      text += fmt::format("{}: a run that moves nothing takes {}, so the ratio is nearer to 1 than the truth\n", what,
                          format_seconds(m.empty_s));
    for (const auto& [formulation, times] : m.formulations_s)
      if (times.size() < m.weir_s.size())
        text += fmt::format("{}: '{}' took {} and was dropped after {} runs, as time was short\n", what, formulation,
                            format_seconds(median(times)), times.size());
    if (!m.problems.empty())
      text +=
          fmt::format("{}: wrong contents in {} runs, the first: {}\n", what, m.problems.size(), m.problems.front());
  }
  double busiest = 0;
  for (const auto& entry : results.entries) busiest = std::max(busiest, entry.others_percent);
  if (busiest > 5)
    text += fmt::format(
        "other programs took up to {:.0f} % of the machine: this slows the sides unequally, repeat when it is quiet\n",
        busiest);
  for (const auto& failure : results.failures)
    text += fmt::format("the job beside {} failed: {}\n", failure.baseline, failure.problem);
  return text;
}

nlohmann::ordered_json size_json(const std::string& size) {
  const bool numeric = std::ranges::all_of(size, [](char c) { return c >= '0' && c <= '9'; });
  return numeric ? nlohmann::ordered_json(std::stoull(size)) : nlohmann::ordered_json(size);
}

nlohmann::ordered_json entry_json(const Results& results, const Results::Entry& entry) {
  const Workload& workload = results.workload;
  const Measurement& m = entry.measurement;
  return {{"workload", workload.name},
          {"variant", workload.variant},
          {"size", size_json(workload.size)},
          {"operation", m.operation},
          {"step", m.step},
          {"baseline", entry.baseline},
          {"ratio", entry.ratio.ratio},
          {"low", entry.ratio.interval.low},
          {"high", entry.ratio.interval.high},
          {"verified", m.problems.empty()},
          {"peak_memory_bytes", m.peak_memory_bytes},
          {"buffer_bytes", m.buffer_bytes},
          {"list_bytes", m.list_bytes},
          {"plan", m.plan},
          {"formulation", m.formulation},
          {"formulations_s", m.formulations_s},
          {"weir_s", m.weir_s},
          {"baseline_s", m.baseline_s},
          {"weir_median_s", median(m.weir_s)},
          {"baseline_median_s", median(m.baseline_s)},
          {"warm_ups", m.warm_ups},
          {"limits",
           {{"memcpy_s", m.memcpy_s},
            {"one_process_s", m.plain_s},
            {"empty_run_s", m.empty_s},
            {"wire_s", results.wire_s()},
            {"busiest_link_part", results.busiest_link_part(m)}}},
          {"machine",
           {{"before", nlohmann::json(entry.before)},
            {"after", nlohmann::json(entry.after)},
            {"steal_percent", steal_percent(entry.before, entry.after)},
            {"others_percent", entry.others_percent}}},
          {"problems", m.problems}};
}

}  // namespace

void Results::add(const std::string& baseline, const Measurement& measurement, const HostState& before,
                  const HostState& after) {
  entries.push_back(
      {baseline, measurement, ratio_of_pairs(measurement.baseline_s, measurement.weir_s), before, after, 0});
}

void Results::end_job(const std::string& baseline, double others_percent) {
  for (Entry& entry : entries)
    if (entry.baseline == baseline) entry.others_percent = wire_bytes_per_s > 0 ? 0 : others_percent;
}

double Results::wire_s() const {
  return wire_bytes_per_s > 0 ? static_cast<double>(workload.file_bytes) / wire_bytes_per_s : 0;
}

double Results::busiest_link_part(const Measurement& measurement) const {
  std::vector<double> parts;
  for (std::size_t pair = 0; pair < measurement.carried_bytes.size(); ++pair)
    parts.push_back(measurement.carried_bytes[pair] / link_bytes_per_s / measurement.weir_s[pair]);
  return link_bytes_per_s > 0 ? median(std::move(parts)) : 0;
}

bool Results::right() const {
  return failures.empty() && !entries.empty() &&
         std::ranges::all_of(entries, [](const Entry& entry) { return entry.measurement.problems.empty(); });
}

std::string table(const Results& results) {
  const Workload& workload = results.workload;
  std::string text = fmt::format(
      "{} {}, {} {}, {} ranks, {} in {} on {}; {}{}\n"
      "timed open to close until the data is accepted, no fsync on either side; ratio: baseline's time over Weir's\n\n",
      workload.name, workload.variant, workload.size, workload.unit, workload.ranks, format_bytes(workload.file_bytes),
      results.request.existing ? "an existing file" : "a new file", results.file_system, results.mpi,
      results.request.through_run ? "; a program under weir run, one call a variable on both sides" : "");
  if (!results.entries.empty()) text += times_table(results) + '\n' + limits_table(results);
  const std::string remarks = notes(results);
  return remarks.empty() ? text : text + '\n' + remarks;
}

nlohmann::ordered_json to_json(const Results& results) {
  nlohmann::ordered_json entries = nlohmann::ordered_json::array();
  for (const auto& entry : results.entries) entries.push_back(entry_json(results, entry));
  nlohmann::ordered_json failures = nlohmann::ordered_json::array();
  for (const auto& [baseline, problem] : results.failures) {
    nlohmann::ordered_json failure{{"baseline", baseline}, {"problem", problem}};
    failures.push_back(std::move(failure));
  }
  return {{"weir", version()},
          {"mpi", results.mpi},
          {"ranks", results.workload.ranks},
          {"file_bytes", results.workload.file_bytes},
          {"file_system", results.file_system},
          {"box", results.box},
          {"existing", results.request.existing},
          {"grade", "accepted"},
          {"pairs", results.request.pairs},
          {"seed", results.request.seed},
          {"parameters", results.request.parameters},
          {"settings", results.request.settings},
          {"hints", results.request.hints},
          {"through", results.request.through_run ? "run" : "library"},
          {"results", entries},
          {"failures", failures}};
}

}  // namespace weir::bench
