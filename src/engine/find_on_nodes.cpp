#include <fmt/format.h>
#include <sys/stat.h>

#include <limits>

#include "core/errors.hpp"
#include "engine/file_set.hpp"

/// How ranks find out what their nodes have of a file.
namespace weir {

namespace {

/// When the file in the file system was written; the least for none.
std::int64_t written_ns(const std::string& path) {
  struct stat found {};
  if (stat(path.c_str(), &found) != 0) return std::numeric_limits<std::int64_t>::min();
  return std::int64_t{found.st_mtim.tv_sec} * 1'000'000'000 + found.st_mtim.tv_nsec;
}

}  // namespace

Result<OnNodes> find_on_nodes(Team& team, const NodeStore& store, const std::string& target, const Outcome& outcome) {
  Writer mine;
  Outcome next = outcome;
  next.fail(attempt("open a file", [&]() -> Status {
    if (team.rank() == 0) mine.put(written_ns(target));
    if (team.leader())
      for (const NodeSet& set : store.find()) set.write(mine);
    return {};
  }), team.rank());
  auto posts = team.gather(mine.data(), next);
  if (Status status = agreed(team.result()); !status.ok()) return status;
  if (!posts) return posts.status();
  std::vector<std::vector<NodeSet>> by_node;
  std::int64_t in_file_system = 0;
  for (const auto& ranks : team.nodes().ranks_on) {
    Reader in{(*posts)[static_cast<std::size_t>(ranks.front())]};
    if (ranks.front() == 0) in.get_to(in_file_system);
    auto& sets = by_node.emplace_back();
    while (in.ok() && !in.at_end()) sets.push_back(NodeSet::read(in));
  }
  OnNodes found{newest_complete(by_node), describe_torn(by_node)};
  if (found.choice && found.choice->written_ns < in_file_system) found.choice.reset();
  return found;
}

Result<std::unique_ptr<FileSet>> open_on_nodes(Team& team, StorageSystem& system, const NodeStore& store,
                                               const NodeSetChoice& choice, const std::string& path, Outcome outcome) {
  const int from = team.nodes().ranks_on[static_cast<std::size_t>(choice.index_node)].front();
  std::vector<std::byte> mine;
  if (team.rank() == from)
    outcome.fail(attempt("open a file", [&] {
      auto content = store.load(choice.id);
      if (content) mine = std::move(*content);
      return content.status();
    }), from);
  auto index = FileSet::share(team, mine, outcome, path, from);
  if (!index) return index.status();
  return std::make_unique<FileSet>(team, system, std::move(*index), path, store, choice);
}

}  // namespace weir
