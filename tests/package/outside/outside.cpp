#include <cstdio>
#include <weir/weir.hpp>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  { weir::Context context{MPI_COMM_WORLD, {{"plan.buffers", "3"}}}; }
  std::printf("weir %s\n", weir::version());
  MPI_Finalize();
}
