#include "machine/calibration.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "machine/local_device.hpp"

namespace weir {
namespace {

template <Unit unit>
void replace(Figure<unit>& figure, const Measurement* measured, int parts = 1) {
  if (!measured || measured->value <= 0) return;
  if (figure.known() && (figure.origin == Origin::configured || figure.origin == Origin::document)) return;
  figure = {measured->value / parts, Origin::measured,
            fmt::format("median of {}, spread {:.0f} %", measured->repetitions, 100 * measured->spread)};
}

}  // namespace

Measurement Measurement::of(std::string name, Unit unit, std::vector<double> samples) {
  Measurement result{std::move(name), unit, 0, 0, static_cast<int>(samples.size())};
  if (samples.empty()) return result;
  std::ranges::sort(samples);
  const auto at = [&](double part) {
    const double place = part * static_cast<double>(samples.size() - 1);
    const auto below = static_cast<std::size_t>(place);
    return std::lerp(samples[below], samples[std::min(below + 1, samples.size() - 1)], place - std::floor(place));
  };
  // More digits than can be trusted only make it hard to read.
  result.value = std::strtod(fmt::format("{:.3g}", at(0.5)).c_str(), nullptr);
  result.spread = (at(0.75) - at(0.25)) / result.value;
  return result;
}

CalibrationKey CalibrationKey::of(const JoinedNodes& joined, int ranks_per_node, const std::string& storage) {
  CalibrationKey key{joined.common.system, joined.common.shape, joined.nodes, ranks_per_node, mount_point(storage), {}};
  for (const Bank& bank : banks_of(joined)) key.banks += (key.banks.empty() ? "" : ",") + bank.name;
  return key;
}

const Measurement* Calibration::find(std::string_view name) const noexcept {
  const auto found = std::ranges::find(measurements, name, &Measurement::name);
  return found == measurements.end() ? nullptr : &*found;
}

void apply(Machine& machine, const Calibration& calibration) {
  for (Bank& bank : machine.banks) {
    replace(bank.latency, calibration.find(fmt::format("bank.{}.latency", bank.name)));
    replace(bank.read, calibration.find(fmt::format("bank.{}.read", bank.name)));
    replace(bank.write, calibration.find(fmt::format("bank.{}.write", bank.name)));
  }
  replace(machine.storage.latency, calibration.find("storage.latency"));
  replace(machine.storage.read, calibration.find("storage.read"));
  replace(machine.storage.write, calibration.find("storage.write"));
  if (machine.nodes() < 2) return;
  std::vector<int> route;
  machine.topology->route(0, machine.nodes() - 1, route);
  std::vector<LinkClass> classes = machine.topology->classes();
  for (LinkClass& link : classes) {
    replace(link.bandwidth, calibration.find("network.bandwidth"));
    replace(link.latency, calibration.find("network.latency"), std::max(1, static_cast<int>(route.size())));
  }
  machine.topology = machine.topology->with(std::move(classes));
}

}  // namespace weir
