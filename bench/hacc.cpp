#include <array>

#include "workload.hpp"

namespace weir::bench {
namespace {

constexpr std::array<std::uint64_t, 9> element_bytes{4, 4, 4, 4, 4, 4, 4, 8, 2};  // xx yy zz vx vy vz phi pid mask
constexpr std::uint64_t particle_bytes = 38;

Part part_of(std::uint64_t particles, bool soa, std::uint64_t ranks, std::uint64_t rank) {
  Part part;
  std::uint64_t before = 0;  // bytes of a particle in the arrays before this one
  for (const std::uint64_t element : element_bytes) {
    const std::uint64_t offset =
        soa ? particles * (ranks * before + rank * element) : particles * (rank * particle_bytes + before);
    part.add(std::vector<Run>{{.offset = offset, .length = particles * element}});
    before += element;
  }
  return part;
}

Result<Workload> make(const Parameters& parameters, int ranks) {
  const auto layout = choice(parameters, "layout", {"aos", "soa"});
  if (!layout) return layout.status();
  auto particles = number(parameters, "particles", 1, 100'000'000);
  if (!particles) return particles.status();
  const std::string variant = parameters.at("layout");
  return Workload{.name = "hacc",
                  .variant = variant,
                  .size = parameters.at("particles"),
                  .unit = "particles a rank",
                  .ranks = ranks,
                  .file_bytes = *particles * particle_bytes * static_cast<std::uint64_t>(ranks),
                  .part = [count = *particles, soa = variant == "soa", ranks](int rank) {
                    return part_of(count, soa, static_cast<std::uint64_t>(ranks), static_cast<std::uint64_t>(rank));
                  }};
}

}  // namespace

WorkloadKind hacc() {
  return {
      "hacc",
      "HACC-IO: nine arrays of particles, 38 bytes a particle",
      {{"layout", "soa", "aos: rank after rank; soa: array after array"}, {"particles", "25000", "particles a rank"}},
      make};
}

}  // namespace weir::bench
