#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <numeric>

#include "core/errors.hpp"
#include "e3sm_map.hpp"
#include "workload.hpp"

namespace weir::bench {
namespace {

/// `count` variables of `element` bytes a value over decomposition `map`; over none of them: `values` on rank 0.
struct Group {
  int map;
  std::uint64_t element;
  int count;
  std::uint64_t values = 0;
};

// Variables and types as the E3SM-IO benchmark defines them, those of one kind next to each other.
const std::vector<Group> f_case{{3, 4, 63}, {2, 4, 321}, {1, 8, 3}};
const std::vector<Group> g_case{{1, 4, 1}, {1, 8, 5}, {2, 4, 2}, {3, 4, 1},      {3, 8, 24},   {4, 4, 1},    {4, 8, 1},
                                {5, 4, 1}, {5, 8, 1}, {6, 8, 4}, {0, 8, 4, 100}, {0, 8, 6, 1}, {0, 1, 1, 64}};

/// The lists of the map's ranks go to ours in turn: list 0 to rank 0, list 1 to rank 1, ...
std::vector<Run> runs_of(const E3smMap& map, std::uint64_t element, int rank, int ranks) {
  std::vector<Run> runs;
  for (auto list = static_cast<std::size_t>(rank); list < map.lists.size(); list += static_cast<std::size_t>(ranks))
    for (const Piece& request : map.lists[list])
      runs.push_back({.offset = request.offset * element, .length = request.length * element});
  return runs;
}

std::uint64_t group_values(const Group& group, const std::vector<E3smMap>& maps) {
  return group.map == 0 ? group.values : maps[static_cast<std::size_t>(group.map - 1)].elements;
}

Part part_of(const std::vector<Group>& groups, const std::vector<E3smMap>& maps, int rank, int ranks) {
  Part part;
  std::uint64_t at = 0;
  for (const Group& group : groups) {
    const std::uint64_t bytes = group_values(group, maps) * group.element;
    std::vector<Run> runs;
    if (group.map > 0) {
      runs = runs_of(maps[static_cast<std::size_t>(group.map - 1)], group.element, rank, ranks);
    } else if (rank == 0) {
      runs.push_back({.offset = 0, .length = bytes});
    }
    const auto decomposition = static_cast<int>(part.decompositions.size());
    part.decompositions.emplace_back(std::move(runs));
    for (int i = 0; i < group.count; ++i, at += bytes) part.variables.push_back({decomposition, at});
  }
  return part;
}

Result<std::string> find_map(const std::string& given, const std::string& letter) {
  namespace fs = std::filesystem;
  std::vector<fs::path> folders;
  const char* environment = std::getenv("WEIR_E3SM_MAPS");
  if (!given.empty()) {
    folders.emplace_back(given);
  } else if (environment != nullptr) {
    folders.emplace_back(environment);
  } else {
    folders = {fs::path{"../shared/data"}, fs::path{WEIR_SOURCE_DIR} / "../shared/data"};
  }
  const std::string name = fmt::format("e3sm_{}_case_16p.nc", letter);
  std::error_code ignored;
  for (const fs::path& folder : folders)
    for (const std::string& file : {name, fmt::format("map_{}_case_16p.nc", letter)})
      if (fs::exists(folder / file, ignored)) return (folder / file).lexically_normal().string();
  return problem(Code::not_found, fmt::format("cannot find the map '{}'", (folders.front() / name).string()),
                 "give its folder with --maps or WEIR_E3SM_MAPS; the maps are part of the E3SM-IO benchmark");
}

Result<Workload> make(const std::string& letter, const std::vector<Group>& groups, const Parameters& parameters,
                      int ranks) {
  auto path = find_map(parameters.at("maps"), letter);
  if (!path) return path.status();
  auto maps = read_e3sm_maps(*path);
  if (!maps) return maps.status();
  std::uint64_t file_bytes = 0;
  for (const Group& group : groups) {
    if (static_cast<std::size_t>(group.map) > maps->size())
      return problem(Code::corrupt,
                     fmt::format("the map '{}' has {} decompositions, D{} is needed", *path, maps->size(), group.map));
    file_bytes += group_values(group, *maps) * group.element * static_cast<std::uint64_t>(group.count);
  }
  return Workload{.name = "e3sm-" + letter,
                  .variant = "record",
                  .size = "1",
                  .unit = "record",
                  .ranks = ranks,
                  .file_bytes = file_bytes,
                  .part = [groups, ranks, maps = std::make_shared<const std::vector<E3smMap>>(std::move(*maps))](
                              int rank) { return part_of(groups, *maps, rank, ranks); }};
}

const std::vector<WorkloadKind::Parameter> map_parameter{
    {"maps", "", "folder of the map files (else WEIR_E3SM_MAPS, else ../shared/data)"}};

}  // namespace

WorkloadKind e3sm_f() {
  return {"e3sm-f", "E3SM atmosphere: 387 variables, 4.2 million requests of mostly 4 bytes", map_parameter,
          [](const Parameters& parameters, int ranks) { return make("f", f_case, parameters, ranks); }};
}

WorkloadKind e3sm_g() {
  return {"e3sm-g", "E3SM ocean: 52 variables, pieces of up to 808 bytes", map_parameter,
          [](const Parameters& parameters, int ranks) { return make("g", g_case, parameters, ranks); }};
}

}  // namespace weir::bench
