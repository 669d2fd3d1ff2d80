#include "report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "text_table.hpp"

namespace weir::sim {
namespace {

using Table = std::vector<std::vector<std::string>>;

std::string number(double value) {
  return value >= 1000 ? fmt::format("{:.0f}", value)
         : value >= 10 ? fmt::format("{:.1f}", value)
                       : fmt::format("{:.3g}", value);
}
std::string number(const std::optional<double>& value) { return value ? number(*value) : ""; }

const Case* base_of(const Findings& findings, const Case& each) {
  return each.relative_to < 0 ? nullptr : &findings.cases[static_cast<std::size_t>(each.relative_to)];
}

std::optional<double> paper_relative(const Findings& findings, const Case& each) {
  const Case* base = base_of(findings, each);
  if (!base || !each.paper || !base->paper) return {};
  return *each.paper / *base->paper;
}

std::optional<double> simulated_relative(const Findings& findings, const Case& each) {
  const Case* base = base_of(findings, each);
  if (!base) return {};
  return each.simulated / base->simulated;
}

Table case_table(const Report& report) {
  const auto& cases = report.findings.cases;
  const bool relative = std::ranges::any_of(cases, [](const Case& each) { return each.relative_to >= 0; });
  const std::string& unit = report.experiment->unit;
  Table lines{{"case", "paper " + unit, "simulated " + unit, "ratio"}};
  if (relative) lines.front().insert(lines.front().end(), {"paper, relative", "simulated, relative", "to"});
  for (const Case& each : cases) {
    lines.push_back({each.name, number(each.paper), number(each.simulated),
                     each.paper ? number(each.simulated / *each.paper) : ""});
    if (!relative) continue;
    const Case* base = base_of(report.findings, each);
    lines.back().insert(lines.back().end(),
                        {number(paper_relative(report.findings, each)),
                         number(simulated_relative(report.findings, each)), base ? base->name : ""});
  }
  return lines;
}

Table assumption_table(const Experiment& experiment) {
  Table lines{{"assumed", "value", "origin"}};
  for (const Assumption& each : experiment.assumptions.all())
    lines.push_back(
        {each.name, fmt::format("{:g}{}{}", each.value, each.unit.empty() ? "" : " ", each.unit), each.origin});
  return lines;
}

Table sweep_table(const Report& report) {
  Table lines{{"assumption changed", "to"}};
  for (std::size_t k = 0; k < report.findings.claims.size(); ++k)
    lines.front().push_back(fmt::format("claim {}", k + 1));
  for (const Variation& variation : report.variations) {
    lines.push_back({variation.assumption, fmt::format("{:g}", variation.value)});
    for (const Claim& claim : variation.claims) lines.back().push_back(claim.holds ? "yes" : "no");
  }
  return lines;
}

/// "claim 1 holds in 11 of 12 variations"
std::vector<std::string> sweep_sums(const Report& report) {
  std::vector<std::string> sums;
  for (std::size_t k = 0; k < report.findings.claims.size(); ++k) {
    const auto held = std::ranges::count_if(report.variations, [&](const Variation& v) { return v.claims[k].holds; });
    sums.push_back(fmt::format("claim {} holds in {} of {} variations", k + 1, held, report.variations.size()));
  }
  return sums;
}

std::vector<std::string> claim_lines(const Report& report) {
  std::vector<std::string> lines;
  for (std::size_t k = 0; k < report.findings.claims.size(); ++k)
    lines.push_back(fmt::format("{}. {}: {}", k + 1, report.findings.claims[k].text,
                                report.findings.claims[k].holds ? "yes" : "NO"));
  return lines;
}

}  // namespace

std::string Report::text() const {
  const Experiment& told = *experiment;
  std::string out = fmt::format("{}: {}\nfrom {}\n\n{}\n\n{}\n{}\n{}\n", told.name, told.title, told.source,
                                told.modelled, bench::aligned(assumption_table(told)),
                                bench::aligned(case_table(*this)), fmt::join(claim_lines(*this), "\n"));
  if (!variations.empty())
    out += fmt::format("\n{}\n{}\n", bench::aligned(sweep_table(*this)), fmt::join(sweep_sums(*this), "\n"));
  return out + "\n" + told.remarks + "\n";
}

std::string Report::markdown(const std::string& plot) const {
  const Experiment& told = *experiment;
  std::string out = fmt::format("## {}\n\n`weir sim {} --sweep`, from {}.\n\n{}\n\n{}![{}]({})\n\n{}{}\n\n", told.title,
                                told.name, told.source, told.modelled, bench::markdown(case_table(*this)), told.name,
                                plot, bench::markdown(assumption_table(told)), fmt::join(claim_lines(*this), "\n"));
  if (!variations.empty())
    out += fmt::format("{}{}.\n\n", bench::markdown(sweep_table(*this)), fmt::join(sweep_sums(*this), ", "));
  return out + told.remarks + "\n\n";
}

nlohmann::ordered_json Report::json() const {
  using Json = nlohmann::ordered_json;
  const auto optional = [](const std::optional<double>& value) { return value ? Json(*value) : Json(nullptr); };
  const auto claims = [](const std::vector<Claim>& all) {
    Json list = Json::array();
    for (const Claim& claim : all) list.push_back({{"claim", claim.text}, {"holds", claim.holds}});
    return list;
  };
  Json json{{"experiment", experiment->name}, {"title", experiment->title},   {"source", experiment->source},
            {"unit", experiment->unit},       {"assumptions", Json::array()}, {"results", Json::array()}};
  for (const Assumption& each : experiment->assumptions.all())
    json["assumptions"].push_back(
        {{"name", each.name}, {"value", each.value}, {"unit", each.unit}, {"origin", each.origin}});
  for (const Case& each : findings.cases) {
    Json entry{{"case", each.name}, {"paper", optional(each.paper)}, {"simulated", each.simulated}};
    entry["ratio"] = each.paper ? Json(each.simulated / *each.paper) : Json(nullptr);
    if (const Case* base = base_of(findings, each)) {
      entry["relative_to"] = base->name;
      entry["paper_relative"] = optional(paper_relative(findings, each));
      entry["simulated_relative"] = optional(simulated_relative(findings, each));
    }
    json["results"].push_back(std::move(entry));
  }
  json["claims"] = claims(findings.claims);
  for (const Variation& each : variations)
    json["sweep"].push_back({{"assumption", each.assumption}, {"value", each.value}, {"claims", claims(each.claims)}});
  return json;
}

}  // namespace weir::sim
