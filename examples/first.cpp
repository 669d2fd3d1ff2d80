// Every rank writes its parts of three arrays into one file, reads them back and checks them.
#include <cstdio>
#include <vector>
#include <weir/weir.hpp>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, ranks = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  std::vector<double> x(1000, rank), y(1000, rank + 0.25), z(1000, rank + 0.5);
  const std::vector<std::vector<double>> written{x, y, z};
  const std::uint64_t part = weir::bytes_of(x), all = part * ranks, mine = part * rank;
  const weir::Declaration arrays{{mine, part}, {all + mine, part}, {2 * all + mine, part}};
  {
    weir::Context context{MPI_COMM_WORLD};

    auto file = context.create("first_cpp.dat").value();
    auto step = file.declare(arrays).value();
    step.write(0, x).value();
    step.write(1, y).value();
    step.write(2, z).value();
    step.finish().value();
    file.close().value();
    if (rank == 0) std::printf("%s\n", step.explain().c_str());

    auto again = context.open("first_cpp.dat").value();
    auto back = again.declare(arrays).value();
    for (auto* array : {&x, &y, &z}) array->assign(1000, -1);
    back.read(0, x).value();
    back.read(1, y).value();
    back.read(2, z).value();
    back.finish().value();
    again.close().value();
  }
  int wrong = std::vector<std::vector<double>>{x, y, z} != written;
  MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  if (rank == 0) std::puts(wrong ? "wrong data" : "read back what was written");
  MPI_Finalize();
  return wrong;
}
