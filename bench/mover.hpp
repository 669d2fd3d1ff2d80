#pragma once

#include <mpi.h>

#include <memory>
#include <string>
#include <vector>

#include "buffers.hpp"
#include "request.hpp"

namespace weir::bench {

enum class Operation { write, read };
/// `first`: nothing is known of the pattern before the clock starts. `repeated`: what can be prepared is prepared.
enum class StepKind { first, repeated };

/// What every way of moving is given.
struct Scene {
  MPI_Comm communicator;
  const Buffers& buffers;
  std::string path;
  bool existing;  ///< write into the file that is there
};

/// One way to move a workload between the buffers and the file. All verbs are collective and throw when they fail.
class Mover {
 public:
  virtual ~Mover() = default;
  [[nodiscard]] virtual std::string name() const = 0;
  /// Before the clock starts; may move data.
  virtual void prepare(const Scene& scene, Operation operation, StepKind step) = 0;
  /// While it runs: opens or creates, moves everything, closes.
  virtual void move(const Scene& scene, Operation operation) = 0;
  /// After it has stopped: completes what `move` left under way.
  virtual void settle() {}
};

/// The calls of MPI-IO that a program finds: under `weir run` they are taken over.
struct FileCalls {
  decltype(&MPI_File_open) open = &MPI_File_open;
  decltype(&MPI_File_set_view) set_view = &MPI_File_set_view;
  decltype(&MPI_File_write_at_all) write_at_all = &MPI_File_write_at_all;
  decltype(&MPI_File_read_at_all) read_at_all = &MPI_File_read_at_all;
  decltype(&MPI_File_close) close = &MPI_File_close;
  /// As the MPI library has them, whoever has taken them over.
  static FileCalls of_library();
};

/// One collective call a variable, through a file view where a variable has many pieces.
std::unique_ptr<Mover> mpiio_per_variable(const Scene& scene, const std::map<std::string, std::string>& hints,
                                          const FileCalls& calls = {});
/// One collective call for everything, with one derived type for the file and one for the memory.
std::unique_ptr<Mover> mpiio_one_call(const Scene& scene, const std::map<std::string, std::string>& hints);
/// Every rank writes or reads each of its pieces by itself.
std::unique_ptr<Mover> posix_pieces();
/// Ranks of one node copy into memory that two of them share with the others; those two write or read a half each.
std::unique_ptr<Mover> sketch(std::uint64_t file_bytes);

}  // namespace weir::bench
