#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

#include "workload.hpp"

namespace weir::bench {
namespace {

/// Numbers in (0, 1), the same on every rank and machine.
class Uniform {
 public:
  explicit Uniform(std::uint64_t seed) : state_{seed} {}
  double operator()() {
    std::uint64_t z = (state_ += 0x9E3779B97F4A7C15);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
    return (static_cast<double>((z ^ (z >> 31)) >> 11) + 0.5) * 0x1p-53;
  }

 private:
  std::uint64_t state_;
};

std::vector<std::uint64_t> sizes_of(const std::string& kind, std::uint64_t bytes, std::uint64_t seed, int ranks) {
  Uniform uniform{seed};
  const auto most = static_cast<double>(bytes);
  std::vector<std::uint64_t> sizes;
  for (int rank = 0; rank < ranks; ++rank) {
    double size = most;
    if (kind == "random") size = uniform() * most;
    if (kind == "normal") {
      // Mean in the middle and three standard deviations to either end; Box and Muller's transform.
      const double deviate = std::sqrt(-2 * std::log(uniform())) * std::cos(2 * std::numbers::pi * uniform());
      size = std::clamp(most / 2 + deviate * most / 6, 0.0, most);
    }
    sizes.push_back(static_cast<std::uint64_t>(std::llround(size)));
  }
  if (std::ranges::count(sizes, 0U) == ranks) sizes.front() = 1;
  return sizes;
}

Result<Workload> make(const Parameters& parameters, int ranks) {
  const auto kind = choice(parameters, "sizes", {"equal", "random", "normal"});
  if (!kind) return kind.status();
  auto bytes = number(parameters, "bytes", 1, std::uint64_t{1} << 40);
  if (!bytes) return bytes.status();
  auto seed = number(parameters, "seed", 0, ~std::uint64_t{0});
  if (!seed) return seed.status();
  const auto sizes = sizes_of(parameters.at("sizes"), *bytes, *seed, ranks);
  return Workload{.name = "array1d",
                  .variant = parameters.at("sizes"),
                  .size = parameters.at("bytes"),
                  .unit = "bytes a rank at most",
                  .ranks = ranks,
                  .file_bytes = std::reduce(sizes.begin(), sizes.end()),
                  .part = [sizes](int rank) {
                    Part part;
                    const std::uint64_t offset = std::reduce(sizes.begin(), sizes.begin() + rank);
                    part.add(std::vector<Run>{{.offset = offset, .length = sizes[static_cast<std::size_t>(rank)]}});
                    return part;
                  }};
}

}  // namespace

WorkloadKind array1d() {
  return {"array1d",
          "one array, rank after rank",
          {{"sizes", "equal", "equal, random (uniform from 0) or normal (clipped)"},
           {"bytes", "100000", "bytes a rank, the most where sizes differ"},
           {"seed", "1", "of the sizes"}},
          make};
}

}  // namespace weir::bench
