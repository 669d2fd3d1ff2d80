#include <cstdint>
#include <cstdio>
#include <iostream>
#include <map>
#include <simgrid/kernel/Timer.hpp>
#include <simgrid/kernel/routing/NetPoint.hpp>
#include <simgrid/kernel/routing/NetZoneImpl.hpp>
#include <simgrid/s4u.hpp>
#include <unordered_map>
#include <vector>

/// Carries out one schedule, as `wire_text` writes it, with SimGrid's fluid network: links are shared max-min fairly,
/// without effects of TCP. A program of its own, since SimGrid has one engine a process and an MPI of its own.
namespace {

namespace s4u = simgrid::s4u;
using simgrid::kernel::routing::NetPoint;
using simgrid::kernel::routing::NetZoneImpl;

struct Way {
  int from, to;
  std::vector<int> links;
};

struct Step {
  int way;
  std::uint64_t bytes;
  double delay_s;
  std::vector<int> next;
  int waiting_for;
};

struct Schedule {
  std::vector<double> bandwidths;
  std::vector<Way> ways;
  std::vector<Step> steps;
};

std::vector<int> read_list(std::istream& in) {
  std::size_t count = 0;
  in >> count;
  std::vector<int> list(in ? count : 0);
  for (int& each : list) in >> each;
  return list;
}

Schedule read_schedule(std::istream& in) {
  Schedule schedule;
  std::size_t links = 0, ways = 0, steps = 0;
  in >> links >> ways >> steps;
  if (!in) return schedule;
  schedule.bandwidths.resize(links);
  for (double& bandwidth : schedule.bandwidths) in >> bandwidth;
  for (std::size_t k = 0; in && k < ways; ++k) {
    Way way{};
    in >> way.from >> way.to;
    way.links = read_list(in);
    schedule.ways.push_back(std::move(way));
  }
  for (std::size_t k = 0; in && k < steps; ++k) {
    Step step{};
    in >> step.way >> step.bytes >> step.delay_s;
    const std::vector<int> after = read_list(in);
    step.waiting_for = static_cast<int>(after.size());
    schedule.steps.push_back(std::move(step));
    for (const int before : after)
      schedule.steps.at(static_cast<std::size_t>(before)).next.push_back(static_cast<int>(k));
  }
  return schedule;
}

/// Hosts, links, and the routes that the schedule tells.
class Platform final : public NetZoneImpl {
 public:
  explicit Platform(const Schedule& schedule) : NetZoneImpl{"machine"} {
    for (std::size_t k = 0; k < schedule.bandwidths.size(); ++k)
      links_.push_back(create_link("link " + std::to_string(k), {schedule.bandwidths[k]})->seal());
    for (const Way& way : schedule.ways) {
      auto& route = routes_[{host(way.from)->get_netpoint(), host(way.to)->get_netpoint()}];
      for (const int link : way.links) route.push_back(links_[static_cast<std::size_t>(link)]->get_impl());
    }
    seal();
  }

  [[nodiscard]] s4u::Host* host(int endpoint) {
    s4u::Host*& known = hosts_[endpoint];
    if (!known) known = create_host("host " + std::to_string(endpoint), {1.0})->seal();
    return known;
  }

 private:
  void get_local_route(const NetPoint* from, const NetPoint* to, simgrid::kernel::routing::Route* into,
                       double* latency) override {
    *latency = 0;
    into->link_list_ = routes_.at({from, to});
  }

  std::vector<s4u::Link*> links_;
  std::unordered_map<int, s4u::Host*> hosts_;
  std::map<std::pair<const NetPoint*, const NetPoint*>, std::vector<simgrid::kernel::resource::StandardLinkImpl*>>
      routes_;
};

/// Starts steps whose predecessors have ended, until none is left.
class Run {
 public:
  Run(Schedule& schedule, Platform& platform)
      : steps_{schedule.steps},
        ways_{schedule.ways},
        platform_{platform},
        ends_(steps_.size(), -1),
        carried_(schedule.bandwidths.size()) {
    s4u::Activity::on_completion_cb([this](const s4u::Activity& activity) { ended(activity); });
    for (std::size_t k = 0; k < steps_.size(); ++k)
      if (steps_[k].waiting_for == 0) ready_.push_back(static_cast<int>(k));
    start_ready();
  }

  void print() const {
    for (const double end : ends_) std::printf("%.17g\n", end);
    for (const std::uint64_t bytes : carried_) std::printf("%llu\n", static_cast<unsigned long long>(bytes));
  }

 private:
  void ended(const s4u::Activity& activity) {
    const auto at = running_.find(&activity);
    if (at == running_.end()) return;
    const int step = at->second;
    running_.erase(at);
    finish(step);
    start_ready();
  }

  void start_ready() {
    while (!ready_.empty()) {
      const int step = ready_.back();
      ready_.pop_back();
      steps_[static_cast<std::size_t>(step)].delay_s > 0 ? wait(step) : transfer(step);
    }
  }

  void wait(int step) {
    const double until = s4u::Engine::get_clock() + steps_[static_cast<std::size_t>(step)].delay_s;
    simgrid::kernel::timer::Timer::set(until, [this, step] {
      transfer(step);
      start_ready();
    });
  }

  void transfer(int step) {
    const Step& moved = steps_[static_cast<std::size_t>(step)];
    if (moved.way < 0 || moved.bytes == 0) return finish(step);
    const Way& way = ways_[static_cast<std::size_t>(moved.way)];
    for (const int link : way.links) carried_[static_cast<std::size_t>(link)] += moved.bytes;
    auto comm = s4u::Comm::sendto_init(platform_.host(way.from), platform_.host(way.to));
    comm->set_payload_size(moved.bytes);
    begin(step, comm);
  }

  void begin(int step, const s4u::ActivityPtr& activity) {
    kept_.push_back(activity);
    running_.emplace(activity.get(), step);
    activity->vetoable_start();
  }

  void finish(int step) {
    ends_[static_cast<std::size_t>(step)] = s4u::Engine::get_clock();
    for (const int next : steps_[static_cast<std::size_t>(step)].next)
      if (--steps_[static_cast<std::size_t>(next)].waiting_for == 0) ready_.push_back(next);
  }

  std::vector<Step>& steps_;
  const std::vector<Way>& ways_;
  Platform& platform_;
  std::vector<double> ends_;
  std::vector<std::uint64_t> carried_;
  std::vector<int> ready_;
  std::vector<s4u::ActivityPtr> kept_;
  std::unordered_map<const s4u::Activity*, int> running_;
};

}  // namespace

int main() {
  const char* settings[] = {"weir-sim-worker",           "--cfg=network/model:CM02",  "--cfg=network/crosstraffic:0",
                            "--cfg=network/TCP-gamma:0", "--cfg=surf/precision:1e-9", "--log=root.thresh:warning"};
  int count = std::size(settings);
  s4u::Engine engine{&count, const_cast<char**>(settings)};
  std::ios::sync_with_stdio(false);
  Schedule schedule = read_schedule(std::cin);
  if (!std::cin) {
    std::fputs("weir-sim-worker: no schedule on the standard input; `weir sim` starts this program\n", stderr);
    return 2;
  }
  auto* platform = new Platform{schedule};  // the engine's from now on
  Run run{schedule, *platform};
  engine.run();
  run.print();
  return 0;
}
