#include "plan/file_groups.hpp"

#include <algorithm>
#include <bit>
#include <charconv>

namespace weir {

FileGroups FileGroups::of(std::string_view setting, const NodeMap& nodes) {
  FileGroups groups;
  if (setting == "shared") return groups;
  int nodes_a_file = 1;
  if (setting.starts_with("nodes:")) {
    unsigned given = 1;
    std::from_chars(setting.data() + 6, setting.data() + setting.size(), given);
    nodes_a_file = static_cast<int>(std::clamp<unsigned>(given, 1, static_cast<unsigned>(nodes.nodes())));
  }
  for (int rank = 0; rank < nodes.ranks(); ++rank)
    groups.group_of.push_back(setting == "rank" ? rank : nodes.node_of[static_cast<std::size_t>(rank)] / nodes_a_file);
  groups.files = static_cast<std::uint32_t>(*std::max_element(groups.group_of.begin(), groups.group_of.end())) + 1;
  return groups;
}

std::uint64_t FileGroups::room() const noexcept {
  return std::uint64_t{1} << (63 - std::bit_width(std::max(files, 1u) - 1));
}

std::vector<std::vector<int>> FileGroups::members(const NodeMap& nodes) const {
  std::vector<std::vector<int>> result(files);
  for (const auto& ranks : nodes.ranks_on)
    for (const int rank : ranks) result[static_cast<std::size_t>(group_of[rank])].push_back(rank);
  return result;
}

std::vector<FileGroups::Part> FileGroups::parts(std::size_t wanted, const NodeMap& nodes) const {
  std::vector<Part> result;
  const auto add = [&](std::uint32_t end, std::vector<int> ranks) {
    const std::size_t share = wanted * ranks.size() / static_cast<std::size_t>(nodes.ranks());
    const std::size_t count = std::clamp<std::size_t>(share, 1, ranks.size());
    for (std::size_t k = 0; k < count; ++k) ranks[k] = ranks[k * ranks.size() / count];
    ranks.resize(count);
    result.push_back({end, std::move(ranks)});
  };
  if (!group_of.empty()) {
    auto ranks = members(nodes);
    for (std::uint32_t file = 0; file < files; ++file) add(file + 1, std::move(ranks[file]));
    return result;
  }
  for (std::uint32_t file = 0; file < files; ++file)
    if (file + 1 == files || holder_of[file + 1] != holder_of[file])
      add(file + 1, nodes.ranks_on[static_cast<std::size_t>(holder_of[file])]);
  return result;
}

}  // namespace weir
