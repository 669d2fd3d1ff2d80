#pragma once

#include <mpi.h>

#include <cstdint>
#include <span>
#include <vector>

namespace weir {

/// Two ranks send messages to and fro; the first of them decides how long, and has the results.
struct PingPong {
  MPI_Comm communicator;
  int partner;
  bool first;

  /// Seconds of a short message, one way.
  void latency(double seconds, std::vector<double>& samples) const;
  /// Bytes a second of long messages, as long as the time and the buffer allow.
  void bandwidth(double seconds, std::span<std::byte> buffer, std::vector<double>& samples) const;

 private:
  [[nodiscard]] double round_trip(std::byte* data, std::uint64_t size) const;
  /// Tells the partner the size of the next message; 0 ends.
  void announce(std::uint64_t size) const;
  void answer(std::span<std::byte> buffer) const;
};

}  // namespace weir
