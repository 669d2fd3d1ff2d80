#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "host.hpp"
#include "request.hpp"
#include "statistics.hpp"
#include "workload.hpp"

namespace weir::bench {

/// All that a call of `weir bench` found out.
struct Results {
  struct Entry {
    std::string baseline;
    Measurement measurement;
    Ratio ratio;  ///< baseline's time over Weir's
    HostState before, after;
    double others_percent = 0;  ///< of the machine, used by other programs during the job
  };
  struct Failure {
    std::string baseline;
    std::string problem;
  };
  Workload workload;
  Request request;  ///< the last one made
  std::string mpi;
  std::string file_system;
  double wire_bytes_per_s = 0;  ///< what the links to the storage carry, where they are known
  double link_bytes_per_s = 0;  ///< and one of them, headers included
  nlohmann::ordered_json box;   ///< the box that it ran in, as `weir box compare` needs it; null: none
  std::vector<Entry> entries;
  std::vector<Failure> failures;

  void add(const std::string& baseline, const Measurement& measurement, const HostState& before,
           const HostState& after);
  /// The job beside `baseline` has ended. In a box nobody knows what others used, as its hosts are no children of ours.
  void end_job(const std::string& baseline, double others_percent);
  /// How long the links to the storage need for the file; 0 where they are not known.
  [[nodiscard]] double wire_s() const;
  /// The part of Weir's time that the busiest link to a storage host needed for what it carried, which depends on how the
  /// file system placed the file; the median, 0 where it is not known.
  [[nodiscard]] double busiest_link_part(const Measurement& measurement) const;
  /// Every run moved the right bytes and every job was finished.
  [[nodiscard]] bool right() const;
};

/// A table for people.
std::string table(const Results& results);
nlohmann::ordered_json to_json(const Results& results);

}  // namespace weir::bench
