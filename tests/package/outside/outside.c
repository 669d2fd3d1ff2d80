#include <stdio.h>
#include <weir/weir.h>

int main(int argc, char** argv) {
  weir_context* context = NULL;
  MPI_Init(&argc, &argv);
  int code = weir_context_create(MPI_COMM_WORLD, NULL, &context);
  if (code == WEIR_OK) code = weir_context_free(&context);
  printf("weir %s\n", weir_version());
  MPI_Finalize();
  return code;
}
