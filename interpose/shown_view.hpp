#pragma once

#include <mpi.h>

#include <string>

#include "view.hpp"

namespace weir::interpose {

/// The view of a file as the program set it, and how far the MPI library has been told.
///
/// Telling it costs as much as some whole accesses, and most programs never have it move data through the view. So it
/// is told when there is a need: for what all ranks do together by `tell_all`, for what one rank does alone by a handle
/// that only this rank has.
class ShownView {
 public:
  ShownView() = default;
  ShownView(const ShownView&) = delete;
  ShownView& operator=(const ShownView&) = delete;
  ~ShownView();

  void set(MPI_Offset displacement, MPI_Datatype element, MPI_Datatype type, const char* representation);
  /// The same as another.
  void show(const ShownView& other) { set(other.displacement_, other.element_, other.type(), "native"); }
  /// The MPI library has been told by the program itself.
  void told() noexcept { pending_ = false; }
  /// The MPI library has not even opened the file.
  void wait() noexcept { pending_ = true; }
  [[nodiscard]] bool pending() const noexcept { return pending_; }

  /// Why this rank cannot use it; empty when it can.
  [[nodiscard]] const std::string& problem() const noexcept { return problem_; }
  [[nodiscard]] const View& pieces() const noexcept { return pieces_; }
  /// What MPI demands of it: that nothing lies before the file, nor over or before something else.
  [[nodiscard]] bool can_be_written() const noexcept {
    return displacement_ + pieces_.origin() >= 0 && pieces_.tile().ascends();
  }
  [[nodiscard]] bool native() const noexcept { return native_; }

  /// As MPI_File_get_view wants it.
  void get(MPI_Offset* displacement, MPI_Datatype* element, MPI_Datatype* type, char* representation) const;
  /// Tells the MPI library, with the program's hints. Collective over the ranks of the handle.
  int tell_all(MPI_File handle, MPI_Info hints);
  /// A handle that only this rank has, with this view; null when there is none yet.
  [[nodiscard]] MPI_File ready_alone() const noexcept { return alone_knows_ ? alone_ : MPI_FILE_NULL; }
  int open_alone(const std::string& path, int mode, MPI_Info hints, MPI_File& result);
  /// Tells that handle, if there is one.
  void hint_alone(MPI_Info hints) const noexcept;
  void close_alone() noexcept;

 private:
  [[nodiscard]] MPI_Datatype type() const;
  int tell(MPI_File handle, MPI_Info hints) const;
  void forget() noexcept;

  MPI_Offset displacement_ = 0;
  MPI_Datatype element_ = MPI_BYTE;
  mutable MPI_Datatype type_ = MPI_BYTE;  // a large one only when it is needed
  View pieces_;
  std::string problem_;
  bool native_ = true, pending_ = false;
  MPI_File alone_ = MPI_FILE_NULL;
  bool alone_knows_ = true;  // as long as it is all bytes
};

}  // namespace weir::interpose
