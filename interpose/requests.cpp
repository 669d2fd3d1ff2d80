#include <mpi.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

#include "background.hpp"
#include "real.hpp"

/// The calls that complete requests. As long as any request of ours is under way they ask again and again, so that both
/// ours and those of the MPI library go on.

using namespace weir::interpose;

namespace {

/// Asks until it is over; `ask(done)` calls the MPI library.
template <class Ask>
int until_over(Ask&& ask) {
  constexpr int busy = 100, pause_us = 50;
  for (int tries = 0, done = 0;; ++tries) {
    const int code = ask(done);
    if (done || code != MPI_SUCCESS) return code;
    tries < busy ? ::sched_yield() : ::usleep(pause_us);
  }
}

template <class Function, class... Arguments>
int ask(Function function, Arguments... arguments) {
  complete_background();
  return pass(function, arguments...);
}

/// The code of a call that completes one request.
int told_of_one(int code) {
  const auto failures = take_failures();
  return code == MPI_SUCCESS && !failures.empty() ? failures.front().code : code;
}

/// And of one that completes several: `place(i)` is where the request of the i-th status was.
template <class Place>
int told_of_several(int code, const std::vector<MPI_Request>& before, int completed, MPI_Status* statuses,
                    Place&& place) {
  const auto failures = take_failures();
  if (failures.empty()) return code;
  for (int i = 0; i < completed && statuses != MPI_STATUSES_IGNORE; ++i) {
    const MPI_Request request = before[static_cast<std::size_t>(place(i))];
    const auto found = std::ranges::find(failures, request, &Failure::request);
    if (found != failures.end())
      statuses[i].MPI_ERROR = found->code;
    else if (code != MPI_ERR_IN_STATUS)
      statuses[i].MPI_ERROR = MPI_SUCCESS;
  }
  return MPI_ERR_IN_STATUS;
}

int all(int count, MPI_Request* requests, int* done, MPI_Status* statuses) {
  return ask(real().Testall, count, requests, done, statuses);
}
int some(int count, MPI_Request* requests, int* completed, int* indices, MPI_Status* statuses) {
  return ask(real().Testsome, count, requests, completed, indices, statuses);
}

int wait_all(int count, MPI_Request* requests, int* done, MPI_Status* statuses, bool once) {
  const std::vector<MPI_Request> before(requests, requests + std::max(count, 0));
  const int code = once ? all(count, requests, done, statuses)
                        : until_over([&](int& over) { return all(count, requests, &over, statuses); });
  return told_of_several(code, before, count, statuses, [](int i) { return i; });
}

int wait_some(int count, MPI_Request* requests, int* completed, int* indices, MPI_Status* statuses, bool once) {
  const std::vector<MPI_Request> before(requests, requests + std::max(count, 0));
  const int code = once ? some(count, requests, completed, indices, statuses) : until_over([&](int& over) {
    const int asked = some(count, requests, completed, indices, statuses);
    over = *completed != 0;  // also when there is nothing to wait for
    return asked;
  });
  return told_of_several(code, before, *completed, statuses, [&](int i) { return indices[i]; });
}

}  // namespace

#define SHOWN __attribute__((visibility("default")))
#define CALL(name, parameters, arguments, body)                                \
  SHOWN int PMPI_##name parameters {                                           \
    if (!has_background() || inside_library > 0) return real().name arguments; \
    return body;                                                               \
  }                                                                            \
  SHOWN int MPI_##name parameters __attribute__((alias("PMPI_" #name)));

extern "C" {

CALL(Wait, (MPI_Request * request, MPI_Status* status), (request, status),
     told_of_one(until_over([&](int& done) { return ask(real().Test, request, &done, status); })))
CALL(Test, (MPI_Request * request, int* done, MPI_Status* status), (request, done, status),
     told_of_one(ask(real().Test, request, done, status)))
CALL(Waitany, (int count, MPI_Request* requests, int* index, MPI_Status* status), (count, requests, index, status),
     told_of_one(until_over([&](int& done) { return ask(real().Testany, count, requests, index, &done, status); })))
CALL(Testany, (int count, MPI_Request* requests, int* index, int* done, MPI_Status* status),
     (count, requests, index, done, status), told_of_one(ask(real().Testany, count, requests, index, done, status)))
CALL(Waitall, (int count, MPI_Request* requests, MPI_Status* statuses), (count, requests, statuses),
     wait_all(count, requests, nullptr, statuses, false))
CALL(Testall, (int count, MPI_Request* requests, int* done, MPI_Status* statuses), (count, requests, done, statuses),
     wait_all(count, requests, done, statuses, true))
CALL(Waitsome, (int count, MPI_Request* requests, int* completed, int* indices, MPI_Status* statuses),
     (count, requests, completed, indices, statuses), wait_some(count, requests, completed, indices, statuses, false))
CALL(Testsome, (int count, MPI_Request* requests, int* completed, int* indices, MPI_Status* statuses),
     (count, requests, completed, indices, statuses), wait_some(count, requests, completed, indices, statuses, true))
CALL(Request_get_status, (MPI_Request request, int* done, MPI_Status* status), (request, done, status),
     told_of_one(ask(real().Request_get_status, request, done, status)))

}  // extern "C"
