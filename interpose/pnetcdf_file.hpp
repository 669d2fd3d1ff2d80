#pragma once

#include <mpi.h>

#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "boxes.hpp"
#include "pnetcdf.hpp"

namespace weir::interpose {

/// PnetCDF's own numbers.
namespace nc {
constexpr int no_error = 0, no_memory = -61, all_requests = -1, all_puts = -3, no_request = -1;
}

/// A file that a program writes through PnetCDF. That makes a request of its own of every box in a list of boxes, which
/// takes longer than to write them when they are small. Such a list is kept here instead, with a copy of its data,
/// until the program waits for it with the other ranks: then all lists are written by one collective call of MPI-IO.
/// Whatever else becomes of them is left to PnetCDF, which is given the list then.
class PnetcdfFile {
 public:
  enum class Mode { define, collective, independent };
  enum class Buffer { programs, attached };

  PnetcdfFile(int id, MPI_File file, MPI_Comm communicator, bool writable, Mode mode)
      : id_{id}, file_{file}, communicator_{communicator}, writable_{writable}, mode_{mode} {}

  /// Definitions may be other ones afterwards.
  void enter(Mode mode) noexcept;

  /// Keeps a list; false where PnetCDF is to have it at once. A null type is that of the variable; -1 elements are as
  /// many as the boxes have.
  bool keep(Buffer buffer, int variable, int count, MPI_Offset* const* starts, MPI_Offset* const* counts,
            const void* data, MPI_Offset elements, MPI_Datatype type, int* request) noexcept;
  /// All lists go to PnetCDF.
  int hand_over() noexcept;
  /// Collective.
  int wait_all(int count, int* requests, int* statuses) noexcept;
  int wait(int count, int* requests, int* statuses) noexcept;
  int cancel(int count, int* requests, int* statuses) noexcept;

  /// Lists, bytes of them in the attached buffer, and bytes written, of which PnetCDF does not know.
  [[nodiscard]] int kept() const noexcept { return static_cast<int>(kept_.size()); }
  [[nodiscard]] MPI_Offset buffered() const noexcept { return buffered_; }
  [[nodiscard]] MPI_Offset written() const noexcept { return written_; }

 private:
  struct Variable {
    int type = 0;  ///< 0: nothing of it is kept
    std::size_t element = 0;
    bool has_records = false;
    std::vector<MPI_Offset> shape;  ///< of a record
  };
  struct List {
    int request, variable;
    Buffer buffer;
    MPI_Offset record;
    std::shared_ptr<const Boxes> boxes;
    std::vector<std::byte> data;
    int theirs = nc::no_request;  ///< what PnetCDF calls it, once it has it
    int* status = nullptr;        ///< where the program wants to know
  };
  struct Placed;
  struct Joined;
  using Call = decltype(&::ncmpi_wait);

  [[nodiscard]] bool can_keep() noexcept;
  [[nodiscard]] bool has_room(std::size_t bytes) const noexcept;
  const Variable& variable(int number);
  std::shared_ptr<const Boxes> boxes_of(const GivenBoxes& given);
  int hand_over(List& list) noexcept;
  /// The lists that are kept under these requests, which are then no more.
  std::vector<List> take(int count, int* requests, int* statuses);
  /// Throws std::bad_alloc.
  void join(std::vector<List>& lists, Joined& joined);
  /// Collective.
  int write(const Joined& joined);
  /// PnetCDF hears of a new record by the first element of a list in it.
  int tell_of_record(List& list) noexcept;
  /// Completes the requests that PnetCDF has, and `more` of which the program does not know.
  int call_pnetcdf(Call call, int count, int* requests, int* statuses, const std::vector<int>& more = {}) noexcept;

  int id_;
  MPI_File file_;
  MPI_Comm communicator_;
  bool writable_;
  Mode mode_;
  std::optional<bool> plain_;  ///< one file in a format of PnetCDF's own, written without a detour
  std::unordered_map<int, Variable> variables_;
  std::vector<std::shared_ptr<const Boxes>> last_boxes_;
  std::size_t next_boxes_ = 0;
  std::vector<List> kept_, handed_;
  int next_request_ = 1 << 30;  ///< PnetCDF begins with 0; even, as all of its requests to write
  MPI_Offset buffered_ = 0, written_ = 0;
};

}  // namespace weir::interpose
