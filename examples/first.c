/* Every rank writes its parts of three arrays into one file, reads them back and checks them. */
#include <stdio.h>
#include <string.h>
#include <weir/weir.h>

enum { elements = 1000 };

static void check(int code) {
  if (code == WEIR_OK) return;
  fprintf(stderr, "%s\n", weir_last_message());
  MPI_Abort(MPI_COMM_WORLD, 1);
}

int main(int argc, char** argv) {
  static double arrays[3][elements], back[3][elements];
  int rank = 0, ranks = 0, wrong = 0;
  weir_context* context = NULL;
  weir_declaration* declaration = NULL;
  weir_file* file = NULL;
  weir_step* step = NULL;

  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  for (int a = 0; a < 3; ++a) {
    for (int i = 0; i < elements; ++i) arrays[a][i] = rank + 0.25 * a;
  }

  check(weir_context_create(MPI_COMM_WORLD, NULL, &context));
  check(weir_declaration_new(&declaration));
  const uint64_t part = sizeof arrays[0];
  const weir_run mine = {.offset = part * (uint64_t)rank, .length = part, .stride = 0, .count = 1};
  int decomposition = 0, variable[3];
  check(weir_declaration_runs(declaration, 1, &mine, &decomposition));
  for (int a = 0; a < 3; ++a) {
    check(weir_declaration_variable(declaration, decomposition, part * (uint64_t)ranks * (uint64_t)a, &variable[a]));
  }

  check(weir_create(context, "first_c.dat", NULL, &file));
  check(weir_declare(file, declaration, &step));
  for (int a = 0; a < 3; ++a) check(weir_write(step, variable[a], arrays[a], part));
  check(weir_finish(step));
  check(weir_step_free(&step));
  check(weir_close(&file));

  check(weir_open(context, "first_c.dat", NULL, &file));
  check(weir_declare(file, declaration, &step));
  for (int a = 0; a < 3; ++a) check(weir_read(step, variable[a], back[a], part));
  check(weir_finish(step));
  check(weir_step_free(&step));
  check(weir_close(&file));

  check(weir_declaration_free(&declaration));
  check(weir_context_free(&context));
  wrong = memcmp(arrays, back, sizeof arrays) != 0;
  MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  if (rank == 0) puts(wrong ? "wrong data" : "read back what was written");
  MPI_Finalize();
  return wrong;
}
