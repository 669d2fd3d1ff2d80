#include "engine/file_set.hpp"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>

#include "core/errors.hpp"
#include "core/units.hpp"
#include "storage/storage_problem.hpp"

namespace weir {

namespace {

std::string beside(const std::string& path, const std::string& stem) {
  std::error_code ignored;
  const auto real = std::filesystem::weakly_canonical(path, ignored);
  return ((ignored ? std::filesystem::path{path} : real).parent_path() / stem).string();
}

SubFiles sub_files_of(const SetIndex& index, const std::string& path) {
  return {beside(path, index.stem), index.id, index.files(), index.file_bytes};
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

FileSet::FileSet(Team& team, StorageSystem& system, FileGroups files, const std::string& target, std::uint64_t id)
    : team_{team}, system_{system}, path_{target}, files_{target, id, std::move(files), {}} {
  const auto& groups = files_.space.group_of;
  space_ = XXH3_64bits(groups.data(), groups.size() * sizeof groups[0]) | 1;
}

FileSet::FileSet(Team& team, StorageSystem& system, SetIndex index, const std::string& path)
    : team_{team}, system_{system}, path_{path}, files_{sub_files_of(index, path)}, space_{index.layout_hash() | 1} {
  lookup_.emplace(std::move(index));
}

bool FileSet::is_at(const std::string& path) noexcept try {
  if (!std::filesystem::is_regular_file(path)) return false;  // reading from others may wait, or take something away
  std::array<char, SetIndex::recognised_by> beginning{};
  std::ifstream in{path, std::ios::binary};
  in.read(beginning.data(), beginning.size());
  return in.good() && SetIndex::recognises(std::as_bytes(std::span{beginning}));
} catch (const std::exception&) {
  return false;
}

Result<std::vector<std::byte>> FileSet::load(StorageSystem& system, const std::string& path) {
  auto opened = system.open(path, OpenMode::read);
  if (!opened) return opened.status();
  const std::int64_t size = (*opened)->size();
  if (size < 0) return storage_problem(errno, "read", path);
  std::vector<std::byte> content(static_cast<std::size_t>(size));
  Io io{.kind = Io::Kind::read, .data = content.data(), .offset = 0, .length = content.size()};
  (*opened)->submit(io);
  while (!io.finished) (*opened)->wait();
  if (io.error != 0) return storage_problem(io.error, "read", path);
  content.resize(io.done);
  if (auto index = SetIndex::decoded(content, path); !index) return index.status();
  return content;
}

Result<SetIndex> FileSet::share(Team& team, const std::vector<std::byte>& mine, const Outcome& outcome,
                                const std::string& path) {
  auto all = team.gather(mine, outcome);
  if (Status status = agreed(team.result()); !status.ok()) return status;
  if (!all) return all.status();
  return SetIndex::decoded((*all)[0], path);
}

bool FileSet::makes_file() const noexcept {
  const auto& groups = files_.space.group_of;
  const auto first = std::find(groups.begin(), groups.end(), groups[team_.rank()]);
  return first - groups.begin() == team_.rank();
}

Result<std::unique_ptr<Storage>> FileSet::open() {
  auto storage = std::make_unique<SetStorage>(system_, files_, writes() ? OpenMode::update : OpenMode::read, problem_);
  if (writes() && !made_ && makes_file()) {
    if (Status status = storage->create(own_file()); !status.ok()) return status;
    made_ = true;
  }
  return std::unique_ptr<Storage>{std::move(storage)};
}

Status FileSet::place(Result<RankDeclaration>& own, Outcome outcome, SetPlan& plan) const {
  plan.space = space_;
  if (!writes()) {
    if (!own) return {};
    plan.declared = *own;
    try {
      own = lookup_->find(plan.declared, path_);
    } catch (const std::bad_alloc&) {
      own = problem(Code::no_memory, fmt::format("cannot find pieces of '{}': out of memory", path_));
    }
    return {};
  }
  outcome.fail(own.status(), team_.rank());
  Writer told;
  if (own) told.put(Told{packed_bytes(*own), own->outline_hash(), own->variables.size()});
  auto blobs = team_.gather(told.data(), outcome);
  if (Status status = agreed(team_.result()); !status.ok()) return status;
  if (!blobs) return blobs.status();
  std::vector<Told> all;
  for (const auto& blob : *blobs) all.push_back(Reader{blob}.get<Told>());
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
  plan.declared = std::move(*own);
  own = packed_from(plan.declared, files_.space.base(own_file()) + plan.rank_at);
  return {};
}

Status FileSet::too_large() const {
  return problem(Code::too_large,
                 fmt::format("cannot put so much into '{}': each of {} sub-files can have {}", path_,
                             files_.space.files, format_bytes(files_.space.room())),
                 "write several files, or set plan.files to shared");
}

Result<StepPlace> FileSet::begin(const Plan& plan, std::uint64_t shift) {
  if (!writes()) return StepPlace{};
  for (std::size_t s = 0; s < sections_.size(); ++s)
    if (sections_[s].plan.impl()->serial == plan.impl()->serial && sections_[s].shift == shift)
      return StepPlace{sections_[s].at, s};
  const std::uint64_t alignment = plan.impl()->plan.layout.placement.alignment;
  const std::uint64_t at = (end_ + alignment - 1) / alignment * alignment;
  const std::uint64_t most = most_ + alignment + plan.impl()->set.most_bytes;
  if (most > files_.space.room()) return too_large();
  most_ = most;
  sections_.push_back({plan, shift, at, 0});
  end_ = at + plan.impl()->set.section_bytes;
  return StepPlace{at, sections_.size() - 1};
}

void FileSet::stored(std::size_t section) noexcept {
  if (writes()) sections_[section].order = ++passes_;
}

Status FileSet::seal(Storage& storage) {
  if (!makes_file()) return {};
  return static_cast<SetStorage&>(storage).seal(own_file(), end_);
}

void FileSet::discard(bool all) noexcept try {
  if (all) (void)files_.remove_all(system_);
  else if (made_) (void)system_.remove(files_.name(own_file()));
} catch (const std::bad_alloc&) {  // they stay, and without an index nobody takes them for a set
}

OldSet::OldSet(StorageSystem& system, const std::string& path) noexcept try {
  if (!FileSet::is_at(path)) return;
  if (auto content = FileSet::load(system, path))
    if (auto index = SetIndex::decoded(*content, path))
      if (std::filesystem::path{path}.filename() == index->stem) files_ = sub_files_of(*index, path);
} catch (const std::exception&) {
}

void OldSet::remove(StorageSystem& system) const noexcept try {
  if (files_) (void)files_->remove_all(system);
} catch (const std::exception&) {
}

}  // namespace weir
