#include "bench_box.hpp"

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>

#include "bench_common.hpp"
#include "box/box.hpp"
#include "box/host.hpp"
#include "commands.hpp"
#include "core/errors.hpp"
#include "launch.hpp"
#include "machine/description.hpp"
#include "machine/posix_traits.hpp"
#include "machine/stored.hpp"

namespace weir::tools {
namespace {

bool is_up(const std::string& name) {
  const auto names = box::State::names();
  return std::ranges::find(names, name) != names.end();
}

box::State bring_up(const BoxChoice& choice) {
  box::Order order;
  order.name = fmt::format("bench-{}", ::getpid());
  order.topology = choice.box;
  order.rate = choice.rate;
  const Progress line;
  box::State state = box::bring_up(order, [&](const std::string& what, double done) {
    if (bench::interrupted()) throw Error{problem(Code::io, "interrupted: the box is taken down again")};
    line.show(what, done);
  });
  line.clear();
  return state;
}

/// A process that waits for a file system which does not answer cannot be ended before the box is.
int end_front_end(pid_t child) {
  ::kill(child, SIGTERM);
  for (int tenths = 0; tenths < 100; ++tenths) {
    if (::waitpid(child, nullptr, WNOHANG) != 0) break;
    ::usleep(100'000);
  }
  return 1;
}

int run_front_end(const box::State& state, const std::function<void(const box::State&)>& work) {
  std::fflush(nullptr);
  const pid_t child = ::fork();
  if (child < 0) throw Error{system_problem(errno, "start a process of the front end")};
  if (child == 0) {
    telling_errors([&] {
      box::become_front_end(state);
      work(state);
    });
    std::fflush(nullptr);
    ::_exit(exit_code());
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR)
    if (bench::interrupted()) return end_front_end(child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

}  // namespace

void in_box(const BoxChoice& choice, const std::function<void(const box::State&)>& work) {
  box::check_rights("run in a box");
  bench::catch_interrupts();
  const bool there = is_up(choice.box);
  const box::State state = there ? box::State::find(choice.box) : bring_up(choice);
  if (state.order().storage == "none")
    throw Error{problem(Code::invalid, fmt::format("the box '{}' has no file system", choice.box),
                        "bring one up with --storage cephfs")};
  try {
    set_exit_code(run_front_end(state, work));
  } catch (...) {
    if (!there) box::take_down(state);
    throw;
  }
  if (!there) box::take_down(state);
}

nlohmann::ordered_json box_facts(const box::State& state) {
  const box::Order& order = state.order();
  const StorageTraits storage = posix_traits(state.file_system());
  return {{"topology", order.topology},
          {"rate", order.rate},
          {"stripe", order.stripe},
          {"machine", write_machine(find_machine(state.description()).value())},
          {"storage",
           {{"kind", storage.kind},
            {"file_system", storage.file_system},
            {"block", storage.block},
            {"stripe", storage.stripe},
            {"local", storage.local}}}};
}

std::vector<std::string> devices_to_storage(const box::State& state) {
  const box::Cluster& cluster = state.cluster();
  std::vector<std::string> devices;
  for (const std::string& host : cluster.names(box::Role::storage)) devices.push_back(cluster.device(cluster.find(host)));
  return devices;
}

double storage_links(const box::State& state) {
  return static_cast<double>(state.cluster().names(box::Role::storage).size()) * state.cluster().storage_rate().bytes_per_s *
         box::payload_part;
}

}  // namespace weir::tools
