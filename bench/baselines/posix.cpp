#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "core/errors.hpp"
#include "mover.hpp"

namespace weir::bench {
namespace {

[[noreturn]] void fail(int error, const std::string& action) { throw Error{system_problem(error, action)}; }

class PosixPieces : public Mover {
 public:
  [[nodiscard]] std::string name() const override { return "one call a piece"; }
  void prepare(const Scene& /*scene*/, Operation /*operation*/, StepKind /*step*/) override {}

  void move(const Scene& scene, Operation operation) override {
    const bool create = operation == Operation::write && !scene.existing;
    const int access = operation == Operation::read ? O_RDONLY : O_WRONLY;
    int file = -1;
    if (create) {
      int rank = 0;
      MPI_Comm_rank(scene.communicator, &rank);
      if (rank == 0) file = open_file(scene.path, access | O_CREAT | O_TRUNC);
      MPI_Barrier(scene.communicator);
    }
    if (file < 0) file = open_file(scene.path, access);
    for (std::size_t v = 0; v < scene.buffers.variables(); ++v) {
      std::byte* next = scene.buffers.data(v);
      for (const Piece& piece : scene.buffers.pieces(v)) {
        transfer(file, operation, next, {piece.offset + scene.buffers.part().variables[v].at, piece.length});
        next += piece.length;
      }
    }
    if (::close(file) != 0) fail(errno, "close '" + scene.path + "'");
  }

 private:
  static int open_file(const std::string& path, int flags) {
    const int file = ::open(path.c_str(), flags | O_CLOEXEC, 0666);
    if (file < 0) fail(errno, "open '" + path + "'");
    return file;
  }

  static void transfer(int file, Operation operation, std::byte* data, Piece piece) {
    while (piece.length > 0) {
      const auto offset = static_cast<off_t>(piece.offset);
      const ssize_t moved = operation == Operation::write ? ::pwrite(file, data, piece.length, offset)
                                                          : ::pread(file, data, piece.length, offset);
      if (moved < 0 && errno == EINTR) continue;
      if (moved <= 0) fail(moved < 0 ? errno : ENODATA, "move a piece");
      data += moved;
      piece.offset += static_cast<std::uint64_t>(moved);
      piece.length -= static_cast<std::uint64_t>(moved);
    }
  }
};

}  // namespace

std::unique_ptr<Mover> posix_pieces() { return std::make_unique<PosixPieces>(); }

}  // namespace weir::bench
