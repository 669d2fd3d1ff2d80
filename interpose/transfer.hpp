#pragma once

#include <mpi.h>

#include <optional>
#include <weir/weir.hpp>

#include "memory.hpp"
#include "open_file.hpp"

namespace weir::interpose {

/// What a program asks for in one collective access.
struct Access {
  Way way;
  const char* call;     ///< its name, for explanations
  MPI_Offset position;  ///< in elements of the view
  void* buffer;
  MPI_Count count;
  MPI_Datatype type;
};

/// One collective access, carried out by Weir. Ranks that cannot take part, such as those with wrong arguments, come to
/// every meeting and make it an error for all.
class Transfer {
 public:
  /// Local: packs what is to be written.
  Transfer(OpenFile& file, const Access& access) noexcept;

  /// Makes the step and gives it the data. False when the file cannot be taken over: then nothing has happened.
  /// Collective.
  bool begin();
  /// Without waiting, after `begin`. Collective.
  void start();
  /// Waits, unpacks what was read; tells how many bytes were moved. Collective.
  int finish(MPI_Status* status) {
    complete();
    return conclude(status);
  }

  /// Instead of all that, beside the program: everything except telling. Collective; MPI moves nothing unless all ranks
  /// may call it in any thread.
  void run() noexcept;
  /// Tells the program what came of it, in its own thread. Local.
  int conclude(MPI_Status* status);

  /// Instead of all that: this rank's part, without the others. Nothing when it cannot, and the MPI library is to.
  /// Local.
  std::optional<int> move_alone(MPI_Status* status);

  /// How far the access moves an individual file pointer.
  [[nodiscard]] MPI_Offset elements() const noexcept;

 private:
  Status prepare(const Access& access);
  /// The waiting part of `finish`. Collective.
  void complete();
  /// Where this rank's part lies, when it is one piece, or few that it need not be planned for; else nothing.
  [[nodiscard]] std::vector<Extent> few_pieces() const;
  /// Moves this rank's part, when it is few pieces, or leaves it to whoever comes last, and meets the others. True when
  /// they have done so too, or any has failed: then all is over. Collective.
  bool go_alone();
  Status move_pieces();
  /// Reads again what lies before the end of the file. Collective.
  Status read_to_end();
  Result<Step> next_step(File& file);
  /// Gives the step its data too. Collective.
  Status make_step(File& file);
  Status give();

  OpenFile& file_;
  Way way_;
  const char* call_;
  Status mine_;                 // what this rank cannot do
  int own_code_ = MPI_SUCCESS;  // the same, in MPI's terms
  Status outcome_;
  Memory memory_;
  std::uint64_t before_ = 0;  // visible bytes ahead of it
  std::uint64_t moved_ = 0;
  std::vector<Extent> pieces_;  // `few_pieces`, found once
  bool beside_ = false;  // the program
  bool done_ = false;    // this rank's part has been moved
  std::optional<Step> step_;
  double seconds_ = 0, pack_s_ = 0;
};

}  // namespace weir::interpose
