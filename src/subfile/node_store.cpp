#include "subfile/node_store.hpp"

#include <dirent.h>
#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <memory>

#include "core/errors.hpp"
#include "storage/storage_problem.hpp"
#include "storage/whole_file.hpp"

namespace weir {

namespace {

namespace fs = std::filesystem;

/// Sets of all nodes that have the same id.
struct Joined {
  std::int64_t written_ns = 0;
  int index_node = 0;
  std::vector<int> holder;  // by sub-file; -1 for none

  [[nodiscard]] std::size_t missing() const {
    return static_cast<std::size_t>(std::count(holder.begin(), holder.end(), -1));
  }
};

std::map<std::uint64_t, Joined> join(const std::vector<std::vector<NodeSet>>& by_node) {
  std::map<std::uint64_t, Joined> all;
  for (int node = 0; node < static_cast<int>(by_node.size()); ++node)
    for (const NodeSet& set : by_node[static_cast<std::size_t>(node)])
      if (set.files > 0) all.try_emplace(set.id, Joined{set.written_ns, node, std::vector<int>(set.files, -1)});
  for (int node = 0; node < static_cast<int>(by_node.size()); ++node)
    for (const NodeSet& set : by_node[static_cast<std::size_t>(node)])
      if (const auto joined = all.find(set.id); joined != all.end())
        for (const std::uint32_t file : set.held)
          if (auto& holder = joined->second.holder; file < holder.size() && holder[file] < 0) holder[file] = node;
  return all;
}

}  // namespace

void NodeSet::write(Writer& out) const {
  out.put(id);
  out.put(written_ns);
  out.put(files);
  out.put(held);
}

NodeSet NodeSet::read(Reader& in) {
  NodeSet set;
  in.get_to(set.id);
  in.get_to(set.written_ns);
  in.get_to(set.files);
  in.get_to(set.held);
  return set;
}

NodeStore::NodeStore(StorageSystem& system, const std::string& directory, const std::string& target)
    : system_{system},
      stem_{(fs::path{directory} / fmt::format("{}.{:08x}", fs::path{target}.filename().string(),
                                               XXH3_64bits(target.data(), target.size()) >> 32))
                .string()} {}

std::string NodeStore::index_name(std::uint64_t id) const { return fmt::format("{}.{:08x}.index", stem_, id >> 32); }

std::string NodeStore::unfinished(std::uint64_t id, int writer) const {
  return fmt::format("{}.{:08x}.unfinished-{}", stem_, id >> 32, writer);
}

Status NodeStore::prepare() const {
  std::error_code error;
  const fs::path directory = fs::path{stem_}.parent_path();
  fs::create_directories(directory, error);
  if (!error || fs::is_directory(directory)) return {};
  return system_problem(error.value(), fmt::format("make the directory '{}'", directory.string()),
                        "name a directory on storage of the node in memory.node_directory");
}

Result<std::vector<std::string>> NodeStore::names() const {
  const fs::path stem{stem_};
  const std::string directory = stem.parent_path().string(), beginning = stem.filename().string() + ".";
  std::vector<std::string> found;
  const std::unique_ptr<DIR, int (*)(DIR*)> listing{opendir(directory.c_str()), closedir};
  if (!listing && errno == ENOENT) return found;
  if (!listing) return storage_problem(errno, "look into", directory);
  errno = 0;
  while (const dirent* entry = readdir(listing.get())) {
    if (std::string_view{entry->d_name}.starts_with(beginning)) found.push_back(directory + "/" + entry->d_name);
    errno = 0;
  }
  if (errno != 0) return storage_problem(errno, "look into", directory);
  return found;
}

Result<std::vector<NodeSet>> NodeStore::find() const {
  auto paths = names();
  if (!paths) return paths.status();
  std::map<std::uint64_t, NodeSet> found;
  for (const std::string& path : *paths)
    if (Status status = look_at(path, found); !status.ok()) return status;
  std::vector<NodeSet> sets;
  for (auto& [id, set] : found) sets.push_back(std::move(set));
  return sets;
}

Status NodeStore::look_at(const std::string& path, std::map<std::uint64_t, NodeSet>& found) const {
  const auto unless_gone = [](const Status& status) { return status.code() == Code::not_found ? Status{} : status; };
  if (path.ends_with(".index")) {
    auto content = read_whole(system_, path);
    if (!content) return unless_gone(content.status());
    auto index = SetIndex::decoded(*content, path);
    if (!index || index_name(index->id) != path) return {};
    NodeSet& set = found[index->id];
    set.id = index->id;
    set.written_ns = index->written_ns;
    set.files = index->files();
    return {};
  }
  auto opened = system_.open(path, OpenMode::read);
  if (!opened) return unless_gone(opened.status());
  auto mark = SubFileMark::read(**opened, path);
  if (!mark) return mark.status();
  if (!*mark || SubFiles{stem_, (*mark)->set, {}, {}}.name(static_cast<std::uint32_t>((*mark)->file)) != path)
    return {};
  NodeSet& set = found[(*mark)->set];
  set.id = (*mark)->set;
  set.held.push_back(static_cast<std::uint32_t>((*mark)->file));
  return {};
}

Result<std::vector<std::byte>> NodeStore::load(std::uint64_t id) const { return read_whole(system_, index_name(id)); }

Status NodeStore::write_index(std::uint64_t id, std::span<const std::byte> content, int writer, bool durable) const {
  return write_whole(system_, unfinished(id, writer), content, durable);
}

Status NodeStore::commit(std::uint64_t id, int writer, bool durable) const {
  if (Status status = system_.rename(unfinished(id, writer), index_name(id)); !status.ok()) return status;
  return durable ? system_.sync_directory(index_name(id)) : Status{};
}

template <class Choose>
void NodeStore::remove_if(Choose&& choose) const noexcept try {
  std::vector<std::string> gone = names().value();
  std::erase_if(gone,
                [&](const std::string& name) { return !choose(std::string_view{name}.substr(stem_.size() + 1, 8)); });
  // The index first: what is left if it ends here is not taken for a set.
  std::stable_partition(gone.begin(), gone.end(), [](const std::string& name) { return name.ends_with(".index"); });
  for (const std::string& name : gone) (void)system_.remove(name);
} catch (const std::exception&) {  // they stay
}

void NodeStore::remove(std::uint64_t id) const noexcept {
  remove_if([&](std::string_view found) { return found == fmt::format("{:08x}", id >> 32); });
}

void NodeStore::remove_others(std::uint64_t id) const noexcept {
  remove_if([&](std::string_view found) { return found != fmt::format("{:08x}", id >> 32); });
}

std::optional<NodeSetChoice> newest_complete(const std::vector<std::vector<NodeSet>>& by_node) {
  std::optional<NodeSetChoice> best;
  for (auto& [id, joined] : join(by_node)) {
    if (joined.missing() > 0 || (best && best->written_ns >= joined.written_ns)) continue;
    best = {id, joined.written_ns, joined.index_node, {}, {}};
    for (std::uint32_t file = 0; file < joined.holder.size(); ++file) best->order.push_back(file);
    std::ranges::stable_sort(best->order, {}, [&](std::uint32_t file) { return joined.holder[file]; });
    for (const std::uint32_t file : best->order) best->holder_of.push_back(joined.holder[file]);
  }
  return best;
}

std::string describe_torn(const std::vector<std::vector<NodeSet>>& by_node) {
  std::string text;
  for (const auto& [id, joined] : join(by_node))
    if (joined.missing() > 0)
      text +=
          fmt::format("{}{} of {} sub-files of set {:08x} {} not on the nodes of this job", text.empty() ? "" : "; ",
                      joined.missing(), joined.holder.size(), id >> 32, joined.missing() == 1 ? "is" : "are");
  return text;
}

}  // namespace weir
