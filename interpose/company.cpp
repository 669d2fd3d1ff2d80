#include "company.hpp"

#include <algorithm>
#include <array>
#include <mutex>
#include <random>

#include "core/errors.hpp"
#include "engine/context.hpp"
#include "handles.hpp"
#include "program.hpp"

namespace weir::interpose {

namespace {

constexpr std::uint64_t flags_room = (std::uint64_t{1} << 48) - 1;  // the others are the engine's

std::mutex companies_guard;
std::vector<std::shared_ptr<Company>> companies;

/// Contexts must be gone when MPI ends. All ranks of a company have the same id, so nobody waits for two at once.
int end_companies(MPI_Comm /*self*/, int /*key*/, void* /*value*/, void* /*extra*/) {
  const std::lock_guard lock{companies_guard};
  std::ranges::sort(companies, {}, &Company::id);
  for (const auto& company : companies) {
    if (company->taken) continue;  // a file was left open
    company->context.reset();
    PMPI_Comm_free(&company->communicator);
  }
  companies.clear();
  free_handles();
  return MPI_SUCCESS;
}

void end_companies_with_mpi() {
  static std::once_flag once;
  std::call_once(once, [] {
    int key = MPI_KEYVAL_INVALID;
    PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, end_companies, &key, nullptr);
    PMPI_Comm_set_attr(MPI_COMM_SELF, key, nullptr);
  });
}

std::shared_ptr<Company> find_idle(MPI_Comm communicator) {
  for (const auto& company : companies) {
    int same = MPI_UNEQUAL;
    if (company->taken) continue;
    PMPI_Comm_compare(company->communicator, communicator, &same);
    if (same == MPI_IDENT || same == MPI_CONGRUENT) return company;
  }
  return nullptr;
}

/// A new id on the first rank, nothing on the others.
std::uint64_t id_from_first(MPI_Comm communicator) {
  int rank = 0;
  PMPI_Comm_rank(communicator, &rank);
  return rank == 0 ? std::uint64_t{std::random_device{}()} << 31 | std::random_device{}() >> 1 | 1 : 0;
}

/// Whether all ranks find the same company idle: files of the same processes are opened and closed by them in the same
/// order, unless several threads do so.
bool same_everywhere(const Company& company) {
  return company.context && !mpi_allows_threads() && company.context->impl()->check_together().ok();
}

}  // namespace

std::shared_ptr<Company> Company::take(MPI_Comm communicator, std::uint64_t& flags, std::uint64_t number) {
  end_companies_with_mpi();
  std::shared_ptr<Company> company;
  {
    const std::lock_guard lock{companies_guard};
    company = find_idle(communicator);
    if (company) company->taken = true;
  }
  if (company && same_everywhere(*company)) {
    Outcome outcome;
    outcome.flags = flags;
    outcome.vote = outcome.most = number;
    const Outcome& all = company->context->impl()->agree(outcome, Call::open, 0);
    if (!all.failed()) {
      flags = (all.flags & flags_room) | (all.vote != all.most ? different : 0);
      return company;
    }
  }
  const std::uint64_t mine = company ? company->id : 0;
  std::array<std::uint64_t, 6> any{mine, ~mine, number, ~number, flags, id_from_first(communicator)};
  PMPI_Allreduce(MPI_IN_PLACE, any.data(), any.size(), MPI_UINT64_T, MPI_BOR, communicator);
  const bool same = (any[0] & any[1]) == 0;  // no bit is both set and not set somewhere
  flags = any[4] | ((any[2] & any[3]) != 0 ? different : 0);
  if (company && same) return company;
  if (company) company->taken = false;
  company = std::make_shared<Company>();
  PMPI_Comm_dup(communicator, &company->communicator);
  company->id = any[5];
  company->taken = true;
  const std::lock_guard lock{companies_guard};
  companies.push_back(company);
  return company;
}

Result<Context*> Company::weir() {
  if (!context) {
    auto made = Context::Impl::make_quickly(communicator);
    if (!made) return made.status();
    made->impl()->explains = false;  // told for a whole file, when it is closed
    context = std::move(*made);
  }
  return &*context;
}

Status Company::agree(const Status& mine) {
  if (context) return context->impl()->agree(Call::sync, 0, mine);
  int worst = static_cast<int>(mine.code());
  PMPI_Allreduce(MPI_IN_PLACE, &worst, 1, MPI_INT, MPI_MAX, communicator);
  if (worst == static_cast<int>(mine.code())) return mine;
  return problem(static_cast<Code>(worst), "cannot close a file: another rank could not");
}

Status Company::when_all_are_here(const std::function<Status()>& act) {
  Context::Impl& all = *context->impl();
  return agreed(all.team->agree_then_last(all.begin(Call::sync, 0), [&](Outcome& outcome) {
    if (!outcome.failed()) outcome.fail(act(), all.team->rank());
  }));
}

bool Company::is_on_one_node() const noexcept { return context->impl()->team->nodes().nodes() == 1; }

int Company::rank() const noexcept {
  int rank = 0;
  PMPI_Comm_rank(communicator, &rank);
  return rank;
}

}  // namespace weir::interpose
