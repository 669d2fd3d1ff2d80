// A program that writes one record of the E3SM atmosphere or ocean model through PnetCDF: iput_varn for every variable,
// then wait_all. It knows nothing of Weir: run it plainly, or under `weir run`.
//
//   mpirun -n 16 weir_pnetcdf_e3sm f|g MAP FILE [repetitions]
#include <mpi.h>
#include <pnetcdf.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <string>
#include <vector>

#include "file_call_times.hpp"

namespace {

void check(int code, const char* what) {
  if (code == NC_NOERR) return;
  std::fprintf(stderr, "cannot %s: %s\n", what, ncmpi_strerror(code));
  MPI_Abort(MPI_COMM_WORLD, 1);
}

struct Group {
  int map;
  nc_type type;
  int count;
};
const std::vector<Group> f_case{{3, NC_FLOAT, 63}, {2, NC_FLOAT, 321}, {1, NC_DOUBLE, 3}};
const std::vector<Group> g_case{{1, NC_INT, 1},    {1, NC_DOUBLE, 5}, {2, NC_INT, 2},    {3, NC_INT, 1},
                                {3, NC_DOUBLE, 24}, {4, NC_INT, 1},   {4, NC_DOUBLE, 1}, {5, NC_INT, 1},
                                {5, NC_DOUBLE, 1},  {6, NC_DOUBLE, 4}};

/// This rank's requests of one decomposition, in elements of an array taken as one-dimensional.
struct Map {
  MPI_Offset elements = 0;
  std::vector<MPI_Offset> starts, counts;

  [[nodiscard]] MPI_Offset own() const { return std::accumulate(counts.begin(), counts.end(), MPI_Offset{0}); }
};

std::vector<int> get(int file, const std::string& name) {
  int variable = 0, dimension = 0;
  MPI_Offset length = 0;
  check(ncmpi_inq_varid(file, name.c_str(), &variable), "find a variable of the map");
  check(ncmpi_inq_vardimid(file, variable, &dimension), "find its dimension");
  check(ncmpi_inq_dimlen(file, dimension, &length), "find its length");
  std::vector<int> values(static_cast<std::size_t>(length));
  check(ncmpi_get_var_int_all(file, variable, values.data()), "read the map");
  return values;
}

Map read_map(int file, int number, int rank, int ranks) {
  Map map;
  const std::string name = "D" + std::to_string(number);
  const auto requests = get(file, name + ".nreqs"), offsets = get(file, name + ".offsets"),
             lengths = get(file, name + ".lengths");
  map.elements = std::accumulate(lengths.begin(), lengths.end(), MPI_Offset{0});
  std::size_t at = 0;
  for (std::size_t list = 0; list < requests.size(); at += static_cast<std::size_t>(requests[list++]))
    for (std::size_t i = 0; list % static_cast<std::size_t>(ranks) == static_cast<std::size_t>(rank) &&
                            i < static_cast<std::size_t>(requests[list]); ++i) {
      map.starts.push_back(offsets[at + i]);
      map.counts.push_back(lengths[at + i]);
    }
  return map;
}

void write(const char* path, const std::vector<Group>& groups, const std::vector<Map>& maps, const std::vector<double>& data) {
  int file = 0, number = 0;
  std::vector<int> variables, dimensions;
  check(ncmpi_create(MPI_COMM_WORLD, path, NC_CLOBBER | NC_64BIT_DATA, MPI_INFO_NULL, &file), "create the file");
  for (std::size_t m = 0; m < maps.size(); ++m)
    check(ncmpi_def_dim(file, ("d" + std::to_string(m)).c_str(), maps[m].elements, &dimensions.emplace_back()), "define");
  for (const Group& group : groups)
    for (int i = 0; i < group.count; ++i)
      check(ncmpi_def_var(file, ("v" + std::to_string(number++)).c_str(), group.type, 1,
                          &dimensions[static_cast<std::size_t>(group.map - 1)], &variables.emplace_back()), "define");
  check(ncmpi_enddef(file), "end definitions");
  std::vector<std::vector<MPI_Offset*>> starts(maps.size()), counts(maps.size());
  for (std::size_t m = 0; m < maps.size(); ++m)
    for (std::size_t i = 0; i < maps[m].starts.size(); ++i) {
      starts[m].push_back(const_cast<MPI_Offset*>(&maps[m].starts[i]));
      counts[m].push_back(const_cast<MPI_Offset*>(&maps[m].counts[i]));
    }
  number = 0;
  const double* next = data.data();
  for (const Group& group : groups) {
    const auto m = static_cast<std::size_t>(group.map - 1);
    const MPI_Offset elements = maps[m].own();
    const MPI_Datatype type = group.type == NC_DOUBLE ? MPI_DOUBLE : group.type == NC_INT ? MPI_INT : MPI_FLOAT;
    for (int i = 0; i < group.count; ++i, ++number, next += elements)
      check(ncmpi_iput_varn(file, variables[static_cast<std::size_t>(number)], static_cast<int>(starts[m].size()),
                            starts[m].data(), counts[m].data(), next, elements, type, nullptr), "post");
  }
  check(ncmpi_wait_all(file, NC_REQ_ALL, nullptr, nullptr), "write");
  check(ncmpi_close(file), "close");
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (argc < 4) {
    if (rank == 0) std::fprintf(stderr, "use: %s f|g MAP FILE [repetitions]\n", argv[0]);
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  const auto& groups = argv[1][0] == 'g' ? g_case : f_case;
  int map_file = 0, decompositions = 0;
  for (const Group& group : groups) decompositions = std::max(decompositions, group.map);
  check(ncmpi_open(MPI_COMM_WORLD, argv[2], NC_NOWRITE, MPI_INFO_NULL, &map_file), "open the map");
  std::vector<Map> maps;
  for (int d = 1; d <= decompositions; ++d) maps.push_back(read_map(map_file, d, rank, ranks));
  check(ncmpi_close(map_file), "close the map");
  MPI_Offset elements = 0;  // of all variables, none of which may share memory: PnetCDF changes it for a while
  for (const Group& group : groups) elements += group.count * maps[static_cast<std::size_t>(group.map - 1)].own();
  std::vector<double> data(static_cast<std::size_t>(elements));
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<double>(i) + rank;
  const int repetitions = argc > 4 ? std::atoi(argv[4]) : 1;
  for (int i = 0; i < repetitions; ++i) {
    MPI_Barrier(MPI_COMM_WORLD);
    file_calls::times = {};
    const double start = MPI_Wtime();
    write(argv[3], groups, maps, data);
    const double whole = MPI_Wtime() - start;
    MPI_Barrier(MPI_COMM_WORLD);  // what comes next would keep the cores from ranks that are not through
    double most_s = 0;
    MPI_Reduce(&whole, &most_s, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    const auto inside = file_calls::taken();
    if (rank == 0)
      std::printf("end to end %.4f s, in MPI-IO %.4f s (open %.4f, views %.4f, write %.4f, close and sync %.4f)\n", most_s,
                  std::accumulate(inside.begin(), inside.end(), 0.0), inside[file_calls::open_],
                  inside[file_calls::view_], inside[file_calls::move_], inside[file_calls::close_]);
  }
  MPI_Finalize();
}
