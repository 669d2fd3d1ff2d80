#include "core/errors.hpp"
#include "engine/file_name.hpp"
#include "engine/file_set.hpp"

/// How ranks find out what their nodes have of a file.
namespace weir {

Result<OnNodes> find_on_nodes(Team& team, const NodeStore& store, const std::string& target, const Outcome& outcome) {
  Writer mine;
  Outcome next = outcome;
  next.fail(attempt("open a file",
                    [&]() -> Status {
                      if (team.rank() == 0) mine.put(modified_ns(target));
                      if (!team.leader()) return {};
                      auto sets = store.find();
                      if (!sets) return sets.status();
                      for (const NodeSet& set : *sets) set.write(mine);
                      return {};
                    }),
            team.rank());
  auto posts = team.gather(mine.data(), next);
  if (Status status = agreed(team.result()); !status.ok()) return status;
  if (!posts) return posts.status();
  OnNodes found;
  Outcome decided = outcome;
  decided.fail(attempt("open a file",
                       [&]() -> Status {
                         std::vector<std::vector<NodeSet>> by_node;
                         std::int64_t in_file_system = 0;
                         for (const auto& ranks : team.nodes().ranks_on) {
                           Reader in{(*posts)[static_cast<std::size_t>(ranks.front())]};
                           if (ranks.front() == 0) in.get_to(in_file_system);
                           auto& sets = by_node.emplace_back();
                           while (in.ok() && !in.at_end()) sets.push_back(NodeSet::read(in));
                         }
                         found = {newest_complete(by_node), false, describe_torn(by_node)};
                         found.newer_elsewhere = found.choice && found.choice->written_ns < in_file_system;
                         if (found.newer_elsewhere) found.choice.reset();
                         return {};
                       }),
               team.rank());
  if (Status status = agreed(team.agree(decided)); !status.ok()) return status;
  return found;
}

Result<std::unique_ptr<FileSet>> open_on_nodes(Team& team, StorageSystem& system, const NodeStore& store,
                                               const NodeSetChoice& choice, const std::string& path, Outcome outcome) {
  const int from = team.nodes().ranks_on[static_cast<std::size_t>(choice.index_node)].front();
  std::vector<std::byte> mine;
  if (team.rank() == from)
    outcome.fail(attempt("open a file",
                         [&] {
                           auto content = store.load(choice.id);
                           if (content) mine = std::move(*content);
                           return content.status();
                         }),
                 from);
  const auto make = [&](SetIndex index) {
    return std::make_unique<FileSet>(team, system, std::move(index), path, store, choice);
  };
  return FileSet::share(team, mine, outcome, path, from, std::ref(make));
}

}  // namespace weir
