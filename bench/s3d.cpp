#include "workload.hpp"

namespace weir::bench {
namespace {

constexpr std::uint64_t value_bytes = 8;
constexpr std::uint64_t point_bytes = 16 * value_bytes;

Part part_of(const std::vector<std::uint64_t>& block, const std::vector<std::uint64_t>& grid, int rank) {
  const auto place = grid_place(rank, grid);
  Box scalar{.array = {}, .start = {}, .size = block, .element = value_bytes, .at = 0};
  std::uint64_t points = 1;
  for (std::size_t d = 0; d < 3; ++d) {
    scalar.array.push_back(grid[d] * block[d]);
    scalar.start.push_back(place[d] * block[d]);
    points *= scalar.array[d];
  }
  const auto with_components = [&](std::uint64_t components, std::uint64_t at) {
    Box box = scalar;
    box.array.insert(box.array.begin(), components);
    box.start.insert(box.start.begin(), 0);
    box.size.insert(box.size.begin(), components);
    box.at = at;
    return box;
  };
  Part part;
  part.add(with_components(11, 0));                         // yspecies
  part.add(with_components(3, 11 * points * value_bytes));  // u
  part.decompositions.emplace_back(scalar);
  part.variables.push_back({2, 14 * points * value_bytes});  // pressure
  part.variables.push_back({2, 15 * points * value_bytes});  // temperature
  return part;
}

Result<Workload> make(const Parameters& parameters, int ranks) {
  auto block = extents(parameters, "block", 3, 100'000);
  if (!block) return block.status();
  const auto points = (*block)[0] * (*block)[1] * (*block)[2];
  return Workload{
      .name = "s3d",
      .variant = "block",
      .size = parameters.at("block"),
      .unit = "points a rank",
      .ranks = ranks,
      .file_bytes = points * point_bytes * static_cast<std::uint64_t>(ranks),
      .part = [block = *block, grid = process_grid(ranks, 3)](int rank) { return part_of(block, grid, rank); }};
}

}  // namespace

WorkloadKind s3d() {
  return {"s3d",
          "S3D-IO: blocks of a 3-D grid, four variables with 16 doubles a point",
          {{"block", "20x20x20", "points of a rank in z, y and x"}},
          make};
}

}  // namespace weir::bench
