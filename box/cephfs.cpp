#include "box/cephfs.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include "box/host.hpp"
#include "core/errors.hpp"

namespace weir::box {
namespace {

/// Nobody else is in these networks, so nobody proves who he is; one copy of everything, in memory. Clients write no
/// errors: while ceph-fuse 16 goes to the background, libfuse may get the descriptor of standard error for its requests, and
/// what is written there stops the file system. It would complain about the groups of processes that are on no host.
std::string configuration(const State& state, const std::string& id) {
  const Cluster& cluster = state.cluster();
  const std::string monitor = cluster.address(cluster.find("s0"));
  return fmt::format(R"([global]
fsid = {id}
mon host = [v2:{monitor}:3300,v1:{monitor}:6789]
public network = {network}
auth cluster required = none
auth service required = none
auth client required = none
osd pool default size = 1
osd pool default min size = 1
osd pool default read lease ratio = 0.02
mon allow pool size one = true
mon pg warn min per osd = 0
osd crush chooseleaf type = 0
paxos propose interval = 0.02
osd objectstore = memstore
memstore device bytes = 4294967296
osd memory target = 939524096
run dir = {run}
log file = {log}/ceph-$name.log
admin socket = {run}/$name.$pid.asok
mon data = {run}/mon
mds data = {run}/mds
osd data = {run}/osd$id

[client]
fuse set user groups = false
log to stderr = false
err to stderr = false
)",
                     fmt::arg("id", id), fmt::arg("monitor", monitor), fmt::arg("network", Cluster::network),
                     fmt::arg("run", state.path("ceph")), fmt::arg("log", state.path("log")));
}

std::string new_id() {
  std::ifstream file{"/proc/sys/kernel/random/uuid"};
  std::string id;
  file >> id;
  return id;
}

class Ceph {
 public:
  explicit Ceph(const State& state) : state_{state}, storage_{state.cluster().names(Role::storage)} {
    for (const char* folder : {"ceph", "ceph/mon", "ceph/mds"}) std::filesystem::create_directory(state.path(folder));
    for (std::size_t i = 0; i < storage_.size(); ++i)
      std::filesystem::create_directory(state.path(fmt::format("ceph/osd{}", i)));
    state_.write("ceph.conf", configuration(state, id_));
  }

  void start_monitor() const {
    const std::string map = state_.path("ceph/monmap"), address = state_.cluster().address(state_.cluster().find("s0"));
    on(storage_.front(),
       {"monmaptool", "--create", "--fsid", id_, "--addv", "a", fmt::format("[v2:{0}:3300,v1:{0}:6789]", address), map})
        .finish();
    on(storage_.front(), ceph("ceph-mon", {"--mkfs", "-i", "a", "--monmap", map})).finish();
    on(storage_.front(), ceph("ceph-mon", {"-i", "a"})).finish();
  }

  /// In one session, as each start of the program takes a second.
  void make_pools() {
    std::string session;
    for (std::size_t i = 0; i < storage_.size(); ++i)
      session += fmt::format("osd new {}\n", disks_.emplace_back(new_id()));
    session += fmt::format("osd set-require-min-compat-client luminous\nosd pool create metadata 8\n"
                           "osd pool create data {}\nfs new fs metadata data\n", groups);
    this->session("pools", session).finish();
  }

  /// Groups of objects lie on the storage hosts in turn. At random one host would have more of them, and all files would lie
  /// unevenly. The hosts must be known already.
  [[nodiscard]] Job spread_groups() const {
    std::string lines;
    for (std::size_t group = 0; group < groups; ++group)
      lines += fmt::format("osd pg-upmap {}.{:x} {}\n", data_pool, group, group % storage_.size());
    return session("groups", lines);
  }

  void start_storage() const {
    each_storage([&](std::size_t i) {
      return ceph("ceph-osd", {"-i", std::to_string(i), "--mkfs", "--osd-uuid", disks_[i]});
    });
    each_storage([&](std::size_t i) { return ceph("ceph-osd", {"-i", std::to_string(i)}); });
    on(storage_.front(), ceph("ceph-mds", {"-i", "a"})).finish();
  }

  void mount(const std::string& place, bool caches) const {
    std::vector<std::string> hosts = state_.cluster().names(Role::compute);
    const auto command = ceph("ceph-fuse", {fmt::format("--fuse_disable_pagecache={}", !caches),
                                            fmt::format("--client_oc={}", caches), place});
    mount_when_served(hosts.front(), command);
    std::vector<Job> jobs;
    if (!caches) jobs.push_back(spread_groups());
    for (auto host = hosts.begin() + 1; host != hosts.end(); ++host) jobs.push_back(on(*host, command));
    for (Job& job : jobs) job.finish();
  }

  /// Objects of one stripe each: Ceph places objects at random, and few large ones rarely lie evenly on all hosts.
  void stripe() const {
    const std::string layout = fmt::format("stripe_unit={0} stripe_count=1 object_size={0}", state_.order().stripe);
    on(state_.cluster().names(Role::compute).front(),
       {"setfattr", "-n", "ceph.dir.layout", "-v", layout, state_.file_system()})
        .finish();
  }

 private:
  /// The servers take a few seconds until they know of one another; a mount fails until then.
  void mount_when_served(const std::string& host, const std::vector<std::string>& command) const {
    const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds{60};
    for (;;) {
      try {
        return on(host, command).finish();
      } catch (const Error&) {
        if (std::chrono::steady_clock::now() > give_up) throw;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds{200});
    }
  }

  [[nodiscard]] std::string log(const std::string& host) const { return state_.path("log/" + host); }

  [[nodiscard]] std::vector<std::string> ceph(const char* program, const std::vector<std::string>& more) const {
    std::vector<std::string> command{find_program(program), "-c", state_.path("ceph.conf")};
    command.insert(command.end(), more.begin(), more.end());
    return command;
  }

  [[nodiscard]] Job on(const std::string& host, const std::vector<std::string>& command) const {
    return {inside(state_, host), command, log(host)};
  }

  [[nodiscard]] Job session(const std::string& name, const std::string& lines) const {
    state_.write("ceph/" + name, lines);
    return {inside(state_, storage_.front()), ceph("ceph", {}), log("ceph"), state_.path("ceph/" + name)};
  }

  template <class Command>
  void each_storage(const Command& command) const {
    std::vector<Job> jobs;
    for (std::size_t i = 0; i < storage_.size(); ++i) jobs.push_back(on(storage_[i], command(i)));
    for (Job& job : jobs) job.finish();
  }

  static constexpr std::size_t groups = 32;
  static constexpr int data_pool = 2;  // the second that is made
  const State& state_;
  std::string id_ = new_id();
  std::vector<std::string> storage_, disks_;
};

}  // namespace

void start_cephfs(const State& state, const Progress& progress) {
  Ceph ceph{state};
  progress("starting the monitor of CephFS", 0.2);
  ceph.start_monitor();
  progress("making pools", 0.35);
  ceph.make_pools();
  progress("starting storage hosts", 0.5);
  ceph.start_storage();
  progress("mounting CephFS", 0.7);
  ceph.mount(state.file_system(), false);
  ceph.stripe();
  if (state.order().weak) ceph.mount(state.weak_file_system(), true);
}

std::vector<std::string> missing_for_cephfs() {
  constexpr std::pair<const char*, const char*> needed[] = {
      {"ceph-mon", "ceph-mon"}, {"monmaptool", "ceph-common"}, {"ceph", "ceph-common"},  {"ceph-osd", "ceph-osd"},
      {"ceph-mds", "ceph-mds"}, {"ceph-fuse", "ceph-fuse"},    {"fusermount3", "fuse3"}, {"setfattr", "attr"}};
  std::vector<std::string> missing;
  for (const auto& [program, package] : needed)
    if (find_program(program).empty()) missing.push_back(fmt::format("{} (package {})", program, package));
  return missing;
}

}  // namespace weir::box
