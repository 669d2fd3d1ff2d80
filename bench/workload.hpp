#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>
#include <weir/declaration.hpp>

/// What applications move, told without moving it: usable from the benchmark, the simulator and the tests.
namespace weir::bench {

/// A contiguous part of the file.
struct Piece {
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
  friend bool operator==(const Piece&, const Piece&) = default;
};

/// One rank's pieces of a decomposition, as the application would give them.
using Decomposition = std::variant<std::vector<Run>, Box>;

/// The pieces in the order in which they lie in memory, none longer than 1 GiB; neighbours in both are one.
std::vector<Piece> pieces(const Decomposition& decomposition);

/// What one rank moves: variables of a decomposition each, placed in the file.
struct Part {
  struct Variable {
    int decomposition;
    std::uint64_t at;
  };
  std::vector<Decomposition> decompositions;
  std::vector<Variable> variables;

  /// A variable with pieces of its own.
  void add(Decomposition decomposition) {
    variables.push_back({static_cast<int>(decompositions.size()), 0});
    decompositions.push_back(std::move(decomposition));
  }
};

/// The same part, told to Weir.
Declaration declaration(const Part& part);

/// The parts of all ranks cover every byte of the file; where two overlap, both hold the same data.
struct Workload {
  std::string name;     ///< "hacc"
  std::string variant;  ///< "soa"
  std::string size;     ///< "5000"
  std::string unit;     ///< what `size` counts: "particles a rank"
  int ranks = 0;
  std::uint64_t file_bytes = 0;
  std::function<Part(int rank)> part;
};

using Parameters = std::map<std::string, std::string>;

/// One line of the table of workloads.
struct WorkloadKind {
  struct Parameter {
    std::string name;
    std::string default_value;
    std::string meaning;
  };
  std::string name;
  std::string meaning;
  std::vector<Parameter> parameters;
  Result<Workload> (*make)(const Parameters& parameters, int ranks);  ///< every parameter has a value
};

const std::vector<WorkloadKind>& workload_table();

/// A workload of the table for so many ranks; parameters not given have their defaults.
Result<Workload> make_workload(std::string_view name, const Parameters& given, int ranks);

WorkloadKind hacc();
WorkloadKind array1d();
WorkloadKind s3d();
WorkloadKind tile();
WorkloadKind interleaved();
WorkloadKind e3sm_f();
WorkloadKind e3sm_g();

/// `parameters[name]` as a number within bounds.
Result<std::uint64_t> number(const Parameters& parameters, const std::string& name, std::uint64_t least,
                             std::uint64_t most);
/// `parameters[name]`, one of `choices`.
Result<std::string> choice(const Parameters& parameters, const std::string& name,
                           const std::vector<std::string>& choices);
/// `parameters[name]` as "AxBxC", each within 1 and `most`.
Result<std::vector<std::uint64_t>> extents(const Parameters& parameters, const std::string& name,
                                           std::size_t dimensions, std::uint64_t most);

/// `ranks` as a product of `dimensions` factors that are as equal as possible, largest first.
std::vector<std::uint64_t> process_grid(int ranks, int dimensions);
/// The place of a rank in such a grid, last dimension fastest.
std::vector<std::uint64_t> grid_place(int rank, const std::vector<std::uint64_t>& grid);

}  // namespace weir::bench
