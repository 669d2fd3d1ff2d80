#include "subfile/node_store.hpp"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <filesystem>
#include <map>

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
    for (const NodeSet& set : by_node[static_cast<std::size_t>(node)]) {
      auto [entry, is_new] = all.try_emplace(set.id);
      Joined& joined = entry->second;
      if (is_new) joined = {set.written_ns, node, std::vector<int>(set.files, -1)};
      for (const std::uint32_t file : set.held)
        if (file < joined.holder.size() && joined.holder[file] < 0) joined.holder[file] = node;
    }
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

std::vector<NodeSet> NodeStore::find() const {
  std::vector<NodeSet> found;
  std::error_code error;
  const fs::path stem{stem_};
  const std::string beginning = stem.filename().string() + ".";
  for (fs::directory_iterator entry{stem.parent_path(), error}; !error && entry != fs::directory_iterator{};
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (!name.starts_with(beginning) || !name.ends_with(".index")) continue;
    const std::string path = entry->path().string();
    auto content = read_whole(system_, path);
    if (!content) continue;
    auto index = SetIndex::decoded(*content, path);
    if (!index || index_name(index->id) != path) continue;
    SubFiles files{stem_, index->id, FileGroups::for_reading(index->files()), index->file_bytes};
    NodeSet set{index->id, index->written_ns, index->files()};
    Status problem;
    SetStorage storage{system_, files, OpenMode::read, problem};
    for (std::uint32_t file = 0; file < set.files; ++file)
      if (storage.is_whole(file)) set.held.push_back(file);
    found.push_back(std::move(set));
  }
  return found;
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
  const fs::path stem{stem_};
  const std::string beginning = stem.filename().string() + ".";
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator entry{stem.parent_path(), error}; !error && entry != fs::directory_iterator{};
       entry.increment(error))
    if (const std::string name = entry->path().filename().string(); name.starts_with(beginning))
      if (choose(std::string_view{name}.substr(beginning.size(), 8))) names.push_back(entry->path().string());
  // The index first: what is left if it ends here is not taken for a set.
  std::stable_partition(names.begin(), names.end(), [](const std::string& name) { return name.ends_with(".index"); });
  for (const std::string& name : names) (void)system_.remove(name);
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
      text += fmt::format("{}{} of its {} sub-files of set {:08x} {} not on the nodes of this job", text.empty() ? "" : "; ",
                          joined.missing(), joined.holder.size(), id >> 32, joined.missing() == 1 ? "is" : "are");
  return text;
}

}  // namespace weir
