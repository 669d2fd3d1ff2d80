#include "program.hpp"

#include <elf.h>
#include <link.h>
#include <mpi.h>
#include <strings.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <span>

namespace weir::interpose {

namespace {

constexpr std::array shared_pointer_calls{"File_read_shared", "File_write_shared", "File_iread_shared",
                                          "File_iwrite_shared", "File_get_position_shared"};
constexpr std::array background_calls{"File_iread_all", "File_iwrite_all", "File_iread_at_all", "File_iwrite_at_all"};

struct Uses {
  bool shared_pointers = false, background = false;
};

/// "MPI_File_read_shared", "PMPI_File_read_shared", "mpi_file_read_shared_", "mpi_file_read_shared_f08_", ...
bool is_one_of(std::span<const char* const> calls, const char* name) noexcept {
  if (*name == 'P' || *name == 'p') ++name;
  if (::strncasecmp(name, "MPI_", 4) != 0) return false;
  return std::ranges::any_of(calls,
                             [&](const char* call) { return ::strncasecmp(name + 4, call, std::strlen(call)) == 0; });
}

/// What a loaded object asks the dynamic linker for.
struct Requests {
  const ElfW(Sym) * symbols = nullptr;
  const char* names = nullptr;
  std::span<const ElfW(Rela)> data, functions;

  explicit Requests(const dl_phdr_info& object) {
    const ElfW(Dyn)* entry = nullptr;
    for (const auto& header : std::span{object.dlpi_phdr, object.dlpi_phnum})
      if (header.p_type == PT_DYNAMIC) entry = reinterpret_cast<const ElfW(Dyn)*>(object.dlpi_addr + header.p_vaddr);
    const ElfW(Rela)* first_datum = nullptr, *first_function = nullptr;
    std::size_t data_bytes = 0, function_bytes = 0;
    for (; entry && entry->d_tag != DT_NULL; ++entry) {
      const auto* place = reinterpret_cast<const void*>(entry->d_un.d_ptr);  // the linker has made it absolute
      switch (entry->d_tag) {
        case DT_SYMTAB: symbols = static_cast<const ElfW(Sym)*>(place); break;
        case DT_STRTAB: names = static_cast<const char*>(place); break;
        case DT_RELA: first_datum = static_cast<const ElfW(Rela)*>(place); break;
        case DT_RELASZ: data_bytes = entry->d_un.d_val; break;
        case DT_JMPREL: first_function = static_cast<const ElfW(Rela)*>(place); break;
        case DT_PLTRELSZ: function_bytes = entry->d_un.d_val; break;
        default: break;
      }
    }
    data = {first_datum, first_datum ? data_bytes / sizeof(ElfW(Rela)) : 0};
    functions = {first_function, first_function ? function_bytes / sizeof(ElfW(Rela)) : 0};
  }

  [[nodiscard]] bool any(auto&& wanted) const {
    const auto asks = [&](const ElfW(Rela) & request) {
      const auto index = ELF64_R_SYM(request.r_info);
      return index != 0 && symbols[index].st_shndx == SHN_UNDEF && wanted(names + symbols[index].st_name);
    };
    return symbols && names && (std::ranges::any_of(functions, asks) || std::ranges::any_of(data, asks));
  }
};

int look(dl_phdr_info* object, std::size_t, void* found) {
  const char* name = std::strrchr(object->dlpi_name, '/');
  name = name ? name + 1 : object->dlpi_name;
  const bool of_mpi = std::strncmp(name, "libmpi", 6) == 0 || std::strncmp(name, "libweir_mpiio", 13) == 0;
  const bool of_kernel = std::strncmp(name, "linux-vdso", 10) == 0;
  if (of_mpi || of_kernel) return 0;
  const Requests requests{*object};
  auto& uses = *static_cast<Uses*>(found);
  uses.shared_pointers |= requests.any([](const char* call) { return is_one_of(shared_pointer_calls, call); });
  uses.background |= requests.any([](const char* call) { return is_one_of(background_calls, call); });
  return 0;
}

const Uses& uses() noexcept {
  static unsigned long long loaded = 0;
  static Uses found;
  unsigned long long now = 0;
  ::dl_iterate_phdr(
      [](dl_phdr_info* object, std::size_t, void* count) {
        *static_cast<unsigned long long*>(count) = object->dlpi_adds;
        return 1;
      },
      &now);
  if (now != loaded) ::dl_iterate_phdr(look, &found);
  loaded = now;
  return found;
}

}  // namespace

bool uses_shared_pointers() noexcept { return uses().shared_pointers; }
bool uses_background() noexcept { return uses().background; }

bool mpi_allows_threads() noexcept {
  int level = MPI_THREAD_SINGLE;
  PMPI_Query_thread(&level);
  return level == MPI_THREAD_MULTIPLE;
}

}  // namespace weir::interpose
