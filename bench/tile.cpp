#include <fmt/format.h>

#include "core/errors.hpp"
#include "workload.hpp"

namespace weir::bench {
namespace {

Result<Workload> make(const Parameters& parameters, int ranks) {
  auto size = extents(parameters, "tile", 2, 1'000'000);
  if (!size) return size.status();
  auto element = number(parameters, "element", 1, 1 << 20);
  if (!element) return element.status();
  auto overlap = number(parameters, "overlap", 0, 1'000'000);
  if (!overlap) return overlap.status();
  if (*overlap >= std::min((*size)[0], (*size)[1]))
    return problem(Code::invalid, fmt::format("--overlap is {} elements, --tile {}", *overlap, parameters.at("tile")),
                   "let tiles overlap by less than their shorter side");
  Box first{.array = {}, .start = {0, 0}, .size = *size, .element = *element, .at = 0};
  const auto grid = process_grid(ranks, 2);
  for (std::size_t d = 0; d < 2; ++d) first.array.push_back(grid[d] * ((*size)[d] - *overlap) + *overlap);
  return Workload{.name = "tile",
                  .variant = *overlap == 0 ? "dense" : fmt::format("overlap {}", *overlap),
                  .size = parameters.at("tile"),
                  .unit = fmt::format("elements of {} B a rank", *element),
                  .ranks = ranks,
                  .file_bytes = first.array[0] * first.array[1] * *element,
                  .part = [first, grid, overlap = *overlap](int rank) {
                    Box box = first;
                    const auto place = grid_place(rank, grid);
                    for (std::size_t d = 0; d < 2; ++d) box.start[d] = place[d] * (box.size[d] - overlap);
                    Part part;
                    part.add(box);
                    return part;
                  }};
}

}  // namespace

WorkloadKind tile() {
  return {"tile",
          "tiles of a dense 2-D array",
          {{"tile", "128x128", "rows and columns of a tile"},
           {"element", "32", "bytes of an element"},
           {"overlap", "0", "elements that neighbouring tiles share"}},
          make};
}

}  // namespace weir::bench
