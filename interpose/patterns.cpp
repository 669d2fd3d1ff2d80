#include "company.hpp"
#include "engine/file.hpp"
#include "engine/planning.hpp"

namespace weir::interpose {

namespace {

constexpr std::uint64_t repeats_itself = 1, is_scattered = 2;

std::vector<CommonCells> common_cells_of_all(MPI_Comm communicator, const Sketch& mine) {
  int ranks = 0;
  PMPI_Comm_size(communicator, &ranks);
  std::vector<Sketch> all(static_cast<std::size_t>(ranks));
  PMPI_Allgather(&mine, sizeof mine, MPI_BYTE, all.data(), sizeof mine, MPI_BYTE, communicator);
  return common_cells(all);
}

}  // namespace

Result<Step> Patterns::step(File& file, MPI_Comm communicator, const Part& part, bool& scattered) {
  std::uint64_t wishes = scattered ? is_scattered : 0;  // of any rank
  if (part.bytes > 0 && part.view->repeats_itself()) wishes |= repeats_itself;
  auto known = repeat(file, part, wishes);
  if (!known) return known.status();
  scattered = (wishes & is_scattered) != 0;
  if (*known) return std::move(**known);
  if (!(wishes & repeats_itself) || communicator == MPI_COMM_NULL) return declare(file, part, {});
  return declare(file, part, common_cells_of_all(communicator, part.view->sketch(part.before, part.bytes)));
}

Result<std::optional<Step>> Patterns::repeat(File& file, const Part& part, std::uint64_t& wishes) {
  const auto found = known_.find(part.pattern.hash);
  std::shared_ptr<const Plan::Impl> known = found == known_.end() ? nullptr : found->second.plan.lock();
  std::optional<Plan> plan;
  std::optional<std::uint64_t> shift;
  if (known) plan.emplace(std::move(known));
  if (part.bytes > 0) shift = plan ? part.pattern.base - found->second.base : 0;
  return file.impl()->repeat(plan ? &*plan : nullptr, shift, part.problem, wishes);
}

Result<Step> Patterns::declare(File& file, const Part& part, std::span<const CommonCells> common) {
  auto made = file.impl()->declare(
      [&] { return RankDeclaration::of(part.view->declaration(part.before, part.bytes, common)); });
  if (!made) return made.status();
  if (known_.size() >= most_) {
    std::erase_if(known_, [](const auto& entry) { return entry.second.plan.expired(); });
    most_ = 2 * known_.size() + 64;
  }
  known_[part.pattern.hash] = {made->plan().impl(), part.pattern.base};
  return made;
}

}  // namespace weir::interpose
