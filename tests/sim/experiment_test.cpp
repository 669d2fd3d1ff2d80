#include "experiment.hpp"

#include <gtest/gtest.h>

#include <set>
#include <weir/status.hpp>

#include "report.hpp"

namespace weir::sim {
namespace {

Findings two_cases(const Assumptions& assumed, Scope) {
  return {{{"slow", 2.0, 1}, {"fast <&>", 3.0, assumed["gain"], 0}}, {{"fast is faster", assumed["gain"] > 1}}};
}

Experiment made_up() {
  return {"made-up", "Made up", "nobody", "MB/s", "Nothing.", "No remarks.", {{{"gain", 1.5, "", "assumed", {}}}},
          two_cases};
}

TEST(Experiment, names_are_unique_and_every_assumption_has_an_origin) {
  std::set<std::string> names;
  for (const Experiment& each : experiments()) {
    EXPECT_TRUE(names.insert(each.name).second) << each.name;
    EXPECT_FALSE(each.modelled.empty() || each.remarks.empty() || each.unit.empty()) << each.name;
    for (const Assumption& assumption : each.assumptions.all())
      EXPECT_FALSE(assumption.origin.empty()) << assumption.name;
  }
}

TEST(Experiment, a_wrong_name_is_answered_with_the_nearest) {
  try {
    find_experiment("placement-mirra");
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string{error.what()}.find("did you mean 'placement-mira'"), std::string::npos) << error.what();
  }
}

TEST(Experiment, a_sweep_halves_and_doubles_each_assumption) {
  const Experiment experiment = made_up();
  const std::vector<Variation> variations = sweep(experiment);
  ASSERT_EQ(variations.size(), 2U);
  EXPECT_EQ(variations[0].value, 0.75);
  EXPECT_FALSE(variations[0].claims.front().holds);
  EXPECT_TRUE(variations[1].claims.front().holds);
}

TEST(Report, tells_the_same_as_text_json_page_and_plot) {
  const Experiment experiment = made_up();
  const Report report{&experiment, experiment.run(experiment.assumptions, Scope::all), sweep(experiment)};
  EXPECT_NE(report.text().find("claim 1 holds in 1 of 2 variations"), std::string::npos) << report.text();
  const auto json = report.json();
  EXPECT_EQ(json["results"][1]["case"], "fast <&>");
  EXPECT_EQ(json["results"][1]["paper"], 3.0);
  EXPECT_EQ(json["results"][1]["simulated"], 1.5);
  EXPECT_EQ(json["results"][1]["simulated_relative"], 1.5);
  EXPECT_NE(report.markdown("made-up.svg").find("![made-up](made-up.svg)"), std::string::npos);
  EXPECT_NE(report.svg().find("fast &lt;&amp;>"), std::string::npos);
}

}  // namespace
}  // namespace weir::sim
