#include "engine/file_set.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "core/errors.hpp"
#include "core/units.hpp"
#include "storage/whole_file.hpp"

namespace weir {

namespace {

std::string beside(const std::string& path, const std::string& stem) {
  std::error_code ignored;
  const auto real = std::filesystem::weakly_canonical(path, ignored);
  return ((ignored ? std::filesystem::path{path} : real).parent_path() / stem).string();
}

SubFiles sub_files_of(const SetIndex& index, const std::string& stem, std::vector<int> holder_of = {}) {
  return {stem, index.id, FileGroups::for_reading(index.files(), std::move(holder_of)), index.file_bytes};
}

SetIndex reordered(SetIndex index, const std::vector<std::uint32_t>& order) {
  index.reorder(order);
  return index;
}

/// What ranks tell one another before they write: how much, and that they mean the same.
struct Told {
  std::uint64_t bytes, outline, variables;  // the outline counts decompositions too
};

Status check_same(const std::vector<Told>& all) {
  for (std::size_t rank = 1; rank < all.size(); ++rank)
    if (all[rank].outline != all[0].outline || all[rank].variables != all[0].variables)
      return problem(Code::mismatch,
                     fmt::format("cannot declare: rank {} has other variables or decompositions than rank 0", rank),
                     "declare the same variables on every rank, with the same decomposition and place; a rank with no "
                     "part in one gives it no pieces");
  return {};
}

}  // namespace

FileSet::FileSet(Team& team, StorageSystem& system, FileGroups files, const std::string& target, std::uint64_t id,
                 std::optional<NodeStore> store)
    : team_{team},
      system_{system},
      store_{std::move(store)},
      path_{target},
      files_{store_ ? store_->stem() : target, id, std::move(files), {}} {
  const auto& groups = files_.space.group_of;
  space_ = XXH3_64bits(groups.data(), groups.size() * sizeof groups[0]) | 1;
}

FileSet::FileSet(Team& team, StorageSystem& system, SetIndex index, const std::string& path)
    : team_{team},
      system_{system},
      path_{path},
      files_{sub_files_of(index, beside(path, index.stem))},
      space_{index.layout_hash() | 1} {
  lookup_.emplace(std::move(index));
  files_.index = &lookup_->index();
}

FileSet::FileSet(Team& team, StorageSystem& system, SetIndex index, const std::string& path, const NodeStore& store,
                 const NodeSetChoice& choice)
    : team_{team}, system_{system}, store_{store}, path_{path} {
  lookup_.emplace(reordered(std::move(index), choice.order), choice.holder_of);
  files_ = sub_files_of(lookup_->index(), store.stem(), choice.holder_of);
  files_.numbers = choice.order;
  files_.index = &lookup_->index();
  const auto& holders = choice.holder_of;
  space_ = XXH3_64bits_withSeed(holders.data(), holders.size() * sizeof holders[0], files_.index->layout_hash()) | 1;
}

bool FileSet::is_at(const std::string& path) noexcept {
  struct stat found {};
  // Reading from others may wait, or take something away. No memory is needed: a set must never pass for a plain file.
  if (stat(path.c_str(), &found) != 0 || !S_ISREG(found.st_mode)) return false;
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  std::array<std::byte, SetIndex::recognised_by> beginning{};
  const bool whole = pread(fd, beginning.data(), beginning.size(), 0) == static_cast<ssize_t>(beginning.size());
  ::close(fd);
  return whole && SetIndex::recognises(beginning);
}

bool FileSet::is_in(Storage& storage, bool on_one_node) noexcept {
  std::array<std::byte, SetIndex::recognised_by> beginning{};
  return storage.peek(beginning, on_one_node) == beginning.size() && SetIndex::recognises(beginning);
}

Result<std::vector<std::byte>> FileSet::load(StorageSystem& system, const std::string& path) {
  auto content = read_whole(system, path);
  if (!content) return content.status();
  if (auto index = SetIndex::decoded(*content, path); !index) return index.status();
  return content;
}

Result<std::unique_ptr<FileSet>> FileSet::share(Team& team, const std::vector<std::byte>& mine, Outcome outcome,
                                                const std::string& path, int from, const Make& make) {
  auto all = team.gather(mine, outcome);
  if (Status status = agreed(team.result()); !status.ok()) return status;
  if (!all) return all.status();
  std::unique_ptr<FileSet> set;
  outcome.fail(attempt("open a file", [&] {
    auto index = SetIndex::decoded((*all)[static_cast<std::size_t>(from)], path);
    if (index) set = make(std::move(*index));
    return index.status();
  }), team.rank());
  if (Status status = agreed(team.agree(outcome)); !status.ok()) return status;
  return set;
}

bool FileSet::makes_file() const noexcept {
  const auto& groups = files_.space.group_of;
  const auto first = std::find(groups.begin(), groups.end(), groups[team_.rank()]);
  return first - groups.begin() == team_.rank();
}

Result<std::unique_ptr<Storage>> FileSet::open() {
  auto storage = std::make_unique<SetStorage>(system_, files_, writes() ? OpenMode::update : OpenMode::read, problem_);
  if (writes() && !made_ && makes_file()) {
    if (store_)
      if (Status status = store_->prepare(); !status.ok()) return status;
    if (Status status = storage->create(own_file()); !status.ok()) return status;
    made_ = true;
  }
  return std::unique_ptr<Storage>{std::move(storage)};
}

Status FileSet::place(Result<RankDeclaration>& own, Outcome outcome, SetPlan& plan) const {
  plan.space = space_;
  if (!writes()) {
    if (!own) return {};
    const Status found = attempt("find pieces of sub-files", [&] {
      plan.declared = *own;
      own = lookup_->find(plan.declared, path_);
      return Status{};
    });
    if (!found.ok()) own = found;
    return {};
  }
  Writer told;
  outcome.fail(attempt("declare", [&] {
    if (own) told.put(Told{packed_bytes(*own), own->outline_hash(), own->variables.size()});
    return own.status();
  }), team_.rank());
  auto blobs = team_.gather(told.data(), outcome);
  if (Status status = agreed(team_.result()); !status.ok()) return status;
  if (!blobs) return blobs.status();
  const Status placed = attempt("declare", [&] { return place_packed(*blobs, own, plan); });
  if (!placed.ok()) own = placed;
  return {};
}

Status FileSet::place_packed(const Team::Posts& told, Result<RankDeclaration>& own, SetPlan& plan) const {
  std::vector<Told> all;
  for (const auto& blob : told) all.push_back(Reader{blob}.get<Told>());
  if (Status status = check_same(all); !status.ok()) return status;
  const auto members = files_.space.members(team_.nodes());
  for (std::size_t file = 0; file < members.size(); ++file) {
    std::uint64_t bytes = 0;
    for (const int rank : members[file]) {
      if (rank == team_.rank()) plan.rank_at = bytes;
      if (__builtin_add_overflow(bytes, all[rank].bytes, &bytes) || bytes > files_.space.room() / 2)
        return too_large();
    }
    plan.most_bytes = std::max(plan.most_bytes, bytes);
    if (file == own_file()) plan.section_bytes = bytes;
  }
  RankDeclaration packed = packed_from(*own, files_.space.base(own_file()) + plan.rank_at);
  plan.declared = std::move(*own);
  own = std::move(packed);
  return {};
}

Status FileSet::too_large() const {
  return problem(Code::too_large, [&] {
    return fmt::format("cannot put so much into '{}': each of {} sub-files can have {}", path_, files_.space.files,
                       format_bytes(files_.space.room()));
  }, "write several files, or set plan.files to shared");
}

void FileSet::expect(const Plan& plan) {
  if (!writes()) return;
  if (sections_.size() == sections_.capacity()) sections_.reserve(2 * sections_.size() + 1);
  std::uint64_t sums = 0;
  for (const std::uint64_t bytes : plan.impl()->plan.variable_bytes) sums += checksums_of(bytes);
  next_sums_.resize(sums);
}

Result<StepPlace> FileSet::begin(const Plan& plan, std::uint64_t shift) noexcept {
  if (!writes()) return StepPlace{};
  for (std::size_t s = 0; s < sections_.size(); ++s)
    if (sections_[s].plan.impl()->serial == plan.impl()->serial && sections_[s].shift == shift)
      return StepPlace{sections_[s].at, s};
  const std::uint64_t alignment = plan.impl()->plan.layout.placement.alignment;
  const std::uint64_t at = (end_ + alignment - 1) / alignment * alignment;
  const std::uint64_t most = most_ + alignment + plan.impl()->set.most_bytes;
  if (most > files_.space.room()) return too_large();
  most_ = most;
  sections_.push_back({plan, shift, at, 0, std::move(next_sums_)});
  end_ = at + plan.impl()->set.section_bytes;
  return StepPlace{at, sections_.size() - 1};
}

void FileSet::stored(std::size_t section, std::span<const std::uint64_t> sums) noexcept {
  if (!writes()) return;
  sections_[section].order = ++passes_;
  std::copy(sums.begin(), sums.end(), sections_[section].sums.begin());
}

Status FileSet::seal(Storage& storage) {
  if (!makes_file()) return {};
  return static_cast<SetStorage&>(storage).seal(own_file(), end_);
}

void FileSet::discard(bool all) noexcept try {
  if (store_) return writes() && makes_file() ? store_->remove(files_.id) : void();
  if (all) (void)files_.remove_all(system_);
  else if (made_) (void)system_.remove(files_.name(own_file()));
} catch (const std::bad_alloc&) {  // they stay, and without an index nobody takes them for a set
}

OldSet::OldSet(StorageSystem& system, const std::string& path) noexcept {
  try {
    if (!FileSet::is_at(path)) return;
    if (auto content = FileSet::load(system, path))
      if (auto index = SetIndex::decoded(*content, path))
        if (std::filesystem::path{path}.filename() == index->stem)
          files_ = sub_files_of(*index, beside(path, index->stem));
  } catch (const std::exception&) {  // they stay
  }
}

void OldSet::remove(StorageSystem& system) const noexcept try {
  if (files_) (void)files_->remove_all(system);
} catch (const std::exception&) {
}

}  // namespace weir
