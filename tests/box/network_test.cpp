#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>

#include "box/host.hpp"
#include "box/process.hpp"
#include "machine/stored.hpp"

// The network of a box that is up, beside the description of it.
namespace weir::box {
namespace {

class Network : public ::testing::Test {
 protected:
  void SetUp() override {
    const char* name = std::getenv("WEIR_TEST_BOX");
    if (name == nullptr || ::geteuid() != 0) GTEST_SKIP() << "skipped: a box takes root";
    state_ = std::make_unique<State>(State::find(name));
    machine_ = std::make_unique<Machine>(find_machine(state_->description()).value());
  }
  std::string output(const std::string& host, const std::vector<std::string>& command) {
    const std::string log = ::testing::TempDir() + "/box_network_" + host;
    std::remove(log.c_str());
    run(network_of(*state_, host), command, log);
    std::ifstream file{log};
    std::string text{std::istreambuf_iterator<char>{file}, {}};
    std::remove(log.c_str());
    return text;
  }
  /// The host that each address is sent to next, as the kernel of this host has it.
  std::map<std::string, std::string> next_hosts(const std::string& host) {
    std::map<std::string, std::string> next;
    std::istringstream lines{output(host, {"ip", "-o", "route"})};
    for (std::string line; std::getline(lines, line);) {
      std::istringstream words{line};
      std::string to, via, gateway, dev, device;
      if (words >> to >> via >> gateway >> dev >> device && via == "via") next[to] = device.substr(3);
    }
    return next;
  }
  const std::string& name_of(int host) { return state_->cluster().hosts()[static_cast<std::size_t>(host)].name; }

  std::unique_ptr<State> state_;
  std::unique_ptr<Machine> machine_;
};

TEST_F(Network, has_the_routes_of_the_description_on_every_host) {
  const Cluster& cluster = state_->cluster();
  std::map<std::string, std::map<std::string, std::string>> next;
  for (const Host& host : cluster.hosts())
    if (host.is_in_network()) next[host.name] = next_hosts(host.name);
  const auto real_path = [&](int from, int to) {
    std::vector<std::string> path;
    for (std::string at = name_of(from); at != name_of(to) && path.size() < 20;)
      path.push_back(at = next.at(at).at(cluster.address(to)));
    return path;
  };
  // A link of the description belongs to the two neighbours whose route it is.
  std::map<int, std::string> end_of;
  for (int a = 0; a < machine_->nodes(); ++a)
    for (int b = 0; b < machine_->nodes(); ++b)
      if (std::vector<int> links; a != b && (machine_->topology->route(a, b, links), links.size() == 1))
        end_of[links[0]] = name_of(b);
  const auto described_path = [&](const std::vector<int>& links) {
    std::vector<std::string> path;
    for (const int link : links)
      if (end_of.contains(link)) path.push_back(end_of[link]);
    return path;
  };
  int compared = 0;
  for (int from = 0; from < machine_->nodes(); ++from) {
    for (int to = 0; to < machine_->nodes(); ++to) {
      std::vector<int> links;
      machine_->topology->route(from, to, links);
      EXPECT_EQ(real_path(from, to), described_path(links)) << name_of(from) << " to " << name_of(to);
      ++compared;
    }
    std::vector<int> links;
    machine_->route_to_storage(from, links);
    const auto& bridges = machine_->io.bridges;
    const auto bridge = std::ranges::find(bridges, machine_->bridge_of(from)) - bridges.begin();
    const int storage = machine_->nodes() + static_cast<int>(bridge);
    auto expected = described_path(links);
    expected.push_back(name_of(storage));
    EXPECT_EQ(real_path(from, storage), expected) << name_of(from) << " to the storage";
  }
  EXPECT_EQ(compared, 64);
  for (const Host& a : cluster.hosts()) {
    for (const Host& b : cluster.hosts()) {
      if (!a.is_in_network() || !b.is_in_network() || a.name == b.name) continue;
      const int from = cluster.find(a.name), to = cluster.find(b.name);
      EXPECT_EQ(real_path(from, to).size(), real_path(to, from).size()) << a.name << " and " << b.name;
    }
  }
}

TEST_F(Network, has_every_link_shaped_at_both_ends) {
  const Cluster& cluster = state_->cluster();
  std::size_t shaped = 0;
  for (const Host& host : cluster.hosts()) {
    std::istringstream lines{output(host.name, {"tc", "qdisc", "show"})};
    for (std::string line; std::getline(lines, line);) {
      if (line.find("dev to_") == std::string::npos) continue;
      EXPECT_NE(line.find("tbf"), std::string::npos) << line;
      EXPECT_NE(line.find("rate 200Mbit"), std::string::npos) << line;
      ++shaped;
    }
  }
  EXPECT_EQ(shaped, 2 * cluster.wires().size());
}

}  // namespace
}  // namespace weir::box
