#include <fmt/format.h>

#include "core/errors.hpp"
#include "workload.hpp"

namespace weir::bench {
namespace {

Result<Workload> make_interleaved(const Parameters& parameters, int ranks) {
  auto chunk = number(parameters, "chunk", 1, std::uint64_t{1} << 30);
  if (!chunk) return chunk.status();
  auto bytes = number(parameters, "bytes", 1, std::uint64_t{1} << 40);
  if (!bytes) return bytes.status();
  if (*bytes % *chunk != 0)
    return problem(Code::invalid, fmt::format("--bytes is {}, which chunks of {} do not fill", *bytes, *chunk),
                   "give a multiple of --chunk");
  const auto all = static_cast<std::uint64_t>(ranks);
  return Workload{.name = "interleaved",
                  .variant = fmt::format("chunks of {} B", *chunk),
                  .size = parameters.at("bytes"),
                  .unit = "bytes a rank",
                  .ranks = ranks,
                  .file_bytes = *bytes * all,
                  .part = [chunk = *chunk, bytes = *bytes, all](int rank) {
                    Part part;
                    part.add(std::vector<Run>{{.offset = static_cast<std::uint64_t>(rank) * chunk,
                                               .length = chunk,
                                               .stride = all * chunk,
                                               .count = bytes / chunk}});
                    return part;
                  }};
}

}  // namespace

WorkloadKind interleaved() {
  return {"interleaved",
          "contiguous chunks, one of each rank after another",
          {{"chunk", "65536", "bytes of a chunk"}, {"bytes", "1048576", "bytes a rank, a multiple of the chunk"}},
          make_interleaved};
}

}  // namespace weir::bench
