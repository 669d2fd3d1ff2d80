#pragma once

#include <mpi.h>

#include <cstdint>
#include <string>
#include <weir/settings.hpp>
#include <weir/status.hpp>

namespace weir::interpose {

/// What settings and hints say about a file.
struct Policy {
  Settings settings;    ///< for Weir
  std::string refusal;  ///< why its collective accesses are left to the MPI library, if so
  Status problem;       ///< settings that cannot be used
  /// Nothing was said about how data goes to the file: each rank may move its own.
  bool ranks_may_go_alone = false;
  bool sub_files = false;  ///< a new file is to be a set

  /// Hints of the program, overridden by what the settings file says about files of this name.
  static Policy of(const std::string& path, MPI_Info info);
};

/// Whether hints say where in a file system the file is to lie, which only the MPI library knows how to do.
bool places_file(MPI_Info info);

/// Adds hints to others: also over those of the same names, or only others.
enum class Hints : std::uint8_t { all, missing };
void add_hints(MPI_Info more, MPI_Info& hints, Hints which = Hints::all);

/// Adds to a file's hints what became of them.
void report_hints(const Settings& settings, const std::string& refusal, MPI_Info info);

}  // namespace weir::interpose
