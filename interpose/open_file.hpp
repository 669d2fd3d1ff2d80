#pragma once

#include <mpi.h>

#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <weir/weir.hpp>

#include "company.hpp"
#include "engine/file.hpp"
#include "shown_view.hpp"
#include "tally.hpp"

namespace weir::interpose {

struct Policy;
class Transfer;

enum class Way : std::uint8_t { read, write };
/// One file, or a set of sub-files: to be written, or complete.
enum class Form : std::uint8_t { file, new_set, set };

/// A file that a program opened through MPI. The MPI library opens it too when something is passed through: both work
/// on the same file, and neither keeps data back, so MPI's rules of consistency hold whoever moves the data.
struct OpenFile {
  MPI_File handle = MPI_FILE_NULL;   ///< what the program has
  MPI_File library = MPI_FILE_NULL;  ///< the MPI library's, when that has it open: then it may be the same
  int descriptor = -1;               ///< this rank's own, unless the MPI library has opened the file for the program
  MPI_Info hints = MPI_INFO_NULL;    ///< that the program gave
  std::string given;                 ///< the name, by the program
  std::string path;                  ///< the file that it stands for, absolute
  std::string refusal;               ///< why nothing is taken over; empty when collective accesses are
  int mode = 0;
  Form form = Form::file;                ///< the same on all ranks
  std::uint64_t set_bytes = 0;           ///< how far a set that is complete reaches
  std::unique_ptr<OpenFile> own_reader;  ///< of a set, for what this rank reads without the others
  bool own_reader_sees = false;          ///< the present view
  std::shared_ptr<Company> company;      ///< null when nothing was ever to be taken over
  Settings settings;
  std::uint64_t circumstances = 0;  ///< of plans, besides the pieces
  ShownView view;
  bool defers_views = false;  ///< the MPI library is told of views when it needs to know
  bool atomic = false;
  MPI_Offset position = 0;      ///< the individual file pointer, in elements of the view, unless all is refused
  bool may_go_alone = false;    ///< settings allow that each rank moves its own data
  bool mpi_in_threads = false;  ///< all ranks may call MPI in any thread
  bool goes_alone = false;      ///< each rank whose part is few pieces moves them at once: the same on all ranks
  bool local = false;           ///< on a file system of this node
  bool lists = false;           ///< a rank may give PnetCDF lists of boxes: the same on all ranks
  std::optional<File> reader, writer;
  std::unique_ptr<Transfer> split;      ///< begun, not ended
  std::shared_future<void> background;  ///< the last non-blocking access
  Tally tally;

  /// Why an access is left to the MPI library: the same on all ranks. Null when it is taken over.
  [[nodiscard]] const char* why_pass(Way way) const noexcept;
  /// Weir's file for a direction, opened when first needed. Collective.
  Result<File*> open_weir(Way way);
  /// Whether the MPI library opens the file only when it is needed.
  [[nodiscard]] bool waits() const noexcept { return descriptor >= 0; }
  /// The MPI library's handle, with the view: opened when first needed. Collective.
  int open_library();
  /// A handle for what this rank does alone.
  int alone(MPI_File& result);
  /// The name under which it can be opened now, also when it was removed.
  [[nodiscard]] std::string name_now() const;
  /// Whether non-blocking accesses can be carried out beside the program: the same on all ranks.
  [[nodiscard]] bool can_go_on_beside() const noexcept;
  /// Waits for all that is carried out beside the program: only then can the ranks do something else together.
  void settle() const {
    if (background.valid()) background.wait();
  }
  /// Settings and hints that have changed. Collective.
  Status take(const Policy& policy);
  /// All is left to the MPI library from now on. Collective.
  void refuse(std::string reason);
  /// Gives back what was taken instead of opening it in the MPI library.
  void forget() noexcept;
  /// Closes Weir's files. Collective.
  Status close();
  /// Delivers an error to the file's handler, and returns its code.
  int fail(const Status& status) const noexcept;
  int fail(int code) const noexcept;
};

/// What this thread has opened last.
inline thread_local MPI_File last_opened = MPI_FILE_NULL;
std::string absolute_name(const std::string& name);
/// The open files. Null for handles that were not opened through here.
OpenFile* find(MPI_File handle) noexcept;
bool any_open() noexcept;
/// Opens a file; `passing` has the MPI library do so, where it must at once. Collective over the communicator.
int open(MPI_Comm communicator, const char* path, int mode, MPI_Info info, MPI_File* handle,
         const std::function<int()>& passing);
int close(MPI_File* handle);

}  // namespace weir::interpose
