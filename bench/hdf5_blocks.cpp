// A program that writes and reads four 3-D datasets of doubles through parallel HDF5, each rank a block of each by one
// collective transfer. It knows nothing of Weir: run it plainly, or under `weir run`.
//
//   mpirun -n 16 weir_hdf5_blocks contiguous|chunked|shared EDGE FILE [repetitions]
//
// EDGE is the number of points along each side of a rank's block. Chunks are of half of it ("chunked"), so that each rank
// has eight of its own, or of twice of it ("shared"), so that each holds rows of several ranks.
#include <hdf5.h>
#include <mpi.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "file_call_times.hpp"

namespace {

constexpr int datasets = 4;

void check(bool right, const char* what) {
  if (right) return;
  std::fprintf(stderr, "cannot %s\n", what);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

struct Blocks {
  std::array<hsize_t, 3> whole, start, block;
  bool chunked, shared;
};

void move(hid_t file, int number, const Blocks& blocks, bool writes, std::vector<double>& data) {
  const hid_t space = H5Screate_simple(3, blocks.whole.data(), nullptr);
  const hid_t memory = H5Screate_simple(3, blocks.block.data(), nullptr);
  const hid_t creation = H5Pcreate(H5P_DATASET_CREATE), transfer = H5Pcreate(H5P_DATASET_XFER);
  H5Pset_fill_time(creation, H5D_FILL_TIME_NEVER);
  H5Pset_obj_track_times(creation, false);  // else no two files are the same
  std::array<hsize_t, 3> chunk = blocks.block;
  for (hsize_t& edge : chunk) edge = blocks.shared ? 2 * edge : (edge + 1) / 2;
  for (std::size_t d = 0; d < 3; ++d) chunk[d] = std::min(chunk[d], blocks.whole[d]);
  if (blocks.chunked) H5Pset_chunk(creation, 3, chunk.data());
  const std::string name = "set" + std::to_string(number);
  const hid_t set = writes
                        ? H5Dcreate2(file, name.c_str(), H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, creation, H5P_DEFAULT)
                        : H5Dopen2(file, name.c_str(), H5P_DEFAULT);
  check(set >= 0, "open a dataset");
  H5Sselect_hyperslab(space, H5S_SELECT_SET, blocks.start.data(), nullptr, blocks.block.data(), nullptr);
  H5Pset_dxpl_mpio(transfer, H5FD_MPIO_COLLECTIVE);
  const herr_t moved = writes ? H5Dwrite(set, H5T_NATIVE_DOUBLE, memory, space, transfer, data.data())
                              : H5Dread(set, H5T_NATIVE_DOUBLE, memory, space, transfer, data.data());
  check(moved >= 0, writes ? "write" : "read");
  H5Dclose(set);
  H5Pclose(transfer);
  H5Pclose(creation);
  H5Sclose(memory);
  H5Sclose(space);
}

/// Open to close, on the rank where it takes longest, and how much of it is in calls of MPI-IO.
struct Seconds {
  double all, inside;
};
Seconds seconds(const char* path, const Blocks& blocks, bool writes, std::vector<std::vector<double>>& data) {
  MPI_Barrier(MPI_COMM_WORLD);
  file_calls::times = {};
  const double start = MPI_Wtime();
  const hid_t access = H5Pcreate(H5P_FILE_ACCESS);
  H5Pset_fapl_mpio(access, MPI_COMM_WORLD, MPI_INFO_NULL);
  const hid_t file =
      writes ? H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, access) : H5Fopen(path, H5F_ACC_RDONLY, access);
  check(file >= 0, "open the file");
  for (int i = 0; i < datasets; ++i) move(file, i, blocks, writes, data[static_cast<std::size_t>(i)]);
  check(H5Fclose(file) >= 0, "close the file");
  H5Pclose(access);
  double mine = MPI_Wtime() - start, most = 0;
  MPI_Barrier(MPI_COMM_WORLD);  // what comes next would keep the cores from ranks that are not through
  MPI_Reduce(&mine, &most, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  const auto inside = file_calls::taken();
  return {most, std::accumulate(inside.begin(), inside.end(), 0.0)};
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const std::string layout = argc > 1 ? argv[1] : "";
  const auto edge = static_cast<hsize_t>(argc > 2 ? std::atoi(argv[2]) : 0);
  if (argc < 4 || edge == 0 || (layout != "contiguous" && layout != "chunked" && layout != "shared")) {
    if (rank == 0) std::fprintf(stderr, "use: %s contiguous|chunked|shared EDGE FILE [repetitions]\n", argv[0]);
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  std::array<int, 3> grid{};
  MPI_Dims_create(ranks, 3, grid.data());
  const std::array<int, 3> place{rank / (grid[1] * grid[2]), rank / grid[2] % grid[1], rank % grid[2]};
  Blocks blocks{{}, {}, {edge, edge, edge}, layout != "contiguous", layout == "shared"};
  for (std::size_t d = 0; d < 3; ++d) {
    blocks.whole[d] = edge * static_cast<hsize_t>(grid[d]);
    blocks.start[d] = edge * static_cast<hsize_t>(place[d]);
  }
  std::vector<std::vector<double>> data(datasets, std::vector<double>(edge * edge * edge));
  for (std::size_t v = 0; v < data.size(); ++v)
    for (std::size_t i = 0; i < data[v].size(); ++i)
      data[v][i] = 1e6 * rank + 1e5 * static_cast<double>(v) + static_cast<double>(i);
  const auto expected = data;
  const int repetitions = argc > 4 ? std::atoi(argv[4]) : 1;
  for (int i = 0; i < repetitions; ++i) {
    const Seconds written = seconds(argv[3], blocks, true, data);
    for (auto& values : data) values.assign(values.size(), -1);
    const Seconds read = seconds(argv[3], blocks, false, data);
    check(data == expected, "find what was written");
    if (rank == 0)
      std::printf("write %.5f s, read %.5f s, of it in MPI-IO %.5f and %.5f s\n", written.all, read.all, written.inside,
                  read.inside);
  }
  MPI_Finalize();
}
