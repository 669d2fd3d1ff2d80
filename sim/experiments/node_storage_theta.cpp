#include "hacc.hpp"
#include "theta.hpp"

namespace weir::sim {
namespace {

constexpr int particles = 25000;
constexpr int sizes[] = {128, 256, 512, 1024};

int bank_of(const Machine& machine, std::string_view name) {
  return static_cast<int>(machine.bank(name) - machine.banks.data());
}

/// Every node's data goes to its own SSD and stays there.
double on_ssd_s(const Machine& machine, const PlannedJob& job) {
  Schedule schedule{machine};
  const int ssd = bank_of(machine, "ssd");
  for (const Domain& domain : job.layout.domains) {
    std::vector<int> before;
    for (std::uint32_t k = 0; k < domain.windows; ++k)
      for (const auto& [node, bytes] : job.shares.windows[domain.first_window + k])
        before = {schedule.transfer(schedule.gather_way(node, {job.place(domain).node, ssd}), bytes, before)};
  }
  return simulate(schedule).end_s;
}

Findings run(const Assumptions& assumed, Scope) {
  Machine machine = theta_machine(assumed);
  Bank& ssd = machine.banks[static_cast<std::size_t>(bank_of(machine, "ssd"))];
  ssd.write.value = ssd.read.value = assumed["bandwidth of an SSD"] * 1e6;
  Findings findings;
  std::vector<double> on_ssd, on_lustre;
  for (const int nodes : sizes) {
    const Job job = hacc_job(machine, nodes, "aos", particles, 1);
    const PlannedJob planned =
        plan_job(job, limits_of(nodes, 2, theta_buffer_bytes), rules_of(Strategy::contention, "dram"));
    const double bytes = hacc_bytes(job, particles) / 1e9;
    on_lustre.push_back(bytes / planned_s(planned));
    on_ssd.push_back(bytes / on_ssd_s(machine, planned));
    findings.cases.push_back({fmt::format("{} nodes, Lustre", nodes), {}, on_lustre.back()});
    findings.cases.push_back(
        {fmt::format("{} nodes, SSD", nodes), {}, on_ssd.back(), static_cast<int>(findings.cases.size()) - 1});
  }
  bool grows = true;
  for (std::size_t k = 1; k < on_ssd.size(); ++k) grows = grows && on_ssd[k] >= 1.5 * on_ssd[k - 1];
  const double gain = on_ssd.back() / on_lustre.back();
  findings.claims = {{"bandwidth on SSDs grows by at least a half with every doubling of nodes", grows},
                     {"on 1,024 nodes SSDs are 4 to 9 times Lustre, as in the paper", gain >= 4 && gain <= 9},
                     {"on 1,024 nodes SSDs are faster than Lustre", gain > 1}};
  return findings;
}

}  // namespace

Experiment node_storage_theta() {
  std::vector<Assumption> assumptions = theta_assumptions();
  assumptions.push_back({"bandwidth of an SSD", 400, "MB/s", "assumed as in the stored machine", {}});
  return {
      .name = "node-storage-theta",
      .title = "One file a node on SSDs and on Lustre, weak scaling on Theta",
      .source = "MA-TAPIOCA, HACC-IO, one file per node (its figures 7 and 8, of which only the text is left)",
      .unit = "GB/s",
      .modelled =
          "16 ranks a node with about 1 MB each, an aggregator a node; to Lustre through the gateway of the group, or "
          "to the "
          "node's own SSD.",
      .remarks =
          "Whether the paper's factor of 4 to 9 comes out depends on the ratio of the assumed bandwidths of SSD and "
          "gateways; the "
          "paper's SSDs grow by about a half with each doubling, the simulated ones double, since nothing is shared.",
      .assumptions = {std::move(assumptions)},
      .run = run};
}

}  // namespace weir::sim
