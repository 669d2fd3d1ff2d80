#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/archive.hpp"
#include "subfile/set_storage.hpp"

namespace weir {

/// A set on storage of nodes, as one of them sees it.
struct NodeSet {
  std::uint64_t id = 0;
  std::int64_t written_ns = 0;
  std::uint32_t files = 0;            ///< that the set has; 0: its index is not here
  std::vector<std::uint32_t> held{};  ///< sub-files that are whole here

  void write(Writer& out) const;
  static NodeSet read(Reader& in);
};

/// What one node has of the sets that stand for a file, in a directory of its own.
///
/// A sub-file belongs to the node that wrote it. The index, which says that the set is whole, is on every node that
/// wrote a part. A set is there when some node has its index and every sub-file is whole on some node; sub-files
/// without that are left from a job that did not end well.
class NodeStore {
 public:
  /// `target` is the absolute path of the file: another file with the same name in the same directory is another's.
  NodeStore(StorageSystem& system, const std::string& directory, const std::string& target);

  /// What the names of its files begin with, and the directory.
  [[nodiscard]] const std::string& stem() const noexcept { return stem_; }
  [[nodiscard]] std::string index_name(std::uint64_t id) const;
  /// Makes the directory if there is none.
  [[nodiscard]] Status prepare() const;
  /// All sets of which something is here. What is not whole is left out; what the storage fails to read is an error, so
  /// that it is not passed over for something older.
  [[nodiscard]] Result<std::vector<NodeSet>> find() const;
  [[nodiscard]] Result<std::vector<std::byte>> load(std::uint64_t id) const;
  /// Writes an index beside its name, and gives it the name.
  [[nodiscard]] Status write_index(std::uint64_t id, std::span<const std::byte> content, int writer,
                                   bool durable) const;
  [[nodiscard]] Status commit(std::uint64_t id, int writer, bool durable) const;
  /// Removes the index and all sub-files of a set that are here.
  void remove(std::uint64_t id) const noexcept;
  /// The same for all sets but one, torn ones too.
  void remove_others(std::uint64_t id) const noexcept;

 private:
  [[nodiscard]] std::string unfinished(std::uint64_t id, int writer) const;
  /// Names of all that is here, with the directory.
  [[nodiscard]] Result<std::vector<std::string>> names() const;
  [[nodiscard]] Status look_at(const std::string& path, std::map<std::uint64_t, NodeSet>& found) const;
  template <class Choose>
  void remove_if(Choose&& choose) const noexcept;

  StorageSystem& system_;
  std::string stem_;
};

/// The set to read, and where its sub-files are.
struct NodeSetChoice {
  std::uint64_t id = 0;
  std::int64_t written_ns = 0;
  int index_node = 0;                ///< that has the index
  std::vector<std::uint32_t> order;  ///< sub-files, those of a node side by side
  std::vector<int> holder_of;        ///< their nodes, ascending
};

/// The newest set that is complete on these nodes.
std::optional<NodeSetChoice> newest_complete(const std::vector<std::vector<NodeSet>>& by_node);

/// In words, what is there and not complete; empty when there is nothing.
std::string describe_torn(const std::vector<std::vector<NodeSet>>& by_node);

}  // namespace weir
