#include "plan/rank_declaration.hpp"

#include <fmt/format.h>
#include <xxhash.h>

#include "core/errors.hpp"

namespace weir {

namespace {

constexpr std::uint64_t largest_offset = std::uint64_t{1} << 63;

/// Offset just behind a run, or nothing when it lies beyond what a file can have.
bool fits(const Run& run, std::uint64_t& end) {
  if (run.count == 0 || run.length == 0) return end = 0, true;
  std::uint64_t last = 0;
  return !__builtin_mul_overflow(run.count - 1, run.stride, &last) &&
         !__builtin_add_overflow(last, run.offset, &last) && !__builtin_add_overflow(last, run.length, &end) &&
         end <= largest_offset;
}

Status check_box(const Box& box) {
  const std::size_t n = box.array.size();
  if (n == 0 || box.start.size() != n || box.size.size() != n)
    return problem(Code::invalid,
                   fmt::format("cannot declare a box: array, start and size have {}, {} and {} dimensions", n,
                               box.start.size(), box.size.size()),
                   "give the same number, at least one, for each");
  if (box.element == 0) return problem(Code::invalid, "cannot declare a box: its elements have 0 bytes");
  std::uint64_t total = box.element;
  for (std::size_t d = 0; d < n; ++d) {
    if (box.start[d] > box.array[d] || box.size[d] > box.array[d] - box.start[d])
      return problem(Code::invalid,
                     fmt::format("cannot declare a box: in dimension {} elements {} to {} lie outside the array's {}", d,
                                 box.start[d], box.start[d] + box.size[d], box.array[d]));
    if (__builtin_mul_overflow(total, box.array[d], &total) || total > largest_offset)
      return problem(Code::invalid, "cannot declare a box: the array has more than 2^63 bytes");
  }
  return {};
}

std::vector<Run> runs_of(const Box& box) {
  const std::size_t n = box.array.size();
  for (std::uint64_t size : box.size)
    if (size == 0) return {};
  // Dimensions behind `inner` are taken whole, so `inner` and they make one contiguous piece.
  std::size_t inner = n - 1;
  std::uint64_t below = box.element;
  while (inner > 0 && box.size[inner] == box.array[inner]) below *= box.array[inner--];
  std::vector<std::uint64_t> pitch(n);
  pitch[n - 1] = box.element;
  for (std::size_t d = n - 1; d > 0; --d) pitch[d - 1] = pitch[d] * box.array[d];
  Run run{box.at, below * box.size[inner], 0, 1};
  for (std::size_t d = 0; d < n; ++d) run.offset += box.start[d] * pitch[d];
  const std::size_t outer = inner == 0 ? 0 : inner - 1;
  if (inner > 0) {
    run.stride = pitch[outer];
    run.count = box.size[outer];
  }
  std::vector<Run> runs;
  std::vector<std::uint64_t> index(outer, 0);
  while (true) {
    Run here = run;
    for (std::size_t d = 0; d < outer; ++d) here.offset += index[d] * pitch[d];
    runs.push_back(here);
    std::size_t d = outer;
    while (d > 0 && ++index[d - 1] == box.size[d - 1]) index[--d] = 0;
    if (d == 0) return runs;
  }
}

}  // namespace

int Declaration::decomposition(std::vector<Run> runs) {
  shapes_.push_back({std::move(runs), {}});
  return static_cast<int>(shapes_.size()) - 1;
}

int Declaration::decomposition(const Box& box) {
  Status status = check_box(box);
  shapes_.push_back({status.ok() ? runs_of(box) : std::vector<Run>{}, status});
  return static_cast<int>(shapes_.size()) - 1;
}

int Declaration::variable(int decomposition, std::uint64_t at) {
  variables_.push_back({decomposition, at});
  return static_cast<int>(variables_.size()) - 1;
}

Result<RankDeclaration> RankDeclaration::of(const Declaration& declaration) {
  RankDeclaration result;
  for (std::size_t i = 0; i < declaration.shapes().size(); ++i) {
    const Declaration::Shape& shape = declaration.shapes()[i];
    if (!shape.problem.ok()) return shape.problem;
    for (const Run& run : shape.runs) {
      std::uint64_t end = 0;
      if (!fits(run, end))
        return problem(Code::invalid, fmt::format("cannot declare {} pieces of {} bytes from offset {} at stride {}: they "
                                                  "reach beyond 2^63", run.count, run.length, run.offset, run.stride));
    }
    result.shapes.push_back(PieceList::of(shape.runs));
    Memory memory;
    for (const Run& run : shape.runs) memory.bytes += run.length * run.count;
    if (memory.bytes != result.shapes.back().bytes()) memory.echoes = echoes_of(shape.runs, result.shapes.back());
    result.memory.push_back(std::move(memory));
  }
  for (const Variable& variable : declaration.variable_list()) {
    if (variable.shape < 0 || static_cast<std::size_t>(variable.shape) >= result.shapes.size())
      return problem(Code::invalid, fmt::format("cannot declare variable {}: decomposition {} does not exist",
                                                result.variables.size(), variable.shape),
                     fmt::format("there are {}, counted from 0", result.shapes.size()));
    if (variable.at > largest_offset - result.shapes[variable.shape].end())
      return problem(Code::invalid, fmt::format("cannot declare variable {}: at {} its pieces reach beyond 2^63",
                                                result.variables.size(), variable.at));
    result.variables.push_back(variable);
  }
  return result;
}

std::vector<std::uint64_t> RankDeclaration::variable_bytes() const {
  std::vector<std::uint64_t> bytes;
  for (const Variable& variable : variables) bytes.push_back(memory[variable.shape].bytes);
  return bytes;
}

std::uint64_t RankDeclaration::bytes() const {
  std::uint64_t total = 0;
  for (std::size_t v = 0; v < variables.size(); ++v) total += pieces(v).bytes();
  return total;
}

std::uint64_t RankDeclaration::piece_count() const {
  std::vector<std::uint64_t> counts;
  for (const PieceList& shape : shapes) counts.push_back(shape.pieces());
  std::uint64_t total = 0;
  for (const Variable& variable : variables) total += counts[variable.shape];
  return total;
}

std::uint64_t RankDeclaration::list_bytes() const {
  std::uint64_t total = variables.capacity() * sizeof(Variable);
  for (const PieceList& shape : shapes) total += shape.list_bytes();
  for (const Memory& m : memory) total += m.echoes.capacity() * sizeof(Echo);
  return total;
}

std::uint64_t RankDeclaration::outline_hash() const {
  std::uint64_t hash = XXH3_64bits_withSeed("outline", 7, shapes.size());
  for (const Variable& variable : variables) {
    const std::uint64_t line[2] = {static_cast<std::uint64_t>(variable.shape), variable.at};
    hash = XXH3_64bits_withSeed(line, sizeof line, hash);
  }
  return hash;
}

std::uint64_t RankDeclaration::hash() const {
  std::uint64_t hash = outline_hash();
  for (const PieceList& shape : shapes) hash = shape.runs().hash(hash);
  for (const Memory& m : memory) hash = XXH3_64bits_withSeed(m.echoes.data(), m.echoes.size() * sizeof(Echo), hash);
  return hash;
}

Result<RankDeclaration> RankDeclaration::moved(std::uint64_t shift) const {
  RankDeclaration result = *this;
  for (Variable& variable : result.variables) {
    if (shift > largest_offset - shapes[variable.shape].end() - variable.at)
      return problem(Code::invalid, fmt::format("cannot move a step by {}: its pieces reach beyond 2^63", shift));
    variable.at += shift;
  }
  return result;
}

void RankDeclaration::write(Writer& out) const {
  out.put<std::uint64_t>(shapes.size());
  for (const PieceList& shape : shapes) shape.write(out);
  out.put<std::uint64_t>(memory.size());
  for (const Memory& m : memory) {
    out.put(m.bytes);
    out.put(m.echoes);
  }
  std::vector<std::uint64_t> flat;
  for (const Variable& variable : variables) {
    flat.push_back(static_cast<std::uint64_t>(variable.shape));
    flat.push_back(variable.at);
  }
  out.put(flat);
}

RankDeclaration RankDeclaration::read(Reader& in) {
  RankDeclaration result;
  const auto shapes = in.get<std::uint64_t>();
  for (std::uint64_t i = 0; i < shapes && in.ok(); ++i) result.shapes.push_back(PieceList::read(in));
  const auto memories = in.get<std::uint64_t>();
  for (std::uint64_t i = 0; i < memories && in.ok(); ++i) {
    Memory m;
    m.bytes = in.get<std::uint64_t>();
    m.echoes = in.vector<Echo>();
    result.memory.push_back(std::move(m));
  }
  const auto flat = in.vector<std::uint64_t>();
  for (std::size_t i = 0; i + 1 < flat.size(); i += 2)
    result.variables.push_back({static_cast<int>(flat[i]), flat[i + 1]});
  return result;
}

}  // namespace weir
