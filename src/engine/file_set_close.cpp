#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>

#include "core/errors.hpp"
#include "engine/file_name.hpp"
#include "engine/file_set.hpp"
#include "machine/detect.hpp"
#include "storage/whole_file.hpp"

/// How a set becomes whole: rank 0 learns what lies where, writes the index, and gives it its name.
namespace weir {

namespace {

constexpr int tag_index = 71;

/// What a rank tells of a section.
struct SectionLine {
  std::uint64_t pattern, shift, at;
};

std::size_t pattern_of(std::vector<const Plan::Impl*>& patterns, const Plan& plan) {
  const auto found = std::find(patterns.begin(), patterns.end(), plan.impl().get());
  if (found == patterns.end()) patterns.push_back(plan.impl().get());
  return static_cast<std::size_t>(std::find(patterns.begin(), patterns.end(), plan.impl().get()) - patterns.begin());
}

SetIndex::Rank rank_part(const Plan::Impl& plan, std::uint32_t file) {
  SetIndex::Rank rank{file, plan.set.rank_at, plan.set.declared.shapes, {}};
  for (const auto& memory : plan.set.declared.memory) rank.shape_bytes.push_back(memory.bytes);
  return rank;
}

}  // namespace

std::vector<const FileSet::Section*> FileSet::finished() const {
  std::vector<const Section*> result;
  for (const Section& section : sections_)
    if (section.order > 0) result.push_back(&section);
  std::sort(result.begin(), result.end(), [](const Section* a, const Section* b) { return a->order < b->order; });
  return result;
}

std::vector<std::byte> FileSet::own_part() const {
  std::vector<const Plan::Impl*> patterns;
  std::vector<SectionLine> lines;
  for (const Section* section : finished())
    lines.push_back({pattern_of(patterns, section->plan), section->shift, section->at});
  Writer out;
  out.put(end_);
  out.put(host_name());
  out.put(lines);
  for (const Section* section : finished()) out.put(section->sums);
  for (const Plan::Impl* plan : patterns) rank_part(*plan, own_file()).write(out);
  return out.data();
}

Status FileSet::assemble(const std::vector<std::vector<std::byte>>& parts) {
  SetIndex index;
  index.id = files_.id;
  index.stem = std::filesystem::path{files_.stem}.filename().string();
  index.file_bytes.resize(files_.space.files);
  index.hosts.resize(files_.space.files);
  // What was in the file system before is older, whatever its clock says.
  index.written_ns = std::max<std::int64_t>(
      std::chrono::system_clock::now().time_since_epoch() / std::chrono::nanoseconds{1}, modified_ns(path_) + 1);
  std::vector<const Plan::Impl*> patterns;
  for (const Section* section : finished())
    index.sections.push_back({static_cast<std::uint32_t>(pattern_of(patterns, section->plan)), section->shift,
                              std::vector<std::uint64_t>(files_.space.files), {}});
  for (const Plan::Impl* plan : patterns) index.patterns.push_back({plan->set.declared.variables, {}});
  for (std::size_t rank = 0; rank < parts.size(); ++rank) {
    Reader in{parts[rank]};
    const auto file = static_cast<std::size_t>(files_.space.group_of[rank]);
    index.file_bytes[file] = in.get<std::uint64_t>();
    index.hosts[file] = in.text();
    const auto lines = in.vector<SectionLine>();
    const auto same = [](const SectionLine& line, const SetIndex::Section& section) {
      return line.pattern == section.pattern && line.shift == section.shift;
    };
    if (!std::equal(lines.begin(), lines.end(), index.sections.begin(), index.sections.end(), same))
      return problem(Code::mismatch,
                     fmt::format("cannot close '{}': rank {} moved its steps by other bytes than rank 0", path_, rank),
                     "pass the same shift on all ranks");
    for (std::size_t s = 0; s < lines.size(); ++s) {
      index.sections[s].file_at[file] = lines[s].at;
      index.sections[s].sums.push_back(in.vector<std::uint64_t>());
    }
    for (SetIndex::Pattern& pattern : index.patterns) pattern.ranks.push_back(SetIndex::Rank::read(in));
  }
  index_ = index.encoded();
  return {};
}

Status FileSet::collect(const Outcome& outcome, bool durable) {
  Outcome next = outcome;
  const auto attempt = [&](auto&& work) {
    if (next.code == 0) next.fail(weir::attempt("close a file", work), team_.rank());
  };
  std::vector<std::byte> mine;
  std::vector<std::vector<std::byte>> parts;
  attempt([&]() -> Status { return mine = own_part(), Status{}; });
  const bool one_node = team_.nodes().nodes() == 1;
  if (Status status = one_node ? collect_in_node(mine, next, parts) : collect_by_messages(mine, next, parts); !status.ok())
    return status;
  if (team_.rank() == 0) attempt([&] { return assemble(parts); });
  return store_ ? distribute(next, durable) : status_of(next);
}

Status FileSet::collect_in_node(std::span<const std::byte> mine, Outcome& outcome,
                                std::vector<std::vector<std::byte>>& parts) {
  auto all = team_.gather(mine, outcome);
  if (Status status = agreed(team_.result()); !status.ok()) return status;
  if (!all) return all.status();
  if (team_.rank() == 0)
    outcome.fail(attempt("close a file", [&]() -> Status {
      for (const auto& part : *all) parts.emplace_back(part.begin(), part.end());
      return {};
    }), 0);
  return {};
}

Status FileSet::collect_by_messages(std::span<const std::byte> mine, Outcome& outcome,
                                    std::vector<std::vector<std::byte>>& parts) {
  const bool root = team_.rank() == 0;
  const auto attempt = [&](auto&& work) {
    if (outcome.code == 0) outcome.fail(weir::attempt("close a file", work), team_.rank());
  };
  Writer size;
  attempt([&]() -> Status { return size.put(std::uint64_t{mine.size()}), Status{}; });
  auto sizes = team_.gather(size.data(), outcome);
  if (Status status = agreed(team_.result()); !status.ok()) return status;
  if (!sizes) return sizes.status();
  std::vector<MPI_Request> requests;
  attempt([&]() -> Status {
    std::size_t messages = messages_for(mine.size());
    for (const auto& blob : *sizes) {
      parts.emplace_back(root ? Reader{blob}.get<std::uint64_t>() : 0);
      messages += messages_for(parts.back().size());
    }
    if (root) parts[0].assign(mine.begin(), mine.end());
    requests.reserve(messages);
    return {};
  });
  if (Status status = agreed(team_.agree(outcome)); !status.ok()) return status;
  for (int rank = 1; root && rank < team_.size(); ++rank)
    receive_bytes(parts[rank].data(), parts[rank].size(), rank, tag_index, team_.communicator(), requests);
  if (!root) send_bytes(mine.data(), mine.size(), 0, tag_index, team_.communicator(), requests);
  MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
  return {};
}

Status FileSet::distribute(Outcome& outcome, bool durable) {
  auto all = team_.gather(index_, outcome);
  if (Status status = agreed(team_.result()); !status.ok()) return status;
  if (!all) return all.status();
  if (!makes_file()) return {};
  return weir::attempt("write an index",
                       [&] { return store_->write_index(files_.id, (*all)[0], team_.node(), durable); });
}

const Outcome& FileSet::install_on_nodes(const Outcome& outcome, bool durable) {
  const Outcome& all = team_.agree_then_each(outcome, [&](Outcome& so_far) {
    if (so_far.code == 0 && makes_file())
      so_far.fail(attempt("install a file", [&] { return store_->commit(files_.id, team_.node(), durable); }),
                  team_.rank());
  });
  if (all.other_call != 0) return all;
  if (all.code != 0) discard(false);
  else if (makes_file()) store_->remove_others(files_.id);
  return all;
}

Status FileSet::install(const std::string& work, const std::string& target, bool durable) {
  if (Status status = write_whole(system_, work, index_, durable); !status.ok()) return status;
  const OldSet old{system_, target};
  const Status status = system_.rename(work, target);
  if (status.ok()) old.remove(system_);
  else (void)system_.remove(work);
  return status;
}

}  // namespace weir
