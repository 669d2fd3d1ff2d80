#include "unit/bench_coverage.hpp"

namespace weir::bench {

std::map<int, std::uint64_t> coverage(const Workload& workload) {
  std::vector<int> times(workload.file_bytes);
  for (int rank = 0; rank < workload.ranks; ++rank) {
    const Part part = workload.part(rank);
    std::vector<std::vector<Piece>> shapes;
    for (const auto& decomposition : part.decompositions) shapes.push_back(pieces(decomposition));
    for (const auto& variable : part.variables)
      for (const Piece& piece : shapes[static_cast<std::size_t>(variable.decomposition)])
        for (std::uint64_t i = 0; i < piece.length; ++i) ++times.at(variable.at + piece.offset + i);
  }
  std::map<int, std::uint64_t> bytes;
  for (const int each : times) ++bytes[each];
  return bytes;
}

}  // namespace weir::bench
