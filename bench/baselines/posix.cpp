#include <fcntl.h>

#include <optional>

#include "collective.hpp"
#include "plain_file.hpp"

namespace weir::bench {
namespace {

class PosixPieces : public Mover {
 public:
  [[nodiscard]] std::string name() const override { return "one call a piece"; }
  void prepare(const Scene& /*scene*/, Operation /*operation*/, StepKind /*step*/) override {}

  void move(const Scene& scene, Operation operation) override {
    const bool create = operation == Operation::write && !scene.existing;
    const int access = operation == Operation::read ? O_RDONLY : O_WRONLY;
    std::optional<PlainFile> file;
    if (create) {
      if (rank_of(scene.communicator) == 0) file.emplace(scene.path, access | O_CREAT | O_TRUNC);
      MPI_Barrier(scene.communicator);
    }
    if (!file) file.emplace(scene.path, access);
    for (std::size_t v = 0; v < scene.buffers.variables(); ++v) {
      std::byte* next = scene.buffers.data(v);
      for (const Piece& piece : scene.buffers.pieces(v)) {
        file->transfer(operation, next, {piece.offset + scene.buffers.part().variables[v].at, piece.length});
        next += piece.length;
      }
    }
    file->close();
  }
};

}  // namespace

std::unique_ptr<Mover> posix_pieces() { return std::make_unique<PosixPieces>(); }

}  // namespace weir::bench
