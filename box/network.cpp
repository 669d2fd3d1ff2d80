#include "box/network.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "box/host.hpp"
#include "core/errors.hpp"

namespace weir::box {
namespace {

/// The first bytes of a burst pass at full speed; 64 KiB are what a queue of a network card would take. What all hosts send
/// to one at once finds room, as networks of clusters lose nothing: TCP would stop for 200 ms where it does.
constexpr const char* shaping = "burst 64kb limit 2500kb";

/// Lines for the program ip or tc, which does them on a host.
class Batch {
 public:
  Batch(const State& state, int host, const char* program)
      : state_{state}, host_{state.cluster().hosts()[static_cast<std::size_t>(host)].name}, program_{program} {}

  template <class... Values>
  void add(fmt::format_string<Values...> line, Values&&... values) {
    text_ += fmt::format(line, std::forward<Values>(values)...) + "\n";
  }
  [[nodiscard]] Job start() const {
    const std::string file = fmt::format("net/{}.{}", host_, program_);
    state_.write(file, text_);
    return {
        network_of(state_, host_), {find_program(program_), "-batch", state_.path(file)}, state_.path("log/" + host_)};
  }

 private:
  const State& state_;
  std::string host_;
  const char* program_;
  std::string text_;
};

std::vector<int> neighbours(const Cluster& cluster, int host) {
  std::vector<int> found;
  for (const Wire& wire : cluster.wires()) {
    if (wire.a == host) found.push_back(wire.b);
    if (wire.b == host) found.push_back(wire.a);
  }
  return found;
}

void add_routes(const Cluster& cluster, int host, Batch& batch) {
  for (int to = 0; to < static_cast<int>(cluster.hosts().size()); ++to) {
    if (to == host || !cluster.hosts()[static_cast<std::size_t>(to)].is_in_network()) continue;
    const int next = cluster.next(host, to);
    batch.add("route replace {}/32 via {} dev {} src {}", cluster.address(to), cluster.link_address(next, host),
              cluster.device(next), cluster.address(host));
  }
}

/// Pairs of devices, made inside the namespaces of their two hosts: they are never anywhere else.
void make_devices(const State& state) {
  const Cluster& cluster = state.cluster();
  const auto& hosts = cluster.hosts();
  const auto pid_of = [&](int host) { return state.host(hosts[static_cast<std::size_t>(host)].name).pid; };
  std::vector<Job> jobs;
  for (int host = 0; host < static_cast<int>(hosts.size()); ++host) {
    Batch batch{state, host, "ip"};
    for (const Wire& wire : cluster.wires())
      if (wire.a == host)
        batch.add("link add {} type veth peer name {} netns {}", cluster.device(wire.b), cluster.device(wire.a),
                  pid_of(wire.b));
    if (hosts[static_cast<std::size_t>(host)].role == Role::front) {
      batch.add("link add mg type bridge");
      for (int other = 0; other < host; ++other)
        batch.add("link add p_{} type veth peer name mg0 netns {}", hosts[static_cast<std::size_t>(other)].name,
                  pid_of(other));
    } else {
      batch.add("link add id0 type bridge");  // holds the host's address, whatever becomes of its links
    }
    jobs.push_back(batch.start());
  }
  for (Job& job : jobs) job.finish();
}

void set_addresses(const State& state) {
  const Cluster& cluster = state.cluster();
  const auto& hosts = cluster.hosts();
  std::vector<Job> jobs;
  for (int host = 0; host < static_cast<int>(hosts.size()); ++host) {
    Batch batch{state, host, "ip"};
    const bool front = hosts[static_cast<std::size_t>(host)].role == Role::front;
    const char* management = front ? "mg" : "mg0";
    batch.add("addr add {}/24 dev {}", cluster.management_address(host), management);
    batch.add("link set {} up", management);
    if (front) {
      for (int other = 0; other < host; ++other)
        batch.add("link set p_{} master mg up", hosts[static_cast<std::size_t>(other)].name);
    } else {
      batch.add("addr add {}/32 dev id0", cluster.address(host));
      batch.add("link set id0 up");
    }
    for (const int neighbour : neighbours(cluster, host)) {
      batch.add("addr add {}/30 dev {}", cluster.link_address(host, neighbour), cluster.device(neighbour));
      batch.add("link set {} up", cluster.device(neighbour));
    }
    if (!front) add_routes(cluster, host, batch);
    jobs.push_back(batch.start());
  }
  for (Job& job : jobs) job.finish();
}

void shape_links(const State& state) {
  const Cluster& cluster = state.cluster();
  std::vector<Job> jobs;
  for (int host = 0; host < static_cast<int>(cluster.hosts().size()); ++host) {
    Batch batch{state, host, "tc"};
    for (const int neighbour : neighbours(cluster, host))
      batch.add("qdisc add dev {} root tbf rate {} {}", cluster.device(neighbour),
                cluster.rate(host, neighbour).text, shaping);
    jobs.push_back(batch.start());
  }
  for (Job& job : jobs) job.finish();
}

std::pair<int, int> neighbours_called(const Cluster& cluster, const std::string& a, const std::string& b) {
  const int first = cluster.find(a), second = cluster.find(b);
  if (!cluster.link_address(first, second).empty()) return {first, second};
  std::string known;
  for (const int neighbour : neighbours(cluster, first))
    known += (known.empty() ? "" : ", ") + cluster.hosts()[static_cast<std::size_t>(neighbour)].name;
  throw Error{problem(Code::invalid, fmt::format("there is no link between {} and {}", a, b),
                      fmt::format("{} has links to {}", a, known))};
}

}  // namespace

void make_network(const State& state) {
  make_devices(state);
  set_addresses(state);
  shape_links(state);
}

void set_rate(const State& state, const std::string& a, const std::string& b, const Rate& rate) {
  const auto [first, second] = neighbours_called(state.cluster(), a, b);
  for (const auto& [from, to] : {std::pair{first, second}, std::pair{second, first}}) {
    Batch batch{state, from, "tc"};
    batch.add("qdisc replace dev {} root tbf rate {} {}", state.cluster().device(to), rate.text, shaping);
    batch.start().finish();
  }
}

void set_link(const State& state, const std::string& a, const std::string& b, bool up) {
  const auto [first, second] = neighbours_called(state.cluster(), a, b);
  Batch batch{state, first, "ip"};
  batch.add("link set {} {}", state.cluster().device(second), up ? "up" : "down");
  if (up) add_routes(state.cluster(), first, batch);
  batch.start().finish();
}

void set_links(const State& state, const std::string& name, bool up) {
  const int host = state.cluster().find(name);
  Batch batch{state, host, "ip"};
  for (const int neighbour : neighbours(state.cluster(), host))
    batch.add("link set {} {}", state.cluster().device(neighbour), up ? "up" : "down");
  batch.add("link set mg0 {}", up ? "up" : "down");
  if (up) add_routes(state.cluster(), host, batch);
  batch.start().finish();
}

}  // namespace weir::box
