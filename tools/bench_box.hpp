#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "box/state.hpp"

namespace weir::tools {

/// Which box a benchmark runs in.
struct BoxChoice {
  std::string box;  ///< the name of one that is up, or a topology to bring one up for the time of the benchmark
  std::string rate = "200mbit";
};

/// Does the work in a process of the box's front end, which sees the files that its hosts see; afterwards the box is as
/// it was before. The exit code is the work's.
void in_box(const BoxChoice& choice, const std::function<void(const box::State&)>& work);

/// The box as `weir box compare` needs it, with what a job knows of its file system.
nlohmann::ordered_json box_facts(const box::State& state);

/// What the storage hosts' links carry together, payload in bytes a second.
double storage_links(const box::State& state);

/// Network devices that lead to the storage hosts; those hosts' neighbours have them.
std::vector<std::string> devices_to_storage(const box::State& state);

}  // namespace weir::tools
