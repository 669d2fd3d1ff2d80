#include "pnetcdf.hpp"

#include <dlfcn.h>
#include <link.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace weir::interpose {

namespace {

/// PnetCDF where a program has loaded it for itself alone, so that a search among what all may use does not find it.
int find_loaded_pnetcdf(dl_phdr_info* object, std::size_t, void* result) {
  const char* const name = object->dlpi_name;
  if (!name || !std::strstr(name, "libpnetcdf.so")) return 0;
  *static_cast<void**>(result) = ::dlopen(name, RTLD_LAZY | RTLD_NOLOAD);
  return 1;
}

}  // namespace

void* find_in_pnetcdf(const char* name) noexcept {
  if (void* const found = ::dlsym(RTLD_NEXT, name)) return found;
  void* library = nullptr;
  ::dl_iterate_phdr(find_loaded_pnetcdf, &library);
  if (void* const found = library ? ::dlsym(library, name) : nullptr) return found;
  std::fprintf(stderr,
               "weir: cannot run this program: its PnetCDF has no %s\n"
               "      libweir_mpiio must come before a shared PnetCDF, of version 1.7 or later\n",
               name);
  std::abort();
}

const RealPnetcdf& real_pnetcdf() noexcept {
  static const RealPnetcdf table = [] {
    RealPnetcdf found{};
#define WEIR_FIND(name) found.name = reinterpret_cast<decltype(found.name)>(find_in_pnetcdf("ncmpi_" #name));
    WEIR_PNETCDF_CALLS(WEIR_FIND)
#undef WEIR_FIND
    return found;
  }();
  return table;
}

}  // namespace weir::interpose
