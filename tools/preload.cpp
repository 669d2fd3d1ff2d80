#include "preload.hpp"

#include <dlfcn.h>
#include <mpi.h>

#include <cstdlib>
#include <filesystem>
#include <weir/weir.hpp>

namespace weir::tools {

namespace fs = std::filesystem;

std::string preload_library() {
  Dl_info here{};
  if (::dladdr(reinterpret_cast<void*>(&weir::version), &here) == 0) return {};
  std::error_code ignored;
  const fs::path library = fs::absolute(here.dli_fname, ignored).parent_path() / "libweir_mpiio.so";
  return fs::exists(library, ignored) ? library.string() : std::string{};
}

std::vector<std::string> give_variable(const std::string& name, const std::string& value) {
#ifdef OPEN_MPI
  return {"-x", name + "=" + value};
#else
  return {"-genv", name, value};
#endif
}

std::string preload_value(const std::string& library) {
  const char* already = std::getenv("LD_PRELOAD");
  return already && *already ? library + ":" + already : library;
}

}  // namespace weir::tools
