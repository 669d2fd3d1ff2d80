#include "box/state.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "core/errors.hpp"

namespace weir::box {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Order, name, topology, rate, storage, stripe, weak)

namespace {

namespace fs = std::filesystem;

constexpr const char* parent = "/run/weir-box";
constexpr const char* order_file = "box.json";
constexpr const char* format_name = "weir box 1";

void check_name(const std::string& name) {
  const auto usable = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_'; };
  if (!name.empty() && name.size() <= 32 && std::ranges::all_of(name, usable)) return;
  throw Error{problem(Code::invalid, fmt::format("cannot call a box '{}'", name),
                      "a name has up to 32 letters, digits, - and _")};
}

/// Changes with every start of the system: the processes of a box do not outlive it.
std::string boot() {
  std::ifstream file{"/proc/sys/kernel/random/boot_id"};
  std::string id;
  file >> id;
  return id;
}

Cluster cluster_of(const Order& order) {
  const auto rates = parse_rates(order.rate);
  if (!rates)
    throw Error{problem(Code::invalid, fmt::format("'{}' is no rate for the links", order.rate),
                        "rates are such as 200mbit, 64kbit or 1gbit, from 8kbit to 100gbit, and 50mbit:200mbit where "
                        "links of storage hosts have another one")};
  Cluster cluster = Cluster::make({order.topology, *rates});
  if (order.storage == "cephfs" && cluster.names(Role::storage).empty())
    throw Error{problem(Code::invalid,
                        fmt::format("cannot have CephFS on '{}': it has no storage host", order.topology),
                        "add one, or choose --storage none")};
  return cluster;
}

ProcessId read_process(const fs::path& path) {
  std::ifstream file{path};
  ProcessId process;
  std::string id;
  if (!(file >> process.pid >> process.started >> id) || id != boot()) return {};
  return process;
}

}  // namespace

State::State(std::string directory, Order order)
    : directory_{std::move(directory)}, order_{std::move(order)}, cluster_{cluster_of(order_)} {}

State State::make(const Order& order) {
  check_name(order.name);
  State state{fmt::format("{}/{}", parent, order.name), order};
  ::mkdir(parent, 0755);
  if (::mkdir(state.directory_.c_str(), 0755) != 0) {
    if (errno != EEXIST) throw Error{system_problem(errno, fmt::format("make '{}'", state.directory_))};
    const bool ours = fs::exists(state.path(order_file));
    throw Error{problem(
        Code::exists,
        ours ? fmt::format("cannot bring up the box '{}': there is one of this name", order.name)
             : fmt::format("cannot bring up the box '{}': '{}' is there and is no box", order.name, state.directory_),
        ours ? fmt::format("take it down with `weir box down {}`, or choose another name", order.name)
             : std::string{"choose another name"})};
  }
  nlohmann::json json = order;
  json["format"] = format_name;
  state.write(order_file, json.dump(2) + "\n");
  for (const char* folder : {"hosts", "launches", "log", "net", "fs", "weak", "tmp"})
    fs::create_directory(state.path(folder));
  return state;
}

State State::find(const std::string& name) {
  check_name(name);
  const std::string directory = fmt::format("{}/{}", parent, name);
  std::ifstream file{fmt::format("{}/{}", directory, order_file)};
  const auto json = nlohmann::json::parse(file, nullptr, false);
  if (!json.is_object() || json.value("format", "") != format_name)
    throw Error{problem(Code::not_found,
                        fs::exists(directory)
                            ? fmt::format("'{}' was not made by `weir box`, and is left alone", directory)
                            : fmt::format("there is no box '{}'", name),
                        "`weir box status` lists those there are; `weir box up` makes one")};
  return {directory, json.get<Order>()};
}

std::vector<std::string> State::names() {
  std::vector<std::string> found;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator{parent, ignored})
    if (fs::exists(entry.path() / order_file, ignored)) found.push_back(entry.path().filename());
  std::ranges::sort(found);
  return found;
}

bool State::complete() const { return fs::exists(path("complete")); }

void State::set_complete() const { write("complete", ""); }

void State::write(const std::string& file, const std::string& text, bool program) const {
  const std::string there = path(file), part = there + ".part";
  std::ofstream out{part};
  out << text;
  out.close();
  if (!out || (program && ::chmod(part.c_str(), 0755) != 0) || std::rename(part.c_str(), there.c_str()) != 0)
    throw Error{system_problem(errno, fmt::format("write '{}'", there))};
}

void State::add_host(const std::string& host, const ProcessId& process) const {
  write("hosts/" + host, fmt::format("{} {} {}\n", process.pid, process.started, boot()));
}

ProcessId State::host(const std::string& host) const { return read_process(path("hosts/" + host)); }

void State::add_launch(const ProcessId& process) const {
  write(fmt::format("launches/{}", process.pid), fmt::format("{} {} {}\n", process.pid, process.started, boot()));
}

std::vector<ProcessId> State::launches() const {
  std::vector<ProcessId> found;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator{path("launches"), ignored})
    found.push_back(read_process(entry.path()));
  return found;
}

void State::remove() const {
  std::ifstream mounts{"/proc/self/mountinfo"};
  for (std::string line; std::getline(mounts, line);)
    if (line.find(" " + directory_ + "/") != std::string::npos)
      throw Error{problem(Code::io,
                          fmt::format("cannot remove '{}': something is mounted in it:\n      {}", directory_, line),
                          "unmount it, and take the box down again")};
  std::error_code error;
  fs::remove(path("complete"), error);
  for (const auto& entry : fs::directory_iterator{directory_})  // the order last: until then it is still a box
    if (entry.path().filename() != order_file) fs::remove_all(entry.path(), error);
  fs::remove_all(directory_, error);
  if (error) throw Error{system_problem(error.value(), fmt::format("remove '{}'", directory_))};
  ::remove(parent);  // stays while there are others
}

}  // namespace weir::box
