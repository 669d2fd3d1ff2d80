#pragma once

#include <mpi.h>

#include <memory>
#include <optional>
#include <string>
#include <weir/weir.hpp>

#include "company.hpp"
#include "engine/file.hpp"
#include "shown_view.hpp"
#include "tally.hpp"

namespace weir::interpose {

class Transfer;

enum class Way : std::uint8_t { read, write };

/// A file that a program opened through MPI. The MPI library has it open too, for what is passed through: both work on
/// the same file, and neither keeps data back, so MPI's rules of consistency hold whoever moves the data.
struct OpenFile {
  MPI_File handle = MPI_FILE_NULL;
  std::string path;     ///< absolute
  std::string refusal;  ///< why nothing is taken over; empty when collective accesses are
  int mode = 0;
  std::shared_ptr<Company> company;  ///< null when nothing was ever to be taken over
  Settings settings;
  std::uint64_t circumstances = 0;  ///< of plans, besides the pieces
  ShownView view;
  bool defers_views = false;  ///< the MPI library is told of views when it needs to know
  bool atomic = false;
  MPI_Offset position = 0;  ///< the individual file pointer, in elements of the view, unless all is refused
  std::optional<File> reader, writer;
  std::unique_ptr<Transfer> split;  ///< begun, not ended
  Tally tally;

  /// Why an access is left to the MPI library: the same on all ranks. Null when it is taken over.
  [[nodiscard]] const char* why_pass(Way way) const noexcept;
  /// Weir's file for a direction, opened when first needed. When that is not possible, this and all later accesses are
  /// left to the MPI library. Collective.
  File* weir(Way way);
  /// All is left to the MPI library from now on. Collective.
  void refuse(std::string reason);
  /// Closes Weir's files. Collective.
  Status close();
  /// Delivers an error to the file's handler, and returns its code.
  int fail(const Status& status) const noexcept;
  int fail(int code) const noexcept;
};

/// The open files. Null for handles that were not opened through here.
OpenFile* find(MPI_File handle) noexcept;
/// After the MPI library has, or has not, opened a file: takes note of it. Collective over the communicator.
int opened(int code, MPI_Comm communicator, const char* path, int mode, MPI_Info info, MPI_File* handle);
int close(MPI_File* handle);

}  // namespace weir::interpose
