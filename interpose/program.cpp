#include "program.hpp"

#include <elf.h>
#include <link.h>
#include <mpi.h>
#include <strings.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <set>
#include <span>

namespace weir::interpose {

namespace {

constexpr std::array shared_pointer_calls{"File_read_shared", "File_write_shared", "File_iread_shared",
                                          "File_iwrite_shared", "File_get_position_shared"};
constexpr std::array background_calls{"File_iread_all", "File_iwrite_all", "File_iread_at_all", "File_iwrite_at_all"};

constexpr std::array list_calls{"ncmpi_iput_varn", "ncmpi_bput_varn", "nfmpi_iput_varn", "nfmpi_bput_varn"};

struct Uses {
  bool shared_pointers = false, background = false, lists = false;
};

/// What is left of "MPI_File_read_shared", "PMPI_File_read_shared", "mpi_file_read_shared_f08_", ... behind MPI_; most
/// names begin with something else.
const char* behind_mpi(const char* name) noexcept {
  if (*name == 'P' || *name == 'p') ++name;
  if (*name != 'M' && *name != 'm') return nullptr;
  return ::strncasecmp(name, "MPI_", 4) == 0 ? name + 4 : nullptr;
}

bool is_one_of(std::span<const char* const> calls, const char* name) noexcept {
  return std::ranges::any_of(calls,
                             [&](const char* call) { return ::strncasecmp(name, call, std::strlen(call)) == 0; });
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

  void for_each_call(auto&& visit) const {
    if (!symbols || !names) return;
    for (const auto& requests : {functions, data})
      for (const ElfW(Rela) & request : requests)
        if (const auto index = ELF64_R_SYM(request.r_info); index != 0 && symbols[index].st_shndx == SHN_UNDEF)
          visit(names + symbols[index].st_name);
  }
};

/// The objects that are loaded, and what those that were looked at ask for.
struct Program {
  Uses uses;
  std::set<const void*> known;  // by their headers: those of an object that is gone may be another's
  unsigned long long loaded = 0, unloaded = 0;
};

/// Parts of MPI libraries ask for what programs may ask them for.
bool is_of_mpi(const char* path) noexcept {
  const char* name = std::strrchr(path, '/');
  name = name ? name + 1 : path;
  constexpr std::array beginnings{"libmpi", "libweir_mpiio", "mca_", "libopen-", "linux-vdso"};
  return std::ranges::any_of(beginnings,
                             [&](const char* begin) { return std::strncmp(name, begin, std::strlen(begin)) == 0; });
}

int look(dl_phdr_info* object, std::size_t, void* state) {
  auto& program = *static_cast<Program*>(state);
  if (program.loaded == object->dlpi_adds && program.unloaded == object->dlpi_subs) return 1;
  if (program.unloaded != object->dlpi_subs) program.known.clear();
  program.unloaded = object->dlpi_subs;
  if (!program.known.insert(object->dlpi_phdr).second || is_of_mpi(object->dlpi_name)) return 0;
  Requests{*object}.for_each_call([&](const char* name) {
    if (*name == 'n') program.uses.lists |= is_one_of(list_calls, name);
    const char* const call = behind_mpi(name);
    if (!call) return;
    program.uses.shared_pointers |= is_one_of(shared_pointer_calls, call);
    program.uses.background |= is_one_of(background_calls, call);
  });
  return 0;
}

const Uses& uses() noexcept {
  static Program program;
  ::dl_iterate_phdr(look, &program);
  ::dl_iterate_phdr(
      [](dl_phdr_info* object, std::size_t, void* state) {
        static_cast<Program*>(state)->loaded = object->dlpi_adds;
        return 1;
      },
      &program);
  return program.uses;
}

}  // namespace

bool uses_shared_pointers() noexcept { return uses().shared_pointers; }
bool uses_background() noexcept { return uses().background; }
bool uses_lists() noexcept { return uses().lists; }

bool mpi_allows_threads() noexcept {
  int level = MPI_THREAD_SINGLE;
  PMPI_Query_thread(&level);
  return level == MPI_THREAD_MULTIPLE;
}

}  // namespace weir::interpose
