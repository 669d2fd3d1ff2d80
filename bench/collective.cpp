#include "collective.hpp"

#include <chrono>
#include <thread>

namespace weir::bench {

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

int rank_of(MPI_Comm communicator) {
  int rank = 0;
  MPI_Comm_rank(communicator, &rank);
  return rank;
}

int size_of(MPI_Comm communicator) {
  int size = 0;
  MPI_Comm_size(communicator, &size);
  return size;
}

static std::string broadcast_from(MPI_Comm communicator, int root, std::string text) {
  std::uint64_t length = text.size();
  MPI_Bcast(&length, 1, MPI_UINT64_T, root, communicator);
  text.resize(length);
  MPI_Bcast(text.data(), static_cast<int>(length), MPI_CHAR, root, communicator);
  return text;
}

std::string broadcast(MPI_Comm communicator, std::string text) {
  return broadcast_from(communicator, 0, std::move(text));
}

double broadcast(MPI_Comm communicator, double value) {
  MPI_Bcast(&value, 1, MPI_DOUBLE, 0, communicator);
  return value;
}

std::string first_of(MPI_Comm communicator, const std::string& text) {
  const int none = size_of(communicator);
  int owner = text.empty() ? none : rank_of(communicator);
  MPI_Allreduce(MPI_IN_PLACE, &owner, 1, MPI_INT, MPI_MIN, communicator);
  return owner == none ? std::string{} : broadcast_from(communicator, owner, text);
}

std::uint64_t greatest(MPI_Comm communicator, std::uint64_t value) {
  MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_UINT64_T, MPI_MAX, communicator);
  return value;
}

bool on_one_node(MPI_Comm communicator) {
  MPI_Comm node = MPI_COMM_NULL;
  MPI_Comm_split_type(communicator, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
  const auto elsewhere = static_cast<std::uint64_t>(size_of(communicator) - size_of(node));
  MPI_Comm_free(&node);
  return greatest(communicator, elsewhere) == 0;
}

void quiet_barrier(MPI_Comm communicator) {
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Ibarrier(communicator, &request);
  for (int done = 0;;) {
    MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    if (done != 0) return;
    std::this_thread::sleep_for(std::chrono::milliseconds{1});
  }
}

}  // namespace weir::bench
