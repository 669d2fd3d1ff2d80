#pragma once

#include <memory>
#include <string>

#include "core/settings.hpp"
#include "exchange/team.hpp"
#include "model/placement.hpp"
#include "plan/aggregator_election.hpp"
#include "storage/storage.hpp"

namespace weir {

/// What the settings say about a file, looked up once for all files that have the same.
struct FileSettings {
  PlanLimits limits;
  ElectionRules election;
  std::string files;           ///< plan.files
  std::string node_directory;  ///< where files are on this node; empty: they are in the file system
  bool posix = true;
  bool memory = false;
  bool replace = true;
  bool durable = false;
  bool one_sided = false;
  bool faulty = false;  ///< its faults are counted from the opening of each file
  std::shared_ptr<StorageSystem> system;

  static Result<std::shared_ptr<const FileSettings>> of(const ResolvedSettings& settings, const Team& team);

 private:
  Status use_remote(const ResolvedSettings& settings);
  Status use_nodes(const ResolvedSettings& settings, const Team& team);
};

}  // namespace weir
