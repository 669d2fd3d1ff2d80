#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "machine/figure.hpp"

namespace weir {

/// Links that are alike.
struct LinkClass {
  std::string name;
  Bandwidth bandwidth;
  Latency latency;

  bool operator==(const LinkClass&) const = default;
};

/// How nodes are connected: distances and routes. Links have a direction and are numbered from 0. Immutable.
class Topology {
 public:
  virtual ~Topology() = default;

  [[nodiscard]] virtual std::string_view kind() const noexcept = 0;
  [[nodiscard]] virtual int nodes() const noexcept = 0;
  [[nodiscard]] virtual int links() const noexcept = 0;
  [[nodiscard]] virtual int class_of(int link) const = 0;
  [[nodiscard]] const std::vector<LinkClass>& classes() const noexcept { return classes_; }
  [[nodiscard]] virtual std::vector<int> coordinates(int node) const = 0;

  /// Appends the links from one node to another, in order; none when they are the same.
  virtual void route(int from, int to, std::vector<int>& links) const = 0;
  /// Number of hops, which the papers' models count; the length of the route unless the topology says otherwise.
  [[nodiscard]] virtual int hops(int from, int to) const;

  /// What distinguishes it from others of its kind, as `key = value` lines of a description file.
  [[nodiscard]] virtual std::vector<std::pair<std::string, std::string>> parameters() const = 0;

  /// The same with other figures: as many classes, in the same order.
  [[nodiscard]] virtual std::shared_ptr<const Topology> with(std::vector<LinkClass> classes) const = 0;

  /// What the route from one node to another carries at most, alone, infinite where nothing is known; and how long an
  /// empty message takes.
  [[nodiscard]] double bandwidth(int from, int to) const;
  [[nodiscard]] double latency(int from, int to) const;

  friend bool operator==(const Topology& a, const Topology& b) {
    return a.kind() == b.kind() && a.classes_ == b.classes_ && a.parameters() == b.parameters();
  }

 protected:
  explicit Topology(std::vector<LinkClass> classes) : classes_{std::move(classes)} {}
  Topology(const Topology&) = default;

  template <class T>
  static std::shared_ptr<const Topology> changed(const T& topology, std::vector<LinkClass> classes) {
    auto copy = std::make_shared<T>(topology);
    copy->Topology::classes_ = std::move(classes);
    return copy;
  }

 private:
  std::vector<LinkClass> classes_;
};

using TopologyPtr = std::shared_ptr<const Topology>;

}  // namespace weir
