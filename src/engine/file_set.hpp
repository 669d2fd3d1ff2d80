#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/context.hpp"
#include "subfile/node_store.hpp"
#include "subfile/set_declaration.hpp"
#include "subfile/set_storage.hpp"

namespace weir {

/// Where the data of a step goes.
struct StepPlace {
  std::uint64_t shift = 0;  ///< of the plan's offsets
  std::size_t section = 0;  ///< of a set
};

/// What is different about a file that is a set of sub-files and an index under the file's name, or on the nodes.
///
/// While a set is written only its sub-files exist. The index appears at `install`, when all of them are complete.
class FileSet {
 public:
  /// A new set; `files` says who shares a sub-file. With a store it is on the nodes. Local.
  FileSet(Team& team, StorageSystem& system, FileGroups files, const std::string& target, std::uint64_t id,
          std::optional<NodeStore> store = {});
  /// One that exists. Local.
  FileSet(Team& team, StorageSystem& system, SetIndex index, const std::string& path);
  /// One that exists on the nodes. Local.
  FileSet(Team& team, StorageSystem& system, SetIndex index, const std::string& path, const NodeStore& store,
          const NodeSetChoice& choice);

  /// Whether a file is the index of a set.
  static bool is_at(const std::string& path) noexcept;
  static bool is_in(Storage& storage, bool on_one_node) noexcept;
  /// The set whose index rank `from` has read, as `mine`; `make` makes it of the index. Collective.
  using Make = std::function<std::unique_ptr<FileSet>(SetIndex)>;
  static Result<std::unique_ptr<FileSet>> share(Team& team, const std::vector<std::byte>& mine, Outcome outcome,
                                                const std::string& path, int from, const Make& make);
  static Result<std::vector<std::byte>> load(StorageSystem& system, const std::string& path);

  [[nodiscard]] const FileGroups& groups() const noexcept { return files_.space; }
  /// Tells plans for this set from others.
  [[nodiscard]] std::uint64_t space() const noexcept { return space_; }
  [[nodiscard]] bool writes() const noexcept { return !lookup_; }
  [[nodiscard]] bool on_nodes() const noexcept { return store_.has_value(); }
  /// A name beside those of this rank's sub-files.
  [[nodiscard]] const std::string& where() const noexcept { return files_.stem; }
  /// For reading.
  [[nodiscard]] const SetLookup& lookup() const noexcept { return *lookup_; }
  [[nodiscard]] const SubFiles& files() const noexcept { return files_; }
  /// Why a sub-file could not be opened.
  [[nodiscard]] const Status& open_problem() const noexcept { return problem_; }
  void forget_problem() noexcept { problem_ = {}; }
  /// The sub-file and the offset in it that an offset of the plan stands for.
  [[nodiscard]] std::string name_at(std::uint64_t offset) const { return files_.name(files_.space.file_at(offset)); }
  [[nodiscard]] std::uint64_t inside(std::uint64_t offset) const { return files_.space.inside(offset); }

  /// The sub-files as one. The first rank of each group makes its sub-file when this is called first.
  Result<std::unique_ptr<Storage>> open();

  /// Replaces what the program declared by where it is in the set. Collective when writing; an error is then the same
  /// on all ranks. When reading, what cannot be found is an error in `own`.
  Status place(Result<RankDeclaration>& own, Outcome outcome, SetPlan& plan) const;
  /// Allocates what `begin` will need, before the ranks agree that it is called. Local.
  void expect(const Plan& plan);
  /// The place of a step in this rank's sub-file: a new one, unless one of the same plan and shift was begun before.
  /// Local, the same sections on all ranks.
  Result<StepPlace> begin(const Plan& plan, std::uint64_t shift) noexcept;
  /// A pass over the section was stored; `sums` are those of this rank's variables.
  void stored(std::size_t section, std::span<const std::uint64_t> sums) noexcept;

  /// Writes the mark at the end of this rank's sub-file, if it is the one to do so.
  Status seal(Storage& storage);
  /// Tells rank 0 what was stored where. Collective.
  Status collect(const Outcome& outcome, bool durable);
  /// On rank 0: the index appears under its name `target`, by way of `work`, and what it replaces goes.
  Status install(const std::string& work, const std::string& target, bool durable);
  /// The same on the nodes, of a set that all have brought `outcome` for. Collective.
  const Outcome& install_on_nodes(const Outcome& outcome, bool durable);
  /// Removes this rank's sub-file, or on request all.
  void discard(bool all) noexcept;

 private:
  struct Section {
    Plan plan;
    std::uint64_t shift, at;
    std::uint64_t order;  // of the last pass that was stored; 0 for none
    std::vector<std::uint64_t> sums;
  };
  [[nodiscard]] bool makes_file() const noexcept;
  /// Gives the index on rank 0 to all nodes, to be written but not yet named. Collective.
  Status distribute(Outcome& outcome, bool durable);
  [[nodiscard]] Status too_large() const;
  /// The own declaration becomes one stretch of the own sub-file, behind those of ranks before; local.
  Status place_packed(const Team::Posts& told, Result<RankDeclaration>& own, SetPlan& plan) const;
  [[nodiscard]] std::uint32_t own_file() const noexcept {
    return static_cast<std::uint32_t>(files_.space.group_of[team_.rank()]);
  }
  /// Sections with data, in the order in which they were finished.
  [[nodiscard]] std::vector<const Section*> finished() const;
  [[nodiscard]] std::vector<std::byte> own_part() const;
  /// Every rank's part on rank 0.
  Status collect_in_node(std::span<const std::byte> mine, Outcome& outcome, std::vector<std::vector<std::byte>>& parts);
  Status collect_by_messages(std::span<const std::byte> mine, Outcome& outcome, std::vector<std::vector<std::byte>>& parts);
  Status assemble(const std::vector<std::vector<std::byte>>& parts);

  Team& team_;
  StorageSystem& system_;
  std::optional<NodeStore> store_;
  std::string path_;
  SubFiles files_;
  std::uint64_t space_ = 0;
  std::optional<SetLookup> lookup_;
  Status problem_;
  bool made_ = false;
  std::vector<Section> sections_;
  std::vector<std::uint64_t> next_sums_;  // of the section that is expected
  std::uint64_t end_ = 0;   // of the data in this rank's sub-file
  std::uint64_t most_ = 0;  // that the data of any sub-file can reach: the same on all ranks
  std::uint64_t passes_ = 0;
  std::vector<std::byte> index_;  // on rank 0, after `collect`
};

/// What the nodes have of a file, and what of it to read.
struct OnNodes {
  std::optional<NodeSetChoice> choice;  ///< none when nothing is complete, or what is in the file system is newer
  bool newer_elsewhere = false;
  std::string torn;                     ///< in words, what is there and not complete
};

/// Looks for the file on all nodes. Collective; `store` is this rank's, `target` the file in the file system.
Result<OnNodes> find_on_nodes(Team& team, const NodeStore& store, const std::string& target, const Outcome& outcome);

/// The set that was chosen. Collective.
Result<std::unique_ptr<FileSet>> open_on_nodes(Team& team, StorageSystem& system, const NodeStore& store,
                                               const NodeSetChoice& choice, const std::string& path, Outcome outcome);

/// The sub-files of the set whose index is at `path`, if there is one. Those of an index that was copied or renamed are
/// left alone: another name may still need them.
class OldSet {
 public:
  OldSet(StorageSystem& system, const std::string& path) noexcept;
  void remove(StorageSystem& system) const noexcept;

 private:
  std::optional<SubFiles> files_;
};

}  // namespace weir
