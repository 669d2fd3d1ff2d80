#include "real.hpp"

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>

namespace weir::interpose {

namespace {

template <class Function>
void find(Function& function, const char* name) noexcept {
  function = reinterpret_cast<Function>(::dlsym(RTLD_NEXT, name));
  if (function) return;
  std::fprintf(stderr,
               "weir: cannot run this program: its MPI library has no %s\n"
               "      libweir_mpiio must come before a shared MPI library, the one that Weir was built with\n",
               name);
  std::abort();
}

}  // namespace

const Real& real() noexcept {
  static const Real table = [] {
    Real found{};
#define WEIR_FIND(name) WEIR_FIND_(name)
#define WEIR_FIND_(name) find(found.name, "PMPI_File_" #name);
    WEIR_FILE_CALLS(WEIR_FIND)
#undef WEIR_FIND
#undef WEIR_FIND_
#define WEIR_FIND(name) find(found.name, "PMPI_" #name);
    WEIR_REQUEST_CALLS(WEIR_FIND)
    WEIR_START_CALLS(WEIR_FIND)
    WEIR_TYPE_CALLS(WEIR_FIND)
#undef WEIR_FIND
    find(found.remove, "PMPI_File_delete");
    return found;
  }();
  return table;
}

}  // namespace weir::interpose
