#include "engine/link_speed.hpp"

#include <algorithm>
#include <array>

#include "core/stopwatch.hpp"

namespace weir {
namespace {
constexpr int tag = 77;
constexpr int most_repetitions = 25;
constexpr int trips = 20;  // of short messages, for one value
}  // namespace

double PingPong::round_trip(std::byte* data, std::uint64_t size) const {
  const Stopwatch watch;
  MPI_Send(data, static_cast<int>(size), MPI_BYTE, partner, tag, communicator);
  MPI_Recv(data, static_cast<int>(size), MPI_BYTE, partner, tag, communicator, MPI_STATUS_IGNORE);
  return std::max(watch.seconds(), 1e-9);
}

void PingPong::announce(std::uint64_t size) const { MPI_Send(&size, 1, MPI_UINT64_T, partner, tag, communicator); }

void PingPong::answer(std::span<std::byte> buffer) const {
  for (;;) {
    std::uint64_t size = 0;
    MPI_Recv(&size, 1, MPI_UINT64_T, partner, tag, communicator, MPI_STATUS_IGNORE);
    if (size == 0) return;
    const int length = static_cast<int>(size), times = size == sizeof(double) ? trips : 1;
    for (int k = 0; k < times; ++k) {
      MPI_Recv(buffer.data(), length, MPI_BYTE, partner, tag, communicator, MPI_STATUS_IGNORE);
      MPI_Send(buffer.data(), length, MPI_BYTE, partner, tag, communicator);
    }
  }
}

void PingPong::latency(double seconds, std::vector<double>& samples) const {
  std::array<std::byte, sizeof(double)> message{};
  if (!first) return answer(message);
  const auto once = [&] {
    announce(message.size());
    double all = 0;
    for (int k = 0; k < trips; ++k) all += round_trip(message.data(), message.size());
    return all / trips / 2;
  };
  (void)once();
  repeat(seconds, most_repetitions, once, samples);
  announce(0);
}

void PingPong::bandwidth(double seconds, std::span<std::byte> buffer, std::vector<double>& samples) const {
  if (!first) return answer(buffer);
  const auto trip = [&](std::uint64_t size) {
    announce(size);
    return 2 * static_cast<double>(size) / round_trip(buffer.data(), size);
  };
  constexpr std::uint64_t small = 64 << 10;
  const double guess = std::max(trip(small), trip(small));
  // Slow networks are given smaller messages, so that there is time for several.
  const auto size = std::clamp(static_cast<std::uint64_t>(guess * seconds / 8), small, std::uint64_t{buffer.size()});
  repeat(seconds, most_repetitions, [&] { return trip(size); }, samples);
  announce(0);
}

}  // namespace weir
