#include "background.hpp"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <future>
#include <mutex>
#include <system_error>
#include <utility>

namespace weir::interpose {

namespace {

struct Operation {
  std::unique_ptr<Transfer> transfer;
  std::shared_future<void> over;
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Status status{};
  int code = MPI_SUCCESS;
};

std::mutex works_guard;
std::vector<Operation*> under_way;   // owned by their requests
std::atomic<std::size_t> untold{0};  // requests that the program has not been told the end of
thread_local std::vector<Failure> failures;

int query(void* state, MPI_Status* status) {
  const auto& operation = *static_cast<const Operation*>(state);
  MPI_Count bytes = 0;
  PMPI_Get_elements_x(&operation.status, MPI_BYTE, &bytes);
  PMPI_Status_set_elements_x(status, MPI_BYTE, bytes);
  PMPI_Status_set_cancelled(status, 0);
  status->MPI_SOURCE = MPI_UNDEFINED;
  status->MPI_TAG = MPI_UNDEFINED;
  if (operation.code != MPI_SUCCESS) failures.push_back({operation.request, operation.code});
  return MPI_SUCCESS;  // an error here would be one of MPI_COMM_WORLD
}
int release(void* state) {
  --untold;
  delete static_cast<Operation*>(state);
  return MPI_SUCCESS;
}
int cancel(void* /*state*/, int /*complete*/) { return MPI_SUCCESS; }

/// While it lives, threads that are made take no signals of the program.
struct NoSignals {
  sigset_t before{};
  NoSignals() noexcept {
    sigset_t all{};
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before);
  }
  NoSignals(const NoSignals&) = delete;
  NoSignals& operator=(const NoSignals&) = delete;
  ~NoSignals() { ::pthread_sigmask(SIG_SETMASK, &before, nullptr); }
};

std::shared_future<void> run_after(const std::shared_future<void>& before, Transfer& transfer) {
  const auto work = [before, &transfer] {
    if (before.valid()) before.wait();
    transfer.run();
  };
  try {
    const NoSignals quiet;
    return std::async(std::launch::async, work).share();
  } catch (const std::system_error&) {
    return std::async(std::launch::deferred, work).share();  // whoever asks for it first does it
  }
}

bool is_over(const Operation& operation) {
  if (operation.over.wait_for(std::chrono::seconds{0}) == std::future_status::deferred) operation.over.wait();
  return operation.over.wait_for(std::chrono::seconds{0}) == std::future_status::ready;
}

}  // namespace

int begin_in_background(OpenFile& file, std::unique_ptr<Transfer> transfer, MPI_Request* request) {
  auto operation = std::make_unique<Operation>();
  operation->transfer = std::move(transfer);
  if (const int code = PMPI_Grequest_start(query, release, cancel, operation.get(), &operation->request);
      code != MPI_SUCCESS)
    return code;
  *request = operation->request;
  operation->over = file.background = run_after(file.background, *operation->transfer);
  ++untold;
  const std::lock_guard lock{works_guard};
  under_way.push_back(operation.release());
  return MPI_SUCCESS;
}

bool has_background() noexcept { return untold.load(std::memory_order_relaxed) > 0; }

void complete_background() {
  std::vector<Operation*> over;
  {
    const std::lock_guard lock{works_guard};
    const auto rest =
        std::stable_partition(under_way.begin(), under_way.end(), [](auto* one) { return !is_over(*one); });
    over.assign(rest, under_way.end());
    under_way.erase(rest, under_way.end());
  }
  for (Operation* operation : over) {
    operation->code = operation->transfer->conclude(&operation->status);
    operation->transfer.reset();
    PMPI_Grequest_complete(operation->request);
  }
}

std::vector<Failure> take_failures() noexcept { return std::exchange(failures, {}); }

}  // namespace weir::interpose
