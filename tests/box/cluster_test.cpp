#include <gtest/gtest.h>

#include <algorithm>

#include "box/cluster.hpp"
#include "machine/description.hpp"

namespace weir::box {
namespace {

Cluster make(const std::string& topology, const char* rate = "200mbit") {
  return Cluster::make({topology, *parse_rates(rate)});
}

class AnyCluster : public ::testing::TestWithParam<const char*> {};

TEST_P(AnyCluster, reaches_every_host_from_every_host_over_its_wires) {
  const Cluster cluster = make(GetParam());
  const int hosts = static_cast<int>(cluster.hosts().size()) - 1;  // without the front end
  ASSERT_EQ(cluster.hosts().back().role, Role::front);
  for (int a = 0; a < hosts; ++a)
    for (int b = 0; b < hosts; ++b) {
      if (a == b) continue;
      int at = a;
      for (const int next : cluster.path(a, b)) {
        EXPECT_FALSE(cluster.link_address(at, next).empty());
        EXPECT_NE(cluster.link_address(at, next), cluster.link_address(next, at));
        at = next;
      }
      EXPECT_EQ(at, b);
      EXPECT_LE(cluster.path(a, b).size(), 5U);
    }
}

TEST_P(AnyCluster, has_between_compute_hosts_as_many_wires_as_the_topology_has_links) {
  const Cluster cluster = make(GetParam());
  const Topology& topology = *cluster.machine().topology;
  for (int a = 0; a < topology.nodes(); ++a)
    for (int b = 0; b < topology.nodes(); ++b) {
      std::vector<int> links;
      topology.route(a, b, links);
      std::erase_if(links, [&](int link) {
        return topology.classes()[static_cast<std::size_t>(topology.class_of(link))].name == "node";
      });
      EXPECT_EQ(cluster.path(a, b).size(), links.size()) << a << " to " << b;
    }
}

TEST_P(AnyCluster, has_a_description_that_reads_as_the_same_machine) {
  const Cluster cluster = make(GetParam());
  const auto again = read_machine(write_machine(cluster.machine()), "box");
  ASSERT_TRUE(again.ok()) << again.status().message();
  EXPECT_TRUE(Result<Machine>{again}.value() == cluster.machine());
}

INSTANTIATE_TEST_SUITE_P(Box, AnyCluster,
                         ::testing::Values("torus", "torus:1", "torus:3", "dragonfly", "dragonfly:1", "star:1:1",
                                           "star:5:2"));

TEST(Cluster, puts_gateways_where_storage_hosts_are) {
  EXPECT_EQ(make("torus").machine().io.bridges, (std::vector{0, 7}));
  EXPECT_EQ(make("torus:1").machine().io.bridges, (std::vector{7}));
  EXPECT_DOUBLE_EQ(make("torus").machine().io.gateway_bandwidth.value, 50e6);
  EXPECT_TRUE(make("star:4:2").machine().io.bridges.empty());
}

TEST(Cluster, is_refused_when_the_topology_is_none) {
  for (const char* topology : {"", "ring", "star", "star:2", "star:0:1", "star:2:x", "star:2:1:1", "torus:9",
                               "torus:", "star:60:5", "star:1:-1"})
    EXPECT_THROW(make(topology), Error) << topology;
}

TEST(Rate, is_read_with_its_unit) {
  EXPECT_DOUBLE_EQ(parse_rate("200mbit")->bytes_per_s, 25e6);
  EXPECT_DOUBLE_EQ(parse_rate("1.5gbit")->bytes_per_s, 187.5e6);
  EXPECT_DOUBLE_EQ(parse_rate("64kbit")->bytes_per_s, 8e3);
  for (const char* wrong : {"", "200", "mbit", "200 mbit", "-5mbit", "1bit", "200mbits", "1e9gbit", "infmbit"})
    EXPECT_FALSE(parse_rate(wrong)) << wrong;
}

TEST(Rate, of_storage_hosts_may_be_another) {
  const Cluster cluster = make("torus:1", "50mbit:200mbit");
  EXPECT_EQ(cluster.rate(cluster.find("c0"), cluster.find("c1")).text, "50mbit");
  EXPECT_EQ(cluster.rate(cluster.find("c7"), cluster.find("s0")).text, "200mbit");
  EXPECT_EQ(cluster.rate(cluster.find("s0"), cluster.find("c7")).text, "200mbit");
  EXPECT_DOUBLE_EQ(cluster.machine().io.gateway_bandwidth.value, 25e6);
  EXPECT_DOUBLE_EQ(cluster.machine().io.bridge_bandwidth.value, 25e6);
  for (const char* wrong : {":", "50mbit:", ":50mbit", "50mbit:200", "50mbit:200mbit:1gbit"})
    EXPECT_FALSE(parse_rates(wrong)) << wrong;
}

}  // namespace
}  // namespace weir::box
