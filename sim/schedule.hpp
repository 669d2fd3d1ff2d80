#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "model/flows.hpp"

namespace weir::sim {

/// Somebody who sends or receives: a node's own memory, a place of buffers, the storage, or a device of an experiment.
struct Endpoint {
  enum class Kind : std::uint8_t { node, place, storage, device } kind = Kind::storage;
  int number = 0;

  auto operator<=>(const Endpoint&) const = default;
};

/// What bytes pass between two endpoints: resources of the machine, then those that the schedule added.
struct Way {
  Endpoint from, to;
  std::vector<int> resources;
  double latency_s = 0;
};

/// A wait, then bytes along a way; begins when all steps of `after` have ended.
struct Step {
  int way = -1;  ///< none: only waits
  std::uint64_t bytes = 0;
  double delay_s = 0;
  std::vector<int> after;
};

/// Everything that moves on a machine, and what waits for what. The machine outlives it.
class Schedule {
 public:
  explicit Schedule(const Machine& machine) : machine_{&machine} {}

  /// One that the machine's description does not have.
  int add_resource(double bandwidth);

  /// The ways that a plan uses, each made once; resources of an experiment may come on top.
  int gather_way(int node, Place place, const std::vector<int>& more = {});
  int store_way(Place place, const std::vector<int>& more = {});
  /// What comes back from the storage takes the same links.
  int load_way(Place place, const std::vector<int>& more = {});
  int way(Endpoint from, Endpoint to, std::vector<int> resources, double latency_s);

  /// Bytes after the way's own latency and `delay_s`.
  int transfer(int way, std::uint64_t bytes, std::vector<int> after, double delay_s = 0);
  int wait(double delay_s, std::vector<int> after);

  [[nodiscard]] const std::vector<Way>& ways() const noexcept { return ways_; }
  [[nodiscard]] const std::vector<Step>& steps() const noexcept { return steps_; }
  [[nodiscard]] double bandwidth(int resource) const;
  /// What each resource has to carry.
  [[nodiscard]] std::map<int, std::uint64_t> bytes_by_resource() const;

 private:
  [[nodiscard]] Endpoint endpoint(Place place) const;

  const Machine* machine_;
  std::vector<double> added_;
  std::vector<Way> ways_;
  std::map<std::pair<Endpoint, Endpoint>, int> known_;
  std::vector<Step> steps_;
};

}  // namespace weir::sim
