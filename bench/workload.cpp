#include "workload.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <functional>
#include <optional>

#include "core/errors.hpp"

namespace weir::bench {
namespace {

constexpr std::uint64_t longest_piece = std::uint64_t{1} << 30;

void append(std::vector<Piece>& list, std::uint64_t offset, std::uint64_t length) {
  if (!list.empty()) {
    Piece& last = list.back();
    const std::uint64_t room = longest_piece - last.length;
    if (last.offset + last.length == offset && room > 0) {
      const std::uint64_t joined = std::min(room, length);
      last.length += joined;
      offset += joined;
      length -= joined;
    }
  }
  for (; length > 0;) {
    const std::uint64_t now = std::min(longest_piece, length);
    list.push_back({offset, now});
    offset += now;
    length -= now;
  }
}

void append(std::vector<Piece>& list, const std::vector<Run>& runs) {
  for (const Run& run : runs)
    for (std::uint64_t i = 0; i < run.count; ++i) append(list, run.offset + i * run.stride, run.length);
}

void append(std::vector<Piece>& list, const Box& box) {
  if (box.size.empty() || std::ranges::find(box.size, 0U) != box.size.end()) return;
  const std::size_t last = box.size.size() - 1;
  std::vector<std::uint64_t> place(box.size.size(), 0);
  for (;;) {
    std::uint64_t element = 0;
    for (std::size_t d = 0; d <= last; ++d) element = element * box.array[d] + box.start[d] + place[d];
    append(list, box.at + element * box.element, box.size[last] * box.element);
    std::size_t d = last;
    while (d > 0 && ++place[d - 1] == box.size[d - 1]) place[--d] = 0;
    if (d == 0) return;
  }
}

std::optional<std::uint64_t> parse(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return {};
  return value;
}

}  // namespace

std::vector<Piece> pieces(const Decomposition& decomposition) {
  std::vector<Piece> list;
  std::visit([&](const auto& shape) { append(list, shape); }, decomposition);
  return list;
}

Declaration declaration(const Part& part) {
  Declaration result;
  for (const Decomposition& shape : part.decompositions)
    std::visit([&](const auto& given) { result.decomposition(given); }, shape);
  for (const Part::Variable& variable : part.variables) result.variable(variable.decomposition, variable.at);
  return result;
}

const std::vector<WorkloadKind>& workload_table() {
  static const std::vector<WorkloadKind> table{hacc(), array1d(), s3d(), tile(), interleaved(), e3sm_f(), e3sm_g()};
  return table;
}

Result<Workload> make_workload(std::string_view name, const Parameters& given, int ranks) {
  const auto& table = workload_table();
  const auto kind = std::ranges::find(table, name, &WorkloadKind::name);
  if (kind == table.end()) {
    std::vector<std::string> names;
    for (const WorkloadKind& other : table) names.push_back(other.name);
    return problem(Code::invalid, fmt::format("unknown workload '{}'", name),
                   fmt::format("choose one of {}", fmt::join(names, ", ")));
  }
  if (ranks < 1) return problem(Code::invalid, fmt::format("{} ranks: at least one is needed", ranks));
  Parameters all;
  for (const auto& parameter : kind->parameters) all[parameter.name] = parameter.default_value;
  for (const auto& [key, value] : given) {
    if (!all.contains(key)) {
      std::vector<std::string> names;
      for (const auto& parameter : kind->parameters) names.push_back(parameter.name);
      return problem(Code::invalid, fmt::format("workload '{}' has no parameter '{}'", name, key),
                     fmt::format("it has {}", fmt::join(names, ", ")));
    }
    all[key] = value;
  }
  return kind->make(all, ranks);
}

Result<std::uint64_t> number(const Parameters& parameters, const std::string& name, std::uint64_t least,
                             std::uint64_t most) {
  const std::string& text = parameters.at(name);
  const auto value = parse(text);
  if (!value || *value < least || *value > most)
    return problem(Code::invalid, fmt::format("--{} is '{}'", name, text),
                   fmt::format("give a number between {} and {}", least, most));
  return *value;
}

Result<std::string> choice(const Parameters& parameters, const std::string& name,
                           const std::vector<std::string>& choices) {
  const std::string& text = parameters.at(name);
  if (std::ranges::find(choices, text) == choices.end())
    return problem(Code::invalid, fmt::format("--{} is '{}'", name, text),
                   fmt::format("choose one of {}", fmt::join(choices, ", ")));
  return text;
}

Result<std::vector<std::uint64_t>> extents(const Parameters& parameters, const std::string& name,
                                           std::size_t dimensions, std::uint64_t most) {
  const std::string& text = parameters.at(name);
  std::vector<std::uint64_t> values;
  for (std::size_t from = 0; from <= text.size();) {
    const std::size_t to = std::min(text.find('x', from), text.size());
    const auto value = parse(std::string_view{text}.substr(from, to - from));
    if (!value || *value < 1 || *value > most) break;
    values.push_back(*value);
    from = to + 1;
  }
  const auto parts = static_cast<std::size_t>(std::ranges::count(text, 'x')) + 1;
  if (values.size() != dimensions || parts != dimensions) {
    const std::vector<std::string> form(dimensions, "N");
    return problem(Code::invalid, fmt::format("--{} is '{}'", name, text),
                   fmt::format("give {} numbers between 1 and {}: {}", dimensions, most, fmt::join(form, "x")));
  }
  return values;
}

std::vector<std::uint64_t> process_grid(int ranks, int dimensions) {
  std::vector<std::uint64_t> grid(static_cast<std::size_t>(dimensions), 1);
  std::vector<int> factors;
  for (int prime = 2; ranks > 1; ++prime)
    for (; ranks % prime == 0; ranks /= prime) factors.push_back(prime);
  for (auto factor = factors.rbegin(); factor != factors.rend(); ++factor)
    *std::ranges::min_element(grid) *= static_cast<std::uint64_t>(*factor);
  std::ranges::sort(grid, std::greater{});
  return grid;
}

std::vector<std::uint64_t> grid_place(int rank, const std::vector<std::uint64_t>& grid) {
  std::vector<std::uint64_t> place(grid.size());
  auto rest = static_cast<std::uint64_t>(rank);
  for (std::size_t d = grid.size(); d-- > 0; rest /= grid[d]) place[d] = rest % grid[d];
  return place;
}

}  // namespace weir::bench
